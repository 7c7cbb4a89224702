"""What each instruction does in the slow interpreter; returns its value and the vertex that made it."""

from __future__ import annotations

import math
import re
from typing import Any

from tracecut.ir.llvm.lexer import matching, split_commas, split_type

from .interpreter import BINARY, CASTS, Frame, Interpreter, Line
from .llarithmetic import binary, cast, fcmp, icmp, rounded
from .llvalues import FLOATS, gep, signed

LIBM = ("exp", "exp2", "log", "log2", "log10", "sin", "cos", "tan", "pow", "trunc", "copysign")


def execute(machine: Interpreter, frame: Frame, vertex: int, line: Line) -> tuple[Any, int | None]:
    op = line.op
    if op in ("call", "invoke"):
        return _call(machine, frame, vertex, line)
    if op in BINARY:
        kind, rest = split_type(line.body)
        a, b = (machine.value(frame, vertex, kind, text) for text in split_commas(rest))
        return binary(machine.types, op, kind, a, b), vertex
    if op in CASTS:
        text, target = line.body.rsplit(" to ", 1)
        kind, value = machine.typed(frame, vertex, text)
        return cast(machine.types, op, kind, target.strip(), value), vertex
    return globals()[f"_{op}"](machine, frame, vertex, line), vertex


def _operands(machine: Interpreter, frame: Frame, vertex: int, parts: list[str]) -> list[tuple[str, Any]]:
    return [machine.typed(frame, vertex, part) for part in parts]


def _icmp(machine: Interpreter, frame: Frame, vertex: int, line: Line) -> Any:
    predicate, rest = line.body.split(None, 1)
    kind, rest = split_type(rest)
    a, b = (machine.value(frame, vertex, kind, text) for text in split_commas(rest))
    return fcmp(predicate, a, b) if line.op == "fcmp" else icmp(machine.types, predicate, kind, a, b)


_fcmp = _icmp


def _fneg(machine: Interpreter, frame: Frame, vertex: int, line: Line) -> Any:
    _, value = machine.typed(frame, vertex, line.body)
    return tuple(-item for item in value) if isinstance(value, tuple) else -value


def _freeze(machine: Interpreter, frame: Frame, vertex: int, line: Line) -> Any:
    return machine.typed(frame, vertex, line.body)[1]


def _select(machine: Interpreter, frame: Frame, vertex: int, line: Line) -> Any:
    (_, condition), (_, a), (_, b) = _operands(machine, frame, vertex, split_commas(line.body))
    if isinstance(condition, tuple):
        return tuple(x if chosen else y for chosen, x, y in zip(condition, a, b, strict=True))
    return a if condition else b


def _alloca(machine: Interpreter, frame: Frame, vertex: int, line: Line) -> int:
    parts = split_commas(line.body)
    count = 1
    for part in parts[1:]:
        if not part.startswith(("align", "addrspace")):
            count = machine.typed(frame, vertex, part)[1]
    size = machine.types.size(parts[0]) * count
    machine.stack = (machine.stack - max(size, 1)) // 16 * 16
    frame.slots.append((machine.stack, size))
    machine.forget(machine.stack, size)
    return machine.stack


def _load(machine: Interpreter, frame: Frame, vertex: int, line: Line) -> Any:
    kind, rest = split_type(line.body)
    pointer = split_commas(rest.removeprefix(","))[0]
    address = machine.typed(frame, vertex, re.sub(r" (?:monotonic|acquire|seq_cst|unordered)$", "", pointer))[1]
    return machine.types.decode(machine.reads(vertex, address, machine.types.stored(kind)), kind)


def _store(machine: Interpreter, frame: Frame, vertex: int, line: Line) -> None:
    first, second = split_commas(line.body)[:2]
    kind, value = machine.typed(frame, vertex, first)
    address = machine.typed(frame, vertex, re.sub(r" (?:monotonic|release|seq_cst|unordered)$", "", second))[1]
    machine.writes(vertex, address, machine.types.encode(value, kind))


def _getelementptr(machine: Interpreter, frame: Frame, vertex: int, line: Line) -> Any:
    parts = split_commas(line.body)
    (_, base), *indices = _operands(machine, frame, vertex, parts[1:])
    return gep(machine.types, parts[0], base, indices)


