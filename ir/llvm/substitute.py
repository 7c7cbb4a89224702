"""One instruction with other operands: textual edits that change nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tracecut.ir.llvm import Instruction

from .lexer import GLOBAL, LOCAL, matching

# Start of a constant expression, which is one operand as a whole.
_EXPRESSION = re.compile(r"\b(?:getelementptr|ptrtoint|ptrtoaddr|inttoptr|addrspacecast|trunc|add|sub|xor)\b[^(\[,]*\(")
_OPERAND = re.compile(rf"{LOCAL.pattern}|{GLOBAL.pattern}|{_EXPRESSION.pattern}")


def replaced(instruction: Instruction, mapping: Mapping[str, str]) -> str:
    """The text of an instruction with operands of its right-hand side replaced: locals, globals, constants.

    `mapping` has operand texts as `Instruction.operands` gives them. O(text).
    """
    if not mapping:
        return instruction.text
    text = instruction.text
    place = text.index("=") + 1 if instruction.result is not None else 0
    parts = [text[:place]]
    while found := _OPERAND.search(text, place):
        end = found.end() if found.group()[0] in "%@" else matching(text, found.end() - 1) + 1
        operand = text[found.start() : end]
        parts += [text[place : found.start()], mapping.get(operand, operand)]
        place = end
    return "".join([*parts, text[place:]])


def renamed_globals(text: str, mapping: Mapping[str, str]) -> str:
    """Text of a module, or of a line of one, with other names for some globals; what strings say stays. O(text)."""
    names = "|".join(re.escape(name.removeprefix("@")) for name in sorted(mapping, key=len, reverse=True))
    word = re.compile(rf'"(?:[^"\\]|\\.)*"|@(?:{names})(?![-\w.$])')
    return word.sub(lambda found: mapping.get(found.group(), found.group()), text) if mapping else text


def alignment(instruction: Instruction) -> str:
    """The text `, align N` of a load or store, empty when it has none."""
    found = re.search(r", align \d+", instruction.text)
    return found.group() if found else ""


def aligned_to(instruction: Instruction) -> int:
    """The N of `, align N`, 1 when there is none."""
    return int(alignment(instruction).rpartition(" ")[2] or 1)


def kept(meta: Mapping[str, str]) -> dict[str, str]:
    """Metadata that still holds in the range function: no source positions, no facts about the original loop."""
    return {kind: node for kind, node in meta.items() if kind in ("tbaa", "tbaa.struct", "range", "nonnull", "fpmath")}


def for_any_number(text: str) -> str:
    """An instruction without flags that depend on the old numbers of its operands (`disjoint`, `nuw`).

    The flags that stay hold for all numbers that do not overflow, which the plan has checked (`linear_forms.py`).
    """
    head, equals, tail = text.partition("=")
    tail = re.sub(r"^ or disjoint ", " add ", tail)
    return head + equals + re.sub(r"^( (?:add|sub|mul|shl|trunc)) nuw(?=(?: nsw)? (?!nsw|i64 %\S+, ))", r"\1", tail)


def is_literal(text: str) -> bool:
    """Whether an operand is neither a name nor an address constant."""
    return not text.startswith(("%", "@", "getelementptr"))
