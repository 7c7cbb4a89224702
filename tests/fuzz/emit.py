"""Kernels as a C program: declarations, the kernel, and a driver that prepares its data and calls it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .model import CODES, FILLS, REAL, Array, Kernel, indent

PRELUDE = Path(__file__).with_name("prelude.c").read_text(encoding="ascii")


def program(kernels: Sequence[Kernel]) -> tuple[str, tuple[int, ...]]:
    """The program, and the line on which each kernel's loop begins."""
    lines = PRELUDE.splitlines()
    places = []
    for kernel in kernels:
        lines += ["", f"/* {kernel.name}: {', '.join(kernel.features)} */", *declarations(kernel)]
        text = function(kernel)
        places.append(len(lines) + text.index(loop_start(kernel)) + 1)
        lines += [*text, "", *driver(kernel)]
    lines += ["", "int main(void)", "{", *(f"    drive_{kernel.number}();" for kernel in kernels), "    return 0;", "}"]
    return "\n".join(lines) + "\n", tuple(places)


def declarations(kernel: Kernel) -> list[str]:
    """What stands at file scope: scalars, index tables, records, static arrays, helpers."""
    number = kernel.number
    whole = [str(scalar.value) for scalar in kernel.scalars if isinstance(scalar.value, int)]
    lines = [f"int given_{number}[] = {{{', '.join(whole)}}};"] if whole else []
    for name in records(kernel):
        fields = [
            f"{array.type} {'*' * bool(array.rows)}{array.name};" for array in kernel.arrays if array.record == name
        ]
        lines.append(f"struct {name}_{number} {{ {' '.join(fields)} }};")
    for array in kernel.arrays:
        if isinstance(array.fill, tuple):
            name = array.name if array.storage == "const" else table_name(kernel, array)
            type = array.type if array.storage == "const" else "int"
            lines.append(f"static const {type} {name}[{array.length}] = {{{', '.join(map(str, array.fill))}}};")
        if array.storage == "global":
            lines.append(f"static {array.type} {array.name}[{array.length}];")
    if kernel.bundle and _fields(kernel):
        lines += [f"struct bundle_{number} {{", *(f"    {field};" for field in _fields(kernel)), "};"]
    return [*lines, *(line for text in kernel.helpers for line in text.splitlines())]


def function(kernel: Kernel) -> list[str]:
    """The kernel as it is meant to be."""
    loop = kernel.loop
    inside = [*kernel.before, *loop.before, *loop.head, *kernel.body, *loop.tail, *kernel.after]
    return [f"static void {kernel.name}({', '.join(parameters(kernel)) or 'void'})", *indent(["{", *inside, "}"])]


def loop_start(kernel: Kernel) -> str:
    """The first line of the loop, as it stands in `function`."""
    return indent([kernel.loop.head[0]], 1)[0]


def driver(kernel: Kernel) -> list[str]:
    """Prepares the data, calls the kernel, prints what there is afterwards."""
    setup, parts = prepare(kernel)
    call = f"{kernel.name}({', '.join(arguments(kernel, later=kernel.sweeps > 1))});"
    around = [*kernel.ahead, call, *kernel.between]
    if kernel.sweeps > 1:
        around = [f"for (int sweep = 0; sweep < {kernel.sweeps}; sweep++) {{", *around, "}"]
    rows = [array for array in kernel.arrays if array.rows == "allocated"]
    back = [f"for (int r_ = 0; r_ < {a.length}; r_++) {a.kept}[{_place(a)}] = *{a.outside('r_')};" for a in rows]
    shown = [*kernel.closing, *back, f"show({kernel.number}, parts, {parts});"]
    lines = [*setup, *kernel.opening, *around, *shown, *release(kernel)]
    return [f"APART void drive_{kernel.number}(void)", *indent(["{", *lines, "}"])]