def _extractvalue(machine: Interpreter, frame: Frame, vertex: int, line: Line) -> Any:
    first, *path = split_commas(line.body)
    value = machine.typed(frame, vertex, first)[1]
    for step in path:
        value = value[int(step)]
    return value


def _insertvalue(machine: Interpreter, frame: Frame, vertex: int, line: Line) -> Any:
    first, second, *path = split_commas(line.body)
    whole, part = machine.typed(frame, vertex, first)[1], machine.typed(frame, vertex, second)[1]

    def put(value: Any, steps: list[str]) -> Any:
        if not steps:
            return part
        place = int(steps[0])
        return (*value[:place], put(value[place], steps[1:]), *value[place + 1 :])

    return put(whole, path)


def _extractelement(machine: Interpreter, frame: Frame, vertex: int, line: Line) -> Any:
    (_, vector), (_, index) = _operands(machine, frame, vertex, split_commas(line.body))
    return vector[index]


def _insertelement(machine: Interpreter, frame: Frame, vertex: int, line: Line) -> Any:
    (_, vector), (_, value), (_, index) = _operands(machine, frame, vertex, split_commas(line.body))
    return (*vector[:index], value, *vector[index + 1 :])


def _shufflevector(machine: Interpreter, frame: Frame, vertex: int, line: Line) -> Any:
    parts = split_commas(line.body)
    (_, a), (_, b) = _operands(machine, frame, vertex, parts[:2])
    mask_type, mask = split_type(parts[2])
    if mask in ("zeroinitializer", "poison", "undef"):
        lanes = [0] * machine.types.sequence(mask_type)[0]
    else:
        lanes = [int(item.split()[1]) if item.split()[1].isdigit() else 0 for item in split_commas(mask[1:-1])]
    return tuple((a + b)[lane] for lane in lanes)


def _landingpad(machine: Interpreter, frame: Frame, vertex: int, line: Line) -> Any:
    thrown = frame.landed
    assert thrown is not None
    machine.edges.add((thrown.by, vertex, "register"))
    return (thrown.object, thrown.selector)


def _fence(machine: Interpreter, frame: Frame, vertex: int, line: Line) -> None:
    return None


def _atomicrmw(machine: Interpreter, frame: Frame, vertex: int, line: Line) -> Any:
    first, second = split_commas(line.body)[:2]
    word, pointer = first.split(None, 1)
    address = machine.typed(frame, vertex, pointer)[1]
    kind, value = machine.typed(frame, vertex, re.sub(r" (?:monotonic|acquire|release|acq_rel|seq_cst)$", "", second))
    old = machine.types.decode(machine.reads(vertex, address, machine.types.stored(kind)), kind)
    if word == "xchg":
        new = value
    elif word in ("max", "min", "umax", "umin"):
        bits = machine.types.bits(kind) if word[0] != "u" else 0
        key = (lambda item: signed(item, bits)) if bits else (lambda item: item)
        new = (max if "max" in word else min)(old, value, key=key)
    else:
        new = binary(machine.types, word, kind, old, value)
    machine.writes(vertex, address, machine.types.encode(new, kind))
    return old


def _cmpxchg(machine: Interpreter, frame: Frame, vertex: int, line: Line) -> Any:
    pointer, expected, new = split_commas(line.body)[:3]
    address = machine.typed(frame, vertex, pointer)[1]
    kind, old = machine.typed(frame, vertex, expected)
    wanted = re.sub(r"(?: (?:monotonic|acquire|release|acq_rel|seq_cst))+$", "", new)
    value = machine.typed(frame, vertex, wanted)[1]
    data = machine.reads(vertex, address, machine.types.stored(kind))
    found = machine.types.decode(data, kind)
    machine.writes(vertex, address, machine.types.encode(value if found == old else found, kind))
    return (found, int(found == old))


def _call(machine: Interpreter, frame: Frame, vertex: int, line: Line) -> tuple[Any, int | None]:
    found = re.search(r'([@%](?:[-\w.$]+|"[^"]*"))\(', line.body)
    assert found is not None, f"inline assembly is not interpreted: {line.body}"
    name = found.group(1)
    open_at = found.end() - 1
    arguments = machine.arguments(frame, vertex, line.body[open_at + 1 : matching(line.body, open_at)])
    if name.startswith("%"):
        name = machine.code[machine.value(frame, vertex, "ptr", name)]
        indirect = True
    else:
        indirect = False
    if name in machine.functions:
        given = [_passed(machine, vertex, *argument) for argument in arguments]
        value, made = machine.call(name, given)
        return value, made
    values = [value for _, value, _, _ in arguments]
    if name.startswith("@llvm."):
        return _intrinsic(machine, frame, vertex, name.removeprefix("@llvm."), arguments, line), vertex
    assert not indirect or name.removeprefix("@") in machine.library
    function = machine.library[name.removeprefix("@").strip('"')]
    return function(machine, vertex, *values), vertex


