"""Constructors and destructors of a module, put where the system's loader looks for them.

LLVM's own choice for a target machine that is made through llvmlite is the old sections `.ctors` and `.dtors`, which
no current C library runs. Here each entry becomes a pointer in `.init_array` or `.fini_array`, with its priority.
"""

from __future__ import annotations

import re

from tracecut.support.errors import SourceError

_LIST = re.compile(
    r"^@llvm\.global_(?P<kind>ctors|dtors) = appending (?:\w+ )?global \[(?P<count>\d+) x [^\]]*\] (?P<body>.*)$",
    re.MULTILINE,
)
_NAME = r'@(?:"[^"]*"|[-\w.$]+)'
_ENTRY = re.compile(rf"\{{ i32 (\d+), ptr ({_NAME}|null), ptr ({_NAME}|null) \}}")
_SECTIONS = {"ctors": ".init_array", "dtors": ".fini_array"}
LAST = 65535  # the priority of what has none


def has_constructors(text: str) -> bool:
    """Whether a textual module lists constructors or destructors."""
    return _LIST.search(text) is not None


def place_constructors(text: str) -> str:
    """The module with its lists of constructors as pointers in the sections that are run.

    An entry that belongs to a group (its third field) is dropped with it by the linker. O(text). Raises SourceError
    on a list that is not in the printed form of LLVM.
    """

    def pointers(found: re.Match[str]) -> str:
        kind, body = found["kind"], found["body"]
        entries = _ENTRY.findall(body)
        if len(entries) != int(found["count"]):
            raise SourceError(f"the list @llvm.global_{kind} is not as LLVM prints it", detail=found.group()[:200])
        lines = []
        for place, (priority, function, key) in enumerate(entries):
            if function == "null":
                continue
            section = _SECTIONS[kind] + ("" if int(priority) == LAST else f".{int(priority):05}")
            group = "" if key == "null" or not _in_group(text, key) else f", comdat(${key[1:]})"
            lines.append(
                f'@"tracecut.{kind}.{place}" = internal constant ptr {function}, section "{section}"{group}, align 8'
            )
        return "\n".join(lines)

    return _LIST.sub(pointers, text)


def _in_group(text: str, name: str) -> bool:
    """Whether the group that a global would have by its own name exists."""
    return re.search(rf"^\${re.escape(name[1:])} = comdat ", text, re.MULTILINE) is not None
