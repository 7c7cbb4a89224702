"""Every memory operation of an instruction, as items of the stream, with how each word is computed.

Used twice: the static tables take what an item is, the rewriting also how its words come about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from tracecut.ir.llvm import Function, Instruction, Module, Operand, int_bits
from tracecut.ir.llvm.call_effects import MARKER, PURE, RETURNS_TWICE, effect_of
from tracecut.support.errors import UnsupportedError

from .event_words import READ, WRITE, Kind
from .interposed_calls import Interposed
from .library_effects import External, Part, external_of
from .printf_scanf import constant_strings, stores_in, strings_in

Length = tuple[str, ...]
VA_LIST = 24  # bytes of a va_list on x86-64
_POINTERS = ("r", "w", "x", "wat", "allocat", "realloc", "free", "va")  # effects of which the argument is a pointer


@dataclass(frozen=True)
class Item:
    """One item of a record.

    Attributes:
        kind, access: what it tells; `access` is a sum of READ and WRITE.
        bytes: static length; for MASK and GATHER of one lane; 0 when the length is part of the payload.
        lanes: of MASK and GATHER.
        pointers: where the addresses of the payload come from; of a GATHER the vector of them.
        length: factors of a dynamic length (notation of `externals`), over `arguments` and `result`.
        mask: of MASK and GATHER.
        late: its words are known when the instruction is done.
        indirect: the pointer is what lies there when the instruction is done.
    """

    kind: Kind
    access: int
    bytes: int = 0
    lanes: int = 0
    pointers: tuple[Operand, ...] = ()
    length: Length = ()
    arguments: tuple[Operand, ...] = ()
    result: Operand | None = None
    mask: Operand | None = None
    late: bool = False
    indirect: bool = False


# Intrinsics that neither read nor write memory of the program, and are no arithmetic either.
_QUIET = re.compile(
    r"llvm\.(va_end|stacksave|stackrestore|frameaddress|returnaddress|addressofreturnaddress|eh\.typeid\.for|trap|"
    r"debugtrap|ubsantrap|readcyclecounter|readsteadycounter|launder\.invariant\.group|strip\.invariant\.group|"
    r"threadlocal\.address|get\.rounding|vscale|fake\.use|allow\.runtime\.check|allow\.ubsan\.check|arithmetic\.fence|"
    r"ssa\.copy|ptrmask|load\.relative\.none|x86\.sse2\.pause)(?:\.|$)"
)

_BYVAL = re.compile(r"\bbyval\(((?:[^()]|\([^()]*\))*)\)")
_BYVAL_ARGUMENT = re.compile(_BYVAL.pattern + r'(?: align \d+| [a-z_]+(?:\([^()]*\))?)* ([%@](?:[-\w.$]+|"[^"]*"))')


class Sites:
    """Finds the items of the instructions of one module. Raises UnsupportedError for what cannot be followed."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.types = module.types()
        self.own = set(module.functions) - module.naked()
        self.constants = constant_strings(module)
        self.interposed = Interposed.of(module)

    @cached_property
    def _memory_words(self) -> dict[str, str]:
        """Declared function → its attributes, where the effects of an intrinsic are stated."""
        groups = self.module.attribute_groups()
        return {
            name: line + " " + " ".join(groups.get(group, "") for group in re.findall(r"#\d+", line))
            for name, line in self.module.declarations.items()
        }

    def splits(self, instruction: Instruction) -> bool:
        """Whether a segment ends behind it: it may enter instrumented code, or leave without coming back."""
        if instruction.op in ("invoke", "callbr"):
            return True
        if instruction.op != "call" or instruction.word == "asm":
            return False
        if instruction.word in self.own or not instruction.word.startswith("@"):
            return True
        if instruction.word.startswith("@llvm."):
            name = instruction.word.removeprefix("@llvm.")
            return name.startswith("eh.sjlj.") or self.interposed.lowered(name)
        known = self._external(instruction)
        return known is None or known.callback or known.leaves or known.throws or self.returns_twice(instruction)

    def returns_twice(self, instruction: Instruction) -> bool:
        """A call that may return more than once (setjmp)."""
        if instruction.op not in ("call", "invoke"):
            return False
        name = instruction.word.removeprefix("@").strip('"')
        return name in RETURNS_TWICE or "returns_twice" in self._memory_words.get(instruction.word, "")

    def is_unknown(self, instruction: Instruction) -> bool:
        """A call of which it is not known what it does to memory."""
        if instruction.op not in ("call", "invoke", "callbr") or instruction.word in self.own:
            return False
        if instruction.word == "asm":
            return "~{memory}" in instruction.text or bool(self._asm_pointers(instruction))
        if not instruction.word.startswith("@") or instruction.word.startswith("@llvm."):
            return False
        return self._external(instruction) is None and not self.returns_twice(instruction)

    def needs_frames(self, function: Function) -> bool:
        """Whether control may come back into the function other than by a return of what it called."""
        return any(
            instruction.op == "landingpad" or self.returns_twice(instruction)
            for _, instruction in function.instructions()
        )

    def allocas(self, function: Function) -> dict[str, int]:
        """`%name` → size in bytes of the stack slots of fixed size."""
        return {
            str(instruction.result): self.types.size(instruction.word)
            for _, instruction in function.instructions()
            if instruction.op == "alloca" and not instruction.operands
        }

    def items(self, instruction: Instruction, allocas: Mapping[str, int]) -> list[Item]:
        """Items of one instruction, in order. `allocas`: of its function, from `allocas`."""
        op = instruction.op
        if op == "load":
            return [self._plain(READ, instruction.operands[0], instruction.type)]
        if op == "store":
            value, pointer = instruction.operands
            return [self._plain(WRITE, pointer, value.type)]
        if op in ("atomicrmw", "cmpxchg"):
            pointer, value = instruction.operands[0], instruction.operands[1]
            return [self._plain(READ | WRITE, pointer, value.type)]
        if op == "va_arg":
            place = instruction.operands[0]
            return [
                Item(Kind.ADDR, READ | WRITE, bytes=VA_LIST, pointers=(place,)),
                Item(Kind.VARIABLE, READ, pointers=(place,)),
            ]
        if op == "alloca":
            return [self._alloca(instruction)]
        if op in ("call", "invoke", "callbr"):
            return self._call(instruction, allocas)
        return []

    def check(self, functions: Iterable[Function]) -> None:
        """Raise UnsupportedError listing every memory intrinsic that is not known, and where the first of it stands."""
        unknown: dict[str, str] = {}
        for function in functions:
            for _, instruction in function.instructions():
                if instruction.op in ("call", "invoke") and instruction.word.startswith("@llvm."):
                    if not self._known_intrinsic(instruction):
                        unknown.setdefault(instruction.word.removeprefix("@"), function.name)
                elif instruction.op == "frem" and self.interposed.lowered("fmod"):
                    unknown.setdefault("frem by a function `fmod` of its own", function.name)
                elif instruction.op == "call" and re.match(r"(?:%\S+ = )?musttail\b", instruction.text):
                    unknown.setdefault("musttail call", function.name)
        if unknown:
            names = ", ".join(f"{name} (in {function})" for name, function in sorted(unknown.items()))
            raise UnsupportedError(
                f"the program uses what the tracer cannot follow: {names}",
                hint="Compile without it (for vector intrinsics: a baseline processor), or trace other functions.",
            )

    def _plain(self, access: int, pointer: Operand, kind: str) -> Item:
        if pointer.type != "ptr":
            raise UnsupportedError(f"an access through {pointer.type} (another address space) cannot be traced")
        return Item(Kind.ADDR, access, bytes=self.types.stored(kind), pointers=(pointer,))

    def _alloca(self, instruction: Instruction) -> Item:
        length = (str(self.types.size(instruction.word)), *(f"a{place}" for place in range(len(instruction.operands))))
        slot = Operand("ptr", str(instruction.result))
        return Item(Kind.ALLOCA, 0, pointers=(slot,), length=length, arguments=instruction.operands, late=True)

    def _call(self, call: Instruction, allocas: Mapping[str, int]) -> list[Item]:
        if call.word.startswith("@llvm."):
            return self._intrinsic(call, allocas)
        if call.word in self.own or not (call.word == "asm" or call.word.startswith("@")):
            return self._copied_arguments(call)
        if self.is_unknown(call):
            pointers = self._asm_pointers(call) if call.word == "asm" else call.operands
            return [
                Item(Kind.OPAQUE, READ | WRITE, pointers=(pointer,)) for pointer in pointers if pointer.type == "ptr"
            ]
        known = None if call.word == "asm" else self._external(call)
        if known is None:  # setjmp and harmless assembly
            return []
        found: list[Item] = []
        if known.format is not None:
            found.append(self._part(call, Part("r", known.format, ("str",), late=False)))
            for argument, length in strings_in(call, known.format, self.constants) or []:
                found.append(self._part(call, Part("r", argument, (length,), late=False)))
        if known.scan is not None:
            found.append(self._part(call, Part("r", known.scan, ("str",), late=False)))
            for argument, factors in stores_in(call, known.scan, self.constants) or []:
                found.append(self._part(call, Part("w", argument, factors, late=True)))
        found.extend(self._part(call, part) for part in known.parts)
        return found

    def copied_parameters(self, function: Function) -> list[Item]:
        """Parameters that are copies of what the caller's pointers point to."""
        return [
            Item(Kind.BYVAL, 0, bytes=self.types.size(found.group(1)), pointers=(Operand("ptr", parameter.name),))
            for parameter in function.parameters
            if (found := _BYVAL.search(parameter.text))
        ]

    def _copied_arguments(self, call: Instruction) -> list[Item]:
        """What a call reads to copy its arguments."""
        return [
            Item(Kind.ADDR, READ, bytes=self.types.size(kind), pointers=(Operand("ptr", pointer),))
            for kind, pointer in _BYVAL_ARGUMENT.findall(call.text)
        ]

    def _external(self, call: Instruction) -> External | None:
        """What is known of a library function, if the program declares it as the library does."""
        known = external_of(call)
        if known is not None:
            known = self.interposed.seen(call.word.removeprefix("@").strip('"'), known)
        if known is None:
            return None
        needed = [part.argument for part in known.parts if part.what in _POINTERS]
        needed += [0, 1] if any(part.what == "copy" for part in known.parts) else []
        needed += [place for place in (known.format, known.scan) if place is not None]
        needed += [int(place) for part in known.parts for place in re.findall(r"\bm(\d+)", "*".join(part.length))]
        if any(place >= len(call.operands) or call.operands[place].type != "ptr" for place in needed):
            return None
        sizes = [int(place) for part in known.parts for place in re.findall(r"\b(?:a|min)(\d+)", "*".join(part.length))]
        if any(place >= len(call.operands) or int_bits(call.operands[place].type) is None for place in sizes):
            return None
        if known.format is not None and strings_in(call, known.format, self.constants) is None:
            return None
        if known.scan is not None and stores_in(call, known.scan, self.constants) is None:
            return None
        return known

    def _part(self, call: Instruction, part: Part) -> Item:
        result = Operand(call.type, str(call.result)) if call.result else None
        returned = result or Operand("ptr", "null")
        argument = call.operands[part.argument] if part.argument < len(call.operands) else returned
        kind, access, pointers = {
            "r": (Kind.RANGE, READ, (argument,)),
            "w": (Kind.RANGE, WRITE, (argument,)),
            "x": (Kind.RANGE, READ | WRITE, (argument,)),
            "wret": (Kind.RANGE, WRITE, (returned,)),
            "xret": (Kind.RANGE, READ | WRITE, (returned,)),
            "wat": (Kind.RANGE, WRITE, (argument,)),
            "copy": (Kind.COPY, READ | WRITE, call.operands[:2]),
            "alloc": (Kind.ALLOC, 0, (returned,)),
            "allocat": (Kind.ALLOC, 0, (argument,)),
            "realloc": (Kind.REALLOC, 0, (argument, returned)),
            "free": (Kind.FREE, 0, (argument,)),
            "va": (Kind.VARIABLE, READ, (argument,)),
        }[part.what]
        return Item(
            kind,
            access,
            pointers=pointers,
            length=part.length,
            arguments=call.operands,
            result=result,
            late=part.late,
            indirect=part.what in ("allocat", "wat"),
        )

    def _intrinsic(self, call: Instruction, allocas: Mapping[str, int]) -> list[Item]:
        name = call.word.removeprefix("@llvm.")
        operands = call.operands
        family = name.partition(".")[0]
        if family == "memset":
            return [self._part(call, Part("w", 0, ("a2",), late=False))]
        if family in ("memcpy", "memmove"):
            return [self._part(call, Part("copy", 0, ("a2",), late=False))]
        if name.startswith("lifetime."):
            size = allocas.get(operands[-1].text)
            return [] if size is None else [Item(Kind.LIFETIME, 0, bytes=size, pointers=(operands[-1],))]
        if family == "va_start":
            return [
                Item(Kind.ADDR, WRITE, bytes=VA_LIST, pointers=(operands[0],)),
                Item(Kind.VARIABLE, WRITE, pointers=(operands[0],), late=True),
            ]
        if family == "va_copy":
            return [
                Item(Kind.ADDR, READ, bytes=VA_LIST, pointers=(operands[1],)),
                Item(Kind.ADDR, WRITE, bytes=VA_LIST, pointers=(operands[0],)),
            ]
        return [self._masked(call, name.split(".")[1])] if name.startswith("masked.") else []

    def _masked(self, call: Instruction, what: str) -> Item:
        operands = call.operands
        stores = what in ("store", "scatter")
        data = operands[0].type if stores else call.type
        found = re.match(r"<(\d+) x (.*)>$", data)
        if found is None:
            raise UnsupportedError(f"a masked access of the type {data} cannot be traced")
        mask = next(item for item in operands if re.fullmatch(r"<\d+ x i1>", item.type))
        return Item(
            Kind.GATHER if what in ("gather", "scatter") else Kind.MASK,
            WRITE if stores else READ,
            bytes=self.types.stored(found.group(2)),
            lanes=int(found.group(1)),
            pointers=(operands[1] if stores else operands[0],),
            mask=mask,
        )

    def _known_intrinsic(self, call: Instruction) -> bool:
        name = call.word.removeprefix("@")
        if effect_of(call) in (PURE, MARKER) or _QUIET.match(name):
            return True
        if re.match(r"llvm\.(memset|memcpy|memmove|va_start|va_copy)(\.|$)", name):
            return True
        if re.match(r"llvm\.masked\.(load|store|gather|scatter)\.", name):
            return True
        words = self._memory_words.get(call.word, "")
        return "memory(none)" in words or "memory(inaccessiblemem: readwrite)" in words

    def _asm_pointers(self, call: Instruction) -> tuple[Operand, ...]:
        """Pointers among the operands of inline assembly."""
        found = re.findall(r"\bptr (?:[a-z_]+(?:\([^)]*\))? )*([%@][-\w.$]+)", call.text)
        return tuple(Operand("ptr", text) for text in found)
