"""The accesses of a kernel: their numbers, spaces and sizes, and which array each belongs to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from tracecut.ir.gpu.sites import (
    ATOMIC,
    EVICT_FIRST,
    GLOBAL,
    LOAD,
    LOOP,
    MOST_SITES,
    NO_HINT,
    READ_ONLY,
    SHARED,
    SIZES,
    STORE,
    Sites,
)
from tracecut.ir.llvm import Instruction, Operand
from tracecut.ir.llvm.debug_info import Lines
from tracecut.ir.llvm.lexer import GLOBAL as GLOBAL_NAME
from tracecut.support.errors import UnsupportedError

from .kernel_text import KernelText

SITE = "tc.site"
_COLUMNS = ("space", "kind", "bytes", "hint")
_SPACE = re.compile(r"addrspace\((\d+)\)")
_THROUGH = frozenset({"getelementptr", "addrspacecast", "bitcast", "freeze", "phi", "select"})
_FLOATS = frozenset({"half", "bfloat", "float", "double"})
_ALIGN = re.compile(r", align (\d+)")


@dataclass(frozen=True)
class Base:
    """What an address is computed from: `parameter` (its place), `variable` (a shared one) or `private` memory."""

    kind: str
    name: str = ""
    place: int = -1


@dataclass(frozen=True, eq=False)
class Access:
    """One access to global or shared memory.

    Attributes:
        number: of its site. base: None where several arrays are possible, or none is known.
        kind: LOAD, STORE or ATOMIC. is_atomic: it cannot race with other atomic ones; also of atomic loads and stores.
        type: of what is accessed. align: in bytes.
        may_be_constant: it may be of a table in the text, which is in no list of arrays.
    """

    instruction: Instruction
    number: int
    space: int
    kind: int
    is_atomic: bool
    type: str
    bytes: int
    align: int
    hint: int
    base: Base | None
    may_be_constant: bool
    pointer: Operand


@dataclass(frozen=True, eq=False)
class Accesses:
    """All accesses of a kernel, by instruction, and the table of their sites. `texts`: an instruction of each."""

    of: Mapping[Instruction, Access]
    sites: Sites
    texts: tuple[str, ...]

    def written(self, place: int) -> bool:
        """Whether something may be stored through the parameter at a place."""
        return any(
            access.kind != LOAD and (access.base is None or access.base.place == place) for access in self.of.values()
        )

    def may_race(self, place: int) -> bool:
        """Whether two accesses through the parameter at a place could: not if all are atomic, or all are loads."""
        kinds = {
            ATOMIC if access.is_atomic else access.kind
            for access in self.of.values()
            if access.base is None or access.base.place == place
        }
        return STORE in kinds or {LOAD, ATOMIC} <= kinds


def find_accesses(kernel: KernelText, given: Sites | None) -> Accesses:
    """Number the accesses of a kernel: as `!tc.site` says, the others behind those. O(text).

    Args:
        given: the emitter's table; its lines are taken over.

    Raises UnsupportedError for more than 65,536 sites, or an access of a type without a size.
    """
    metadata = kernel.module.metadata()
    lines = Lines(metadata)
    origins = _Origins(kernel)
    found: list[Access] = []
    numbers = [_stated(made, metadata) for _, made in kernel.function.instructions()]
    following = max([-1, *(number for number in numbers if number is not None)]) + 1
    for number, (_, made) in zip(numbers, kernel.function.instructions(), strict=True):
        pointer = _pointer(made)
        if pointer is None:
            continue
        base = origins.of(pointer.text)
        space = _space(pointer, base)
        if space is None:
            continue
        if number is None:
            number, following = following, following + 1
        constant = base is None and any(leaf and leaf.kind == "constant" for leaf in origins.leaves(pointer.text))
        found.append(_access(kernel, made, pointer, number, space, base, constant))
    if following > MOST_SITES:
        raise UnsupportedError(
            f"the kernel {kernel.name} has {following} accesses to memory, at most {MOST_SITES} are known"
        )
    return _table(found, following, lines, given)


def place_of(made: Instruction, lines: Lines, given: Sites | None, metadata: Mapping[str, str]) -> str:
    """`file:line` of an instruction, empty where nothing says it."""
    number = _stated(made, metadata)
    if number is not None and given is not None and number < len(given) and given.where[number]:
        return given.where[number]
    place = lines.place(made.meta.get("dbg"))
    return "" if place is None else str(place)


def _stated(made: Instruction, metadata: Mapping[str, str]) -> int | None:
    node = made.meta.get(SITE)
    if node is None:
        return None
    found = re.search(r"i32 (\d+)", metadata.get(node, node))
    return None if found is None else int(found[1])


def _pointer(made: Instruction) -> Operand | None:
    if made.op == "load":
        return made.operands[0]
    if made.op == "store":
        return made.operands[1]
    return made.operands[0] if made.op in ("atomicrmw", "cmpxchg") else None


def _space(pointer: Operand, base: Base | None) -> int | None:
    """Global or shared; None for memory that each thread has for itself, and for constants."""
    stated = _SPACE.search(pointer.type)
    if stated is not None and stated[1] in ("1", "3"):
        return SHARED if stated[1] == "3" else GLOBAL
    if stated is not None or (base is not None and base.kind in ("private", "constant")):
        return None
    return SHARED if base is not None and base.kind == "variable" else GLOBAL


def _access(
    kernel: KernelText, made: Instruction, pointer: Operand, number: int, space: int, base: Base | None, constant: bool
) -> Access:
    type = made.type if made.op == "load" else made.operands[0 if made.op == "store" else 1].type
    try:
        size = kernel.types.stored(type)
    except ValueError as error:
        raise UnsupportedError(f"an access of {kernel.name} has no size: {made.text}") from error
    align = _ALIGN.search(made.text)
    kind = {"load": LOAD, "store": STORE}.get(made.op, ATOMIC)
    readonly = base is not None and base.kind == "parameter" and _is_readonly(kernel.parameters[base.place].text)
    if size not in SIZES:
        raise UnsupportedError(f"an access of {size} bytes at once, {SIZES} are known: {made.text}")
    hint = NO_HINT
    if "nontemporal" in made.meta and space == GLOBAL:
        hint = EVICT_FIRST
    elif made.op == "atomicrmw" and space == SHARED and (type in _FLOATS or size > 4):
        hint = LOOP
    elif kind == LOAD and space == GLOBAL and ("invariant.load" in made.meta or readonly):
        hint = READ_ONLY
    return Access(
        instruction=made,
        number=number,
        space=space,
        kind=kind,
        is_atomic=kind == ATOMIC or "atomic" in made.flags,
        type=type,
        bytes=size,
        align=int(align[1]) if align else 1 << (size - 1).bit_length(),
        hint=hint,
        base=base,
        may_be_constant=constant,
        pointer=pointer,
    )


def _is_readonly(text: str) -> bool:
    words = set(text.split())
    return "noalias" in words and bool(words & {"readonly", "readnone"})


def _table(found: list[Access], count: int, lines: Lines, given: Sites | None) -> Accesses:
    """The table; numbers without an access are as the emitter says, or loads of 4 bytes that never come."""
    columns = {name: np.full(count, 4 if name == "bytes" else 0, np.uint8) for name in _COLUMNS}
    where, texts = [""] * count, [""] * count
    if given is not None:
        for name, column in columns.items():
            column[: len(given)] = getattr(given, name)[:count]
    for access in found:
        for name, column in columns.items():
            column[access.number] = getattr(access, name)
        place = lines.place(access.instruction.meta.get("dbg"))
        where[access.number] = "" if place is None else str(place)
        texts[access.number] = access.instruction.text
    if given is not None:
        where[: len(given)] = [told or own for told, own in zip(given.where, where, strict=False)]
    sites = Sites(columns["space"], columns["kind"], columns["bytes"], columns["hint"], tuple(where))
    return Accesses({access.instruction: access for access in found}, sites, tuple(texts))


class _Origins:
    """Where the addresses of a kernel come from."""

    def __init__(self, kernel: KernelText) -> None:
        self.definitions = {made.result: made for _, made in kernel.function.instructions() if made.result}
        self.parameters = {parameter.name: place for place, parameter in enumerate(kernel.parameters)}
        self.shared = shared_variables(kernel)
        self.known: dict[str, Base | None] = {}

    def of(self, text: str) -> Base | None:
        """The one base of an address, None where there may be several."""
        if text not in self.known:
            leaves = self.leaves(text)
            self.known[text] = leaves.pop() if len(leaves) == 1 else None
        return self.known[text]

    def leaves(self, text: str) -> set[Base | None]:
        """All bases that an address may have; None: one that is not known."""
        found: set[Base | None] = set()
        seen: set[str] = set()
        stack = [text]
        while stack:
            name = stack.pop()
            if name in seen or name in ("poison", "undef"):
                continue
            seen.add(name)
            made = self.definitions.get(name)
            if made is None:
                found.add(self._leaf(name))
            elif made.op == "alloca":
                found.add(Base("private", name))
            elif made.op in _THROUGH:
                operands = made.operands[:1] if made.op != "phi" else made.operands
                stack += [one.text for one in (made.operands[1:] if made.op == "select" else operands)]
            else:
                found.add(None)
        return found

    def _leaf(self, text: str) -> Base | None:
        if text in self.parameters:
            return Base("parameter", text, self.parameters[text])
        named = GLOBAL_NAME.findall(text)
        if len(named) != 1:
            return None
        return Base("variable" if named[0] in self.shared else "constant", named[0])


def shared_variables(kernel: KernelText) -> dict[str, str]:
    """Name → value type of the variables in shared memory, in the order of the text."""
    found = {}
    for item in kernel.module.items:
        if isinstance(item, str) and item.startswith("@"):
            name = GLOBAL_NAME.match(item)
            stated = _SPACE.search(item.split("=", 1)[1])
            if name is not None and stated is not None and stated[1] == "3":
                found[name.group()] = kernel.module.globals[name.group()].type
    return found
