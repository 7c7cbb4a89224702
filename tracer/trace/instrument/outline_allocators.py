"""Invoked library functions whose effects are known only when they return, outlined as plain calls.

The result of an allocation, or what `fgets` has stored, is recorded behind the call. An `invoke` ends its block, so
that there is no such place: it invokes an outlined function instead, whose body is the plain call.
"""

from __future__ import annotations

import re

from tracecut.ir.llvm.lexer import matching, split_commas, split_type
from tracecut.tracer.trace.events.library_effects import EXTERNALS

_LATE = {name for name, known in EXTERNALS.items() if known.scan is not None or any(part.late for part in known.parts)}
_INVOKED = re.compile(
    r"^(?P<head>.*\binvoke .*?)\b(?P<result>void|ptr|i\d+)(?P<type> \([^()]*\))? @(?P<name>[\w.$]+)\("
)


def outline_operators(text: str) -> str:
    """The module with each invoked library function of that kind in a function `operator.NAME`. O(text).

    Every value of `text` is named. Where a global stands as an argument it stands in the function, too: a format says
    what it reads only when it is a constant.
    """
    if " invoke " not in text:
        return text
    found: dict[tuple[str, str, str, tuple[str, ...], tuple[str, ...]], str] = {}

    def outlined(line: str) -> str:
        match = _INVOKED.match(line)
        if match is None or match["name"] not in _LATE:
            return line
        given = split_commas(line[match.end() : matching(line, match.end() - 1)])
        types = tuple(split_type(part)[0] for part in given)
        fixed = tuple(word if (word := part.rsplit(None, 1)[-1]).startswith("@") else "" for part in given)
        key = match["name"], match["result"], match["type"] or "", types, fixed
        same = sum(name == key[0] for name, *_ in found)
        new = found.setdefault(key, f"operator.{key[0]}" + (f".{same + 1}" if same else ""))
        return f"{match['head']}{match['result']} @{new}({line[match.end() :]}"

    lines = [outlined(line) if " invoke " in line else line for line in text.split("\n")]
    for (name, result, whole, types, fixed), new in sorted(found.items()):
        letters = [f"%{chr(ord('a') + place)}" for place in range(len(types))]
        parameters = ", ".join(f"{kind} {letter}" for kind, letter in zip(types, letters, strict=True))
        values = [word or letter for word, letter in zip(fixed, letters, strict=True)]
        arguments = ", ".join(f"{kind} {value}" for kind, value in zip(types, values, strict=True))
        made = "%memory = " if result != "void" else ""
        lines += [
            f"define internal {result} @{new}({parameters}) uwtable {{",
            "entry:",
            f"  {made}call {result}{whole} @{name}({arguments})",
            f"  ret {result}{' %memory' if made else ''}",
            "}",
            "",
        ]
    return "\n".join(lines)