def _passed(
    machine: Interpreter, vertex: int, kind: str, value: Any, maker: int | None, text: str
) -> tuple[str, Any, int | None]:
    """An argument as the callee gets it: structures are copied by the call."""
    if "byval(" in text:
        start = text.index("byval(") + 5
        size = machine.types.size(text[start + 1 : matching(text, start)])
        machine.stack = (machine.stack - size) // 16 * 16
        machine.writes(vertex, machine.stack, machine.reads(vertex, value, size))
        return f"copy {size}", machine.stack, maker
    return kind, value, maker


def _intrinsic(
    machine: Interpreter,
    frame: Frame,
    vertex: int,
    name: str,
    arguments: list[tuple[str, Any, int | None, str]],
    line: Line,
) -> Any:
    values = [value for _, value, _, _ in arguments]
    family = name.split(".")[0]
    kind = arguments[0][0] if arguments else "i64"
    if family in ("memcpy", "memmove"):
        machine.writes(vertex, values[0], machine.reads(vertex, values[1], values[2]))
        return None
    if family == "memset":
        machine.writes(vertex, values[0], bytes([values[1]]) * values[2])
        return None
    if family == "lifetime":
        slot = next((slot for slot in frame.slots if slot[0] == values[-1]), None)
        if slot:
            machine.forget(*slot)
        return None
    if family == "va_start":
        _va_start(machine, frame, vertex, values[0])
        return None
    if family == "va_copy":
        machine.writes(vertex, values[0], machine.reads(vertex, values[1], 24))
        return None
    if family in ("va_end", "assume", "experimental", "dbg", "stackrestore", "prefetch", "donothing"):
        return None
    if family == "ptrmask":
        return values[0] & values[1]
    if name.startswith("eh.typeid.for"):
        return values[0] & 0x7FFFFFFF
    if family == "stacksave":
        return machine.stack
    if family in ("smax", "smin", "umax", "umin", "abs"):
        return _lanes(lambda *items: _extreme(machine, family, _element(machine, kind), *items), values)
    if family in ("fabs", "sqrt", "floor", "ceil", "fma", "fmuladd", "maxnum", "minnum", *LIBM):
        return _lanes(lambda *items: rounded(_element(machine, kind), _real(family, *items)), values)
    if family in ("fshl", "fshr"):
        bits = machine.types.bits(kind)
        shift = values[2] % bits
        both = values[0] << bits | values[1]
        return (both << shift >> bits if family == "fshl" else both >> shift) & ((1 << bits) - 1)
    if family in ("ctpop", "bswap", "ctlz", "cttz"):
        bits = machine.types.bits(kind)
        if family == "bswap":
            return int.from_bytes(values[0].to_bytes(bits // 8, "little"), "big")
        return {
            "ctpop": values[0].bit_count(),
            "ctlz": bits - values[0].bit_length(),
            "cttz": (values[0] & -values[0]).bit_length() - 1 if values[0] else bits,
        }[family]
    if family in ("scmp", "ucmp"):
        a, b = (signed(value, machine.types.bits(kind)) if family == "scmp" else value for value in values)
        return ((a > b) - (a < b)) & ((1 << int(name.split(".")[1][1:])) - 1)
    if family in ("uadd", "usub", "umul", "sadd", "ssub", "smul"):
        return _overflow(machine, family, kind, name, *values)
    if name.startswith("vector.reduce.add"):
        element = machine.types.sequence(kind)[1]
        return sum(values[0]) & ((1 << machine.types.bits(element)) - 1)
    if name.startswith(("masked.load", "masked.store")):
        return _masked(machine, vertex, name, arguments, line)
    raise AssertionError(f"the interpreter has no llvm.{name}")


def _element(machine: Interpreter, kind: str) -> str:
    return machine.types.sequence(kind)[1] if machine.types.is_vector(kind) else kind


def _lanes(function: Any, values: list[Any]) -> Any:
    if not isinstance(values[0], tuple):
        return function(*values)
    return tuple(
        function(*(value[lane] if isinstance(value, tuple) else value for value in values))
        for lane in range(len(values[0]))
    )


def _extreme(machine: Interpreter, family: str, kind: str, a: int, b: int) -> int:
    bits = machine.types.bits(kind)
    if family == "abs":
        return abs(signed(a, bits)) & ((1 << bits) - 1)
    if family[0] == "u":
        return max(a, b) if family == "umax" else min(a, b)
    key = lambda item: signed(item, bits)  # noqa: E731
    return max(a, b, key=key) if family == "smax" else min(a, b, key=key)


def _real(family: str, *items: float) -> float:
    if family in ("fma", "fmuladd"):
        return items[0] * items[1] + items[2]
    if family in LIBM:
        return float(getattr(math, family)(*items))
    return {"fabs": abs, "sqrt": math.sqrt, "floor": math.floor, "ceil": math.ceil, "maxnum": max, "minnum": min}[
        family
    ](*items)


def _overflow(machine: Interpreter, family: str, kind: str, name: str, a: int, b: int) -> Any:
    bits = machine.types.bits(kind)
    if family[0] == "s":
        a, b = signed(a, bits), signed(b, bits)
    exact = {"add": a + b, "sub": a - b, "mul": a * b}[family[1:]]
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if family[0] == "s" else (0, (1 << bits) - 1)
    if ".sat." in name:
        return min(max(exact, low), high) & ((1 << bits) - 1)
    return (exact & ((1 << bits) - 1), int(not low <= exact <= high))


def _masked(machine: Interpreter, vertex: int, name: str, arguments: list[Any], line: Line) -> Any:
    stores = name.startswith("masked.store")
    kind = arguments[0][0] if stores else re.sub(r"^(?:[a-z_]+ )*", "", line.body[: line.body.index(" @")])
    address = arguments[1 if stores else 0][1]
    mask = next(value for type, value, _, _ in arguments if re.fullmatch(r"<\d+ x i1>", type))
    element = machine.types.sequence(kind)[1]
    size = machine.types.stored(element)
    through = None if stores else list(arguments[-1][1])
    for lane, chosen in enumerate(mask):
        if chosen and stores:
            machine.writes(vertex, address + lane * size, machine.types.encode(arguments[0][1][lane], element))
        elif chosen and through is not None:
            through[lane] = machine.types.decode(machine.reads(vertex, address + lane * size, size), element)
    return None if through is None else tuple(through)


def _va_start(machine: Interpreter, frame: Frame, vertex: int, address: int) -> None:
    """Registers are saved in a block of 176 bytes, the rest of the arguments lies behind one another (System V ABI).

    What made an argument has written it there; a structure is a copy that the call made.
    """
    save = machine.stack = (machine.stack - 512) // 16 * 16
    area = save + 192
    general, real, over = 0, 0, 0
    for kind in frame.named:
        real += kind in FLOATS
        general += kind not in FLOATS
    start = (min(general, 6) * 8, 48 + min(real, 8) * 16)
    machine.forget(save, 176)
    for kind, value, maker in frame.rest:
        if kind.startswith("copy "):
            data = machine.peek(value, -(-int(kind[5:]) // 8) * 8)
            maker = machine.writers[value]  # the call
        else:
            data = machine.types.encode(value, kind).ljust(8, b"\0")
        if kind in FLOATS and real < 8:
            place = save + 48 + 16 * real
            real += 1
        elif len(data) > 8 and kind == "i128" and general < 5:
            place = save + 8 * general
            general += 2
        elif len(data) == 8 and not kind.startswith("copy ") and kind not in FLOATS and general < 6:
            place = save + 8 * general
            general += 1
        else:
            over = -(-over // 16) * 16 if kind == "i128" else over
            place = area + over
            over += len(data)
        machine.forget(place, len(data))
        machine.poke(place, data)
        if maker is not None:
            machine.writers |= dict.fromkeys(range(place, place + len(data)), maker)
    frame.passed = save, start[0], start[1], area, area + over
    machine.writes(
        vertex,
        address,
        start[0].to_bytes(4, "little")
        + start[1].to_bytes(4, "little")
        + area.to_bytes(8, "little")
        + save.to_bytes(8, "little"),
    )
