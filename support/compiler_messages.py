"""Diagnostics of a compiler, shortened: errors come first, then warnings."""

from __future__ import annotations

import re

WARNINGS = 5  # lines of the user's compiler that are shown without -v
_START = re.compile(r"(?:\S.*: )?(fatal error|error|warning|remark): ")
_INCLUDED = re.compile(r"In file included from ")


def first_lines(text: str, lines: int = 30, width: int = 200) -> str:
    """The first lines of the errors, then of the warnings; long quoted source lines are cut."""
    groups = _groups(text.strip().splitlines())
    groups.sort(key=lambda group: not _is_error(group))
    errors = sum(_is_error(group) for group in groups)
    if errors:  # errors before warnings
        left = len(groups) - errors
        groups = groups[:errors] + ([[f"… and {left} warning{'s' * (left > 1)}"]] if left else [])
    found = [_cut(line, width if re.match(r"\s", line) else 3 * width) for group in groups for line in group]
    more = [f"… {len(found) - lines} more lines"] if len(found) > lines else []
    return "\n".join(found[:lines] + more)


def warnings(text: str, most: int | None, width: int = 200, *, rest: str = " (-v shows all)") -> str:
    """The warnings of a successful compilation: one line for each of the first `most`, or the complete text.

    `rest`: how to see the others.
    """
    if most is None:
        return "\n".join(line for group in _groups(text.strip().splitlines()) for line in group)
    lines = [line for group in _groups(text.strip().splitlines()) for line in group if _START.match(line)]
    found = list(dict.fromkeys(_cut(line, width) for line in lines))
    left = len(found) - most
    return "\n".join(found[:most] + ([f"… and {left} more warning{'s' * (left > 1)}{rest}"] if left > 0 else []))


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else f"{line[: width - 2]} …"


def _groups(lines: list[str]) -> list[list[str]]:
    """Lines that belong together: include stack, diagnostic, quoted source, notes."""
    groups: list[list[str]] = []
    waiting = False  # an "In file included from" whose diagnostic is still to come
    for line in lines:
        if re.match(r"\d+ (warnings?|errors?)\b.* generated\.$", line):
            continue
        included, start = bool(_INCLUDED.match(line)), bool(_START.match(line))
        if not groups or (included and not waiting) or (start and not waiting):
            groups.append([])
        groups[-1].append(line)
        waiting = included or (waiting and not start)
    return groups


def _is_error(group: list[str]) -> bool:
    found = (_START.match(line) for line in group)
    return any(match is not None and "error" in match.group(1) for match in found)
