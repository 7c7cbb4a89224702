"""Addresses: what a chain of `getelementptr` comes to, and how C says it.

An address is a variable, the *root*, and a number of bytes behind it. Where these are whole elements of what the root
points to, C says `root[index]`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tracecut.ir.llvm import Instruction, TypeTable
from tracecut.ir.llvm.literals import float_of

from .expressions import PRODUCT, SUM, UNARY, Expr, Pointer, cast, literal, pair, wrapped
from .types import C_TYPES, SIZES

BYTES = "u8"


@dataclass(frozen=True)
class Step:
    """One `getelementptr`: constant bytes, and (operand, its type, bytes of one) for each index that is none."""

    bytes: int
    indices: tuple[tuple[str, str, int], ...]


def step(made: Instruction, types: TypeTable) -> Step:
    """What a `getelementptr` adds to its base."""
    kind, total = made.word, 0
    found: list[tuple[str, str, int]] = []
    for place, operand in enumerate(made.operands[1:]):
        number = _whole(operand.text)
        if place == 0:
            scale, inner = types.size(kind), kind
        else:
            element = types.element(kind)
            if element is None:
                offset, kind = types.field(kind, number or 0)
                total += offset
                continue
            scale, inner = types.size(element), element
        kind = inner
        if number is None:
            found.append((operand.text, operand.type, scale))
        else:
            total += number * scale
    return Step(total, tuple(found))


def _whole(text: str) -> int | None:
    if text.lstrip("-").isdigit():
        return int(text)
    return 0 if float_of(text) is None and text in ("zeroinitializer", "undef", "poison") else None


def moved(pointer: Pointer, terms: Iterable[tuple[Expr, int]], bytes: int, *, exact: bool) -> Pointer:
    """A pointer further on."""
    both = [*pointer.terms]
    for expr, scale in terms:
        for place, (known, before) in enumerate(both):
            if known == expr:
                both[place] = (expr, before + scale)
                break
        else:
            both.append((expr, scale))
    kept = tuple((expr, scale) for expr, scale in both if scale)
    return replace(pointer, terms=kept, bytes=pointer.bytes + bytes, exact=pointer.exact and exact)


def is_whole(pointer: Pointer, size: int) -> bool:
    """Whether the bytes behind the root are whole elements of a size."""
    return pointer.bytes % size == 0 and all(scale % size == 0 for _, scale in pointer.terms)


def place(pointer: Pointer, key: str) -> tuple[str, str]:
    """(C for the value of type `key` that the pointer leads to, the key that C takes it for)."""
    size = SIZES[key]
    if is_whole(pointer, size):
        root, element = pointer.root, pointer.element
        if SIZES[element] != size or (element[0] == "f") != (key[0] == "f"):
            root, element = f"(({_words(key, pointer)}*){root})", key
        text = index_text(pointer, size)
        return (f"*{root}" if text == "0" else f"{root}[{text}]"), element
    return f"*({_words(key, pointer)}*){_bytes(pointer)}", key


def address(pointer: Pointer, key: str) -> str:
    """C for a pointer to a value of type `key`, as an argument."""
    found, element = place(pointer, key)
    if element == key:
        return found[1:] if found.startswith("*") else f"&{found}"
    return f"({_words(key, pointer)}*)" + (found[1:] if found.startswith("*") else f"&{found}")


def pointer_expr(pointer: Pointer, key: str = "") -> Expr:
    """A pointer itself, to elements of `key`, or of its root's kind where none is given."""
    key = key or pointer.element
    size = SIZES[key]
    root = pointer.root if key == pointer.element else f"({_words(key, pointer)}*){pointer.root}"
    if is_whole(pointer, size):
        text = index_text(pointer, size)
        if text == "0":
            return Expr(root, "u64", UNARY)
        return Expr(f"{root} {'- ' + text[1:] if text.startswith('-') else '+ ' + text}", "u64", SUM)
    return Expr(f"({_words(key, pointer)}*){_bytes(pointer)}", "u64", UNARY)


def _bytes(pointer: Pointer) -> str:
    words = _words(BYTES, pointer)
    text = index_text(pointer, 1)
    root = pointer.root if pointer.element == BYTES else f"({words}*){pointer.root}"
    return f"({root} + {text})" if text != "0" else root


def _words(key: str, pointer: Pointer) -> str:
    return f"{'const ' if pointer.read_only else ''}{C_TYPES[key]} "


def index_text(pointer: Pointer, size: int) -> str:
    """The number of elements behind the root, a signed number of 64 bits or one that C makes such."""
    terms = [(expr, scale // size) for expr, scale in pointer.terms]
    number = pointer.bytes // size
    if not terms:
        return str(number)
    parts: list[str] = []
    for expr, scale in terms:
        if scale == 1:
            single = len(terms) == 1 and not number
            found = cast(expr, "i64") if expr.type == "u64" else expr
            if not single and expr.type != "i64" and not parts:
                found = cast(expr, "i64")  # the sum has 64 bits
        else:
            found, factor = pair(expr, literal(scale, "i64"), "i64")
            found = Expr(f"{wrapped(found, PRODUCT)} * {wrapped(factor, PRODUCT + 1)}", "i64", PRODUCT)
        parts.append(wrapped(found, SUM + 1) if parts else wrapped(found, SUM))
    text = " + ".join(parts)
    return f"{text} {'-' if number < 0 else '+'} {abs(number)}" if number else text


def elements(accesses: dict[str, list[tuple[str, Pointer]]]) -> dict[str, str]:
    """What each root points to: root → the type that most of its accesses have, bytes where they do not agree."""
    found = {}
    for root, items in accesses.items():
        kinds = Counter(key for key, _ in items)
        best = max(kinds, key=lambda key: (kinds[key], key[0] == "f", key))
        alike = {SIZES[key] for key in kinds} == {SIZES[best]}
        whole = all(is_whole(pointer, SIZES[best]) for _, pointer in items)
        found[root] = best if alike and whole else BYTES
    return found


def distance(a: Pointer, b: Pointer) -> tuple[Sequence[tuple[Expr, int]], int] | None:
    """How many bytes a lies behind b, if that is a sum which cannot wrap around; None otherwise."""
    if a.root != b.root or not (a.exact and b.exact):
        return None
    apart = moved(a, [(expr, -scale) for expr, scale in b.terms], -b.bytes, exact=True)
    return apart.terms, apart.bytes