def prepare(kernel: Kernel, *, slices: bool = False) -> tuple[list[str], int]:
    """Lines that declare and fill all data, `parts` describing them; how many parts there are.

    `slices`: rows are parts of one array each, which is all that the oracle looks at.
    """
    whole = [scalar for scalar in kernel.scalars if isinstance(scalar.value, int)]
    lines = [f"{s.type} {s.name} = ({s.type})given_{kernel.number}[{place}];" for place, s in enumerate(whole)]
    lines += [f"{s.type} {s.name} = {s.value!r};" for s in kernel.scalars if s not in whole]
    for name, length in records(kernel).items():
        lines.append(f"struct {name}_{kernel.number} *{name} = allocate({length} * sizeof *{name});")
    for array in kernel.arrays:
        if array.parent:
            lines.append(f"{array.type} *{array.name} = {array.parent} + {array.offset};")
        elif array.storage == "static":
            lines.append(f"static {array.type} {array.name}[{array.length}];")
        elif array.rows or (array.storage == "heap" and not array.record):
            lines.append(f"{array.type} *{array.kept} = allocate({array.length} * sizeof *{array.kept});")
        if array.rows and not array.record:
            lines.append(f"{array.type} **{array.name} = allocate({array.length} * sizeof *{array.name});")
    shown = [array for array in kernel.arrays if not array.parent and array.storage != "const"]
    lines += ["const struct part parts[] = {", *(f"{_part(kernel, array)}," for array in shown), "};"]
    for place, array in enumerate(shown):
        if isinstance(array.fill, tuple):
            lines.append(f"set(&parts[{place}], {table_name(kernel, array)});")
        elif array.fill != "zero":
            least, greatest = FILLS[array.fill]
            lines.append(f"fill(&parts[{place}], {kernel.number * 100 + place}, {least}, {greatest});")
    for array in kernel.arrays:
        lines += _rows(array, slices=slices or array.rows == "slices")
    if kernel.bundle and _fields(kernel):
        members = [f".{name} = {name}" for name in _bundled(kernel)]
        lines.append(f"struct bundle_{kernel.number} m = {{{', '.join(members)}}};")
    return lines, len(shown)


def _rows(array: Array, *, slices: bool) -> list[str]:
    """Lines that make the rows of an array, in another order than that of the pointers."""
    if not array.rows:
        return []
    here, last, place = array.outside("r_"), array.length - 1, _place(array)
    row = f"&{array.kept}[{place}]" if slices else f"allocate((size_t)({array.width} + r_ % 2) * sizeof *{array.kept})"
    fill = [] if slices else [f"for (int r_ = 0; r_ < {array.length}; r_++) *{here} = {array.kept}[{place}];"]
    lines = [f"for (int r_ = {last}; r_ >= 0; r_--) {here} = {row};", *fill]
    if array.shared:
        lines.append(f"{array.outside(str(array.length // 2))} = {array.outside(str(array.length // 3))};")
    return lines


def _place(array: Array) -> str:
    """The element that pointer `r_` leads to."""
    return "r_" if isinstance(array.fill, tuple) else f"{array.length - 1} - r_"


def release(kernel: Kernel) -> list[str]:
    owned = [a.name for a in kernel.arrays if a.storage == "heap" and not a.record and not a.parent]
    owned += [array.kept for array in kernel.arrays if array.rows]
    return [f"free({name});" for name in (*records(kernel), *owned)]


def parameters(kernel: Kernel) -> list[str]:
    if kernel.bundle:
        return [f"const struct bundle_{kernel.number} *m"] if _fields(kernel) else []
    return _fields(kernel)


def arguments(kernel: Kernel, *, later: bool = False) -> list[str]:
    if kernel.bundle:
        return ["&m"] if _fields(kernel) else []
    names = {scalar.name: scalar.later for scalar in kernel.scalars if scalar.later and later}
    return [names.get(name, name) for name in _bundled(kernel)]


def records(kernel: Kernel) -> dict[str, int]:
    """Name of each array of records, and its length."""
    return {array.record: array.length for array in kernel.arrays if array.record}


def table_name(kernel: Kernel, array: Array) -> str:
    return f"{array.name.removesuffix(f'_{kernel.number}')}_values_{kernel.number}"


def _handed(kernel: Kernel) -> list[Array]:
    return [array for array in kernel.arrays if array.passed and not array.by_name and not array.record]


def _bundled(kernel: Kernel) -> list[str]:
    """Names of what the kernel is given."""
    return [*records(kernel), *(array.name for array in _handed(kernel)), *(s.name for s in kernel.scalars)]


def _fields(kernel: Kernel) -> list[str]:
    """Declarations of what the kernel is given."""
    found = [f"struct {name}_{kernel.number} *{name}" for name in records(kernel)]
    for array in _handed(kernel):
        constant = "" if array.written or kernel.bundle or array.rows else "const "
        found.append(f"{constant}{array.type} *{'*' * bool(array.rows)}{array.name}")
    return found + [f"{scalar.type} {scalar.name}" for scalar in kernel.scalars]


def _part(kernel: Kernel, array: Array) -> str:
    if array.record and not array.rows:
        return f"{{&{array.record}->{array.name}, sizeof *{array.record}, {array.length}, '{CODES[array.type]}'}}"
    return f"{{{array.kept}, sizeof *{array.kept}, {array.length}, '{CODES[array.type]}'}}"


def rounding(kernel: Kernel) -> bool:
    """Whether results are compared up to rounding."""
    return kernel.float_reduction and any(array.type in REAL for array in kernel.arrays)
