"""Optimisation remarks in LLVM's YAML form, so that the viewers for the remarks of clang show ours as well.

The writer chooses quotes as LLVM's does: plain for words, single quotes for printable ASCII, double quotes with escapes
for the rest. (LLVM's own reader does not interpret escapes, so double quotes are the last choice.) Remarks are written,
never read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

KINDS = {"passed": "Passed", "missed": "Missed", "analysis": "Analysis"}
PASS = "tracecut"

WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
PRINTABLE = re.compile(r"[ -~]*")
# Words that a YAML reader does not read as strings.
TAKEN = frozenset("true false yes no on off y n null nan inf".split())
SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\x00": "\\0", "\x07": "\\a", "\x08": "\\b"}
ESCAPED = re.compile('["\\\\\x00-\x1f\x7f-\xa0\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]')


@dataclass(frozen=True)
class Remark:
    """One accepted or refused transformation, or a fact found on the way.

    Attributes:
        kind: `passed`, `missed` or `analysis`.
        name: what it is about, one word in CamelCase; viewers group by it.
        function: function of the user's program.
        args: what was found, in order: pairs of a key and a text or number. The message is the
            concatenated texts; those without a key of their own have the key `String`.
        file, line, column: source position; line 0 is unknown, column 0 the whole line.
        hotness: how often the loop ran, if that is known; viewers sort by it.
    """

    kind: str
    name: str
    function: str
    args: tuple[tuple[str, str | int | float], ...]
    file: str = ""
    line: int = 0
    column: int = 0
    hotness: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind = {self.kind!r}, one of {', '.join(KINDS)} was expected")

    @property
    def message(self) -> str:
        """The sentence that a viewer shows."""
        return "".join(str(value) for _, value in self.args)


def remarks_yaml(remarks: Iterable[Remark]) -> str:
    """The remarks as a stream of YAML documents, one each."""
    return "".join(_document(remark) for remark in remarks)


def _document(remark: Remark) -> str:
    lines = [f"--- !{KINDS[remark.kind]}", _field("Pass", PASS), _field("Name", remark.name)]
    if remark.file and remark.line > 0:
        place = f"{{ File: {scalar(remark.file)}, Line: {remark.line}, Column: {remark.column} }}"
        lines.append(f"{'DebugLoc:':<16} {place}")
    lines.append(_field("Function", remark.function))
    if remark.hotness is not None:
        lines.append(f"{'Hotness:':<16} {remark.hotness}")
    if remark.args:
        lines.append("Args:")
        lines += [f"  - {f'{scalar(key)}:':<15} {scalar(str(value))}" for key, value in remark.args]
    else:
        lines.append(f"{'Args:':<16} []")
    return "\n".join([*lines, "...", ""])


def _field(key: str, value: str) -> str:
    return f"{f'{key}:':<16} {scalar(value)}"


def scalar(text: str) -> str:
    """A string as a YAML scalar that reads back as the same string."""
    if WORD.fullmatch(text) and text.lower() not in TAKEN:
        return text
    if PRINTABLE.fullmatch(text):
        return "'" + text.replace("'", "''") + "'"
    return '"' + ESCAPED.sub(_escape, text) + '"'


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    if char in SHORT:
        return SHORT[char]
    code = ord(char)
    if 0xD800 <= code < 0xE000:  # a byte of a name that is not UTF-8, which YAML does not allow
        return "\\uFFFD"
    return f"\\x{code:02X}" if code < 0x100 else f"\\u{code:04X}"
