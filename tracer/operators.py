"""The operators `new` of C++ where an exception of theirs would be caught: as calls inside functions of their own.

What an allocation returns is recorded behind its call. An `invoke` ends its block, so that there is no such place: it
gets a function of the program to call, whose body is the plain call.
"""

from __future__ import annotations

import re

_PARAMETERS = {"m": "i64", "St11align_val_t": "i64", "RKSt9nothrow_t": "ptr"}
_INVOKED = re.compile(
    r"^(?P<head>.*\binvoke .*?)@(?P<name>_Zn[wa](?P<kinds>m(?:St11align_val_t)?(?:RKSt9nothrow_t)?))\("
)


def outline_operators(text: str) -> str:
    """The module with each invoked operator `new` in a function `operator.NAME`; every value is named. O(text)."""
    found: dict[str, str] = {}

    def renamed(match: re.Match[str]) -> str:
        found[match["name"]] = match["kinds"]
        return f"{match['head']}@operator.{match['name']}("

    lines = [_INVOKED.sub(renamed, line) for line in text.split("\n")]
    for name, kinds in sorted(found.items()):
        types = [_PARAMETERS[kind] for kind in re.findall("m|St11align_val_t|RKSt9nothrow_t", kinds)]
        given = ", ".join(f"{kind} %{place}" for place, kind in zip("abc", types, strict=False))
        lines += [
            f"define internal ptr @operator.{name}({given}) uwtable {{",
            "entry:",
            f"  %memory = call ptr @{name}({given})",
            "  ret ptr %memory",
            "}",
            "",
        ]
    return "\n".join(lines)
