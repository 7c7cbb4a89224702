"""Numba functions as programs: the LLVM of the kernel, and a `main` that calls it on a copy of its arguments.

The kernel is compiled afresh with Numba's own front end, without vector code and without the wrappers for Python; what
it calls comes as Numba has compiled it. `main` maps a file with the arguments into memory, so that the kernel runs on
arrays that alias as the user's do, and leaves its results there. Nothing of the caller's is changed.
"""

from __future__ import annotations

import re
import struct
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.errors import ArgumentError, SourceError, UnsupportedError
from tracecut.support.memory_amounts import size

from .clang import Flags, to_ir

LIGHT = {"opt": 1, "loop_vectorize": False, "slp_vectorize": False}
FROZEN = 1 << 24  # bytes of a global array that becomes part of the module
_MANGLED = re.compile(r'c"[^"]*"|(_ZN[\w$]+)')
SLOT = 16  # bytes of the file for each leaf of the arguments
ALIGN = 64
RESULT_BYTES = 4096
_C_TYPES = {
    "i1": ("_Bool", "?"),
    "i8": ("int8_t", "b"),
    "i16": ("int16_t", "h"),
    "i32": ("int32_t", "i"),
    "i64": ("int64_t", "q"),
    "float": ("float", "f"),
    "double": ("double", "d"),
}


@dataclass(frozen=True, eq=False)
class NumbaProgram:
    """A kernel with its arguments as a program.

    Attributes:
        texts: its modules as textual IR. kernel: name of the function in them. argv: what to run it with.
        around: names of the functions that call the kernel.
        result: type of what it returns. places: offsets in the file of the arrays, in the order of the arguments.
    """

    texts: tuple[str, ...]
    kernel: str
    argv: tuple[str, ...]
    around: frozenset[str]
    result: npt.DTypeLike | None
    places: tuple[tuple[int, npt.NDArray[Any]], ...]

    def arrays(self) -> list[npt.NDArray[Any]]:
        """The array arguments as the run has left them."""
        data = Path(self.argv[0]).read_bytes()
        return [np.ndarray(like.shape, like.dtype, data, place, like.strides) for place, like in self.places]

    def returned(self) -> Any:
        """The number that the kernel returned; None for what is no number."""
        if self.result is None:
            return None
        return np.frombuffer(Path(self.argv[0]).read_bytes(), self.result, 1, 0)[0]


def is_numba(function: object) -> bool:
    """Whether this is a function that Numba compiles for the processor. Imports nothing."""
    return hasattr(function, "py_func") and hasattr(function, "targetdescr") and hasattr(function, "targetoptions")


def numba_program(function: Any, arguments: Sequence[Any], folder: Path, *, opt: str = "O1") -> NumbaProgram:
    """Compile a Numba function for these arguments, and write them to a file in `folder`.

    Args:
        function: what `numba.njit` made. arguments: NumPy arrays, numbers, booleans, and tuples of them.
        opt: `O1`, with Numba's first round of optimisation; `seed`, without any.

    Raises ArgumentError (not such a function, arguments that it does not take), UnsupportedError (types that have no
    plain form in memory, `parallel=True`) and SourceError (it does not compile).
    """
    if not is_numba(function):
        raise ArgumentError(f"{function!r} is not a Numba function", hint="Decorate it with numba.njit.")
    if function.targetoptions.get("parallel"):
        raise UnsupportedError(
            f"{function.__name__} is compiled with parallel=True, whose threads belong to Numba's run time",
            hint="Trace numba.njit(function.py_func), which runs on one thread.",
        )
    count = function.py_func.__code__.co_argcount
    if len(arguments) != count:
        raise ArgumentError(f"{function.__name__} takes {count} arguments, {len(arguments)} were given")
    leaves: list[Any] = []
    arrays: list[npt.NDArray[Any]] = []
    for place, argument in enumerate(arguments):
        _flatten(argument, leaves, arrays, f"argument {place + 1} of {function.__name__}")
    text, name, types, result = _compile(function, tuple(arguments), opt)
    if len(leaves) != len(types) or any(kind not in _C_TYPES and kind != "ptr" for kind in types):
        raise UnsupportedError(f"the arguments of {function.__name__} have no C representation: {', '.join(types)}")
    head = RESULT_BYTES + SLOT * len(leaves)
    body, offsets = _blocks(arrays, head)
    slots = b"".join(_slot(kind, leaf, offsets) for kind, leaf in zip(types, leaves, strict=True))
    data = folder / "arguments.bin"
    data.write_bytes(bytes(RESULT_BYTES) + slots + body)
    driver = folder / "driver.c"
    driver.write_text(_driver(name, types, text))
    main = to_ir(driver, Flags(), folder, canonical=True, opt=opt)
    places = tuple((offsets[place], array) for place, array in enumerate(arrays))
    return NumbaProgram((text, main), name, (str(data),), frozenset(("main", "call", "pointer")), result, places)


class _Whole:
    """Stands in for Numba's code generator where it makes its passes: loops stay as they are written.

    Unrolled, one iteration would be four or eight of the program's, and a short loop none at all.
    """

    def __init__(self, codegen: Any) -> None:
        self._machine = codegen._tm

    def _pass_builder(self, *, opt: int, loop_vectorize: bool, slp_vectorize: bool) -> Any:
        import llvmlite.binding as binding

        tuning = binding.create_pipeline_tuning_options(speed_level=opt)
        tuning.loop_vectorization, tuning.slp_vectorization = loop_vectorize, slp_vectorize
        tuning.loop_unrolling = tuning.loop_interleaving = False
        return binding.create_pass_builder(self._machine, tuning)


def _compile(function: Any, arguments: tuple[Any, ...], opt: str) -> tuple[str, str, list[str], npt.DTypeLike | None]:
    """(text of the kernel's library, its name, types of the flattened arguments, type of a returned number)."""
    from numba import typeof
    from numba.core import compiler, errors, types
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler_lock import global_compiler_lock

    class Plain(JITCodeLibrary):
        """A library that is optimised at most a little, and never turned into machine code."""

        def _optimize_functions(self, ll_module: Any) -> None:
            ll_module.data_layout = self._codegen._data_layout
            make: Any = type(self._codegen)
            for found in ll_module.functions if opt == "O1" else ():
                passes, builder = make._function_pass_manager(_Whole(self._codegen), **LIGHT)
                passes.run(found, builder)

        def _optimize_final_module(self) -> None:
            make: Any = type(self._codegen)
            for level in (0, 1) if opt == "O1" else ():
                options = {**LIGHT, "opt": level, "cost": "cheap"}
                passes, builder = make._module_pass_manager(_Whole(self._codegen), **options)
                passes.run(self._final_module, builder)

        def _finalize_final_module(self) -> None:
            """Numba would hand the module to its own engine here."""
            self._verify_declare_only_symbols()
            self._finalized = True

    target = function.targetdescr
    flags: Any = compiler.Flags()
    options = {**function.targetoptions, "debug": True}
    target.options.parse_as_flags(flags, options)
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    try:
        signature = tuple(typeof(argument) for argument in arguments)
        with global_compiler_lock, warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.NumbaDebugInfoWarning)  # a function without a file has no lines
            target.typing_context.refresh()
            target.target_context.refresh()
            context, foreign = _without_addresses(target.target_context)
            library = Plain(context.codegen(), function.__name__)
            made = compiler.compile_extra(
                target.typing_context,
                context,
                function.py_func,
                args=signature,
                return_type=None,
                flags=flags,
                locals={},
                library=library,
                pipeline_class=function._compiler.pipeline_class,
            )
            library.finalize()
    except errors.NumbaError as error:
        raise SourceError(
            f"{function.__name__} does not compile for these arguments", detail=str(error)[:2000]
        ) from error
    except ValueError as error:
        raise ArgumentError(f"the arguments of {function.__name__} have no type for Numba: {error}") from error
    text = str(made.library._final_module)
    packer = context.get_arg_packer(made.signature.args)
    kinds = ["ptr" if str(kind).endswith("*") else str(kind) for kind in packer.argument_types]
    result = made.signature.return_type
    number = np.dtype(str(result)) if isinstance(result, types.Number | types.Boolean) else None
    # Counting references is left to `numba_support.c`: Numba's own form of it has been through its code generator.
    text = re.sub(
        r"^define [^\n]*@(NRT_(?:inc|dec)ref)\(.*?\n\}\n", r"declare void @\1(ptr)\n", text, flags=re.M | re.S
    )
    text, names = _plain_names(text)
    foreign |= {"an object of a function that it calls"} if "@numba.dynamic.globals" in text else set()
    if foreign:
        raise UnsupportedError(
            f"{function.__name__} refers to something of this process by its address: {', '.join(sorted(foreign))}",
            hint="Give large or strided arrays as arguments, not as global variables.",
        )
    return text, names[made.fndesc.llvm_func_name], kinds, number


def _without_addresses(context: Any) -> tuple[Any, set[str]]:
    """A context of Numba that puts no address of this process into the code, and what it would have put there.

    Global arrays become data of the module. A function that is called is looked up by its type; the address of its
    dispatcher, which goes along, is never used.
    """
    foreign: set[str] = set()
    fresh = context.subtarget()
    frozen = context.subtarget(allow_dynamic_globals=False)

    def array(builder: Any, kind: Any, value: npt.NDArray[Any]) -> Any:
        if kind.layout in "CF" and value.nbytes <= FROZEN:
            return frozen.make_constant_array(builder, kind, value)
        foreign.add(f"a global array of {size(value.nbytes)}")
        return context.make_constant_array(builder, kind, value)

    def address(builder: Any, value: int, info: str) -> Any:
        if not info.endswith("Dispatcher"):
            foreign.add(info)
        from llvmlite import ir

        return ir.Constant(ir.IntType(8).as_pointer(), None)

    fresh.make_constant_array, fresh.add_dynamic_addr = array, address
    return fresh, foreign


def _plain_names(text: str) -> tuple[str, dict[str, str]]:
    """The module with `module.function` in the place of mangled names, which count all compilations of the process.

    Returns the text, and mangled → plain. Specialisations of one function are numbered in the order of the text. What
    the strings of the program say stays.
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for mangled in filter(None, dict.fromkeys(_MANGLED.findall(text))):
        parts, place = [], 3
        while found := re.compile(r"\d+").match(mangled, place):
            place = found.end() + int(found.group())
            parts.append(mangled[found.end() : place])
        base = ".".join(part for part in parts if part) or "numba"
        name, number = base, 1
        while name in taken:
            number += 1
            name = f"{base}.{number}"
        taken.add(name)
        names[mangled] = name
    return _MANGLED.sub(lambda found: names.get(found.group(1), found.group()), text), names


class _Pointer:
    """Leaf of an argument: the address of an array's first element."""

    def __init__(self, array: int) -> None:
        self.array = array


def _flatten(value: Any, leaves: list[Any], arrays: list[npt.NDArray[Any]], where: str) -> None:
    """Append the leaves of an argument in the order of Numba's calling convention."""
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject or value.dtype.byteorder == ">":
            raise UnsupportedError(f"{where} is an array of {value.dtype}, which has no C representation")
        leaves += [None, None, value.size, value.itemsize, _Pointer(len(arrays)), *value.shape, *value.strides]
        arrays.append(value)
    elif isinstance(value, complex | np.complexfloating):
        leaves += [value.real, value.imag]
    elif isinstance(value, bool | np.bool_ | int | np.integer | float | np.floating):
        leaves.append(value)
    elif isinstance(value, tuple):
        for item in value:
            _flatten(item, leaves, arrays, where)
    elif value is not None:
        raise UnsupportedError(
            f"{where} is of type {type(value).__name__}", hint="Give NumPy arrays, numbers, and tuples of them."
        )


def _blocks(arrays: Sequence[npt.NDArray[Any]], start: int) -> tuple[bytes, list[int]]:
    """The memory of the arrays, and the offset of each one's first element. Arrays that overlap share their bytes."""
    bounds = [np.lib.array_utils.byte_bounds(array) if array.size else (0, 0) for array in arrays]
    pieces: list[tuple[int, int]] = []
    for low, high in sorted(bound for bound in bounds if bound[1] > bound[0]):
        if pieces and low < pieces[-1][1]:
            pieces[-1] = pieces[-1][0], max(high, pieces[-1][1])
        else:
            pieces.append((low, high))
    body = bytearray(-start % ALIGN)
    at: dict[int, int] = {}
    import ctypes

    for low, high in pieces:
        body += bytes((low - len(body) - start) % ALIGN)  # the same place in a line of the cache
        at[low] = start + len(body)
        body += ctypes.string_at(low, high - low)
        body += bytes(ALIGN)
    offsets = []
    for array, (low, high) in zip(arrays, bounds, strict=True):
        home = next((first for first, end in pieces if first <= low and high <= end and high > low), None)
        offsets.append(start if home is None else at[home] + array.__array_interface__["data"][0] - home)
    return bytes(body) + bytes(ALIGN), offsets


def _slot(kind: str, leaf: Any, offsets: Sequence[int]) -> bytes:
    """One leaf as `main` reads it: a number, or the offset of what a pointer points to (−1: null)."""
    if kind == "ptr":
        return struct.pack("<q", offsets[leaf.array] if isinstance(leaf, _Pointer) else -1).ljust(SLOT, b"\0")
    value = leaf
    if kind[0] == "i" and kind != "i1":  # unsigned numbers have the same bits
        bits = int(kind[1:])
        value = (int(leaf) + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
    return struct.pack("<" + _C_TYPES[kind][1], value).ljust(SLOT, b"\0")


def _driver(name: str, types: Sequence[str], text: str) -> str:
    """Source of `main`. What the kernel would ask of Python becomes an error of the program, should it come to that."""
    parameters = ["void *", "void **", *("void *" if kind == "ptr" else _C_TYPES[kind][0] for kind in types)]
    words = ["memory", "&raised"]
    for place, kind in enumerate(types):
        at = RESULT_BYTES + SLOT * place
        words.append(f"pointer(memory, {at})" if kind == "ptr" else f"*({_C_TYPES[kind][0]} *)(memory + {at})")
    support = resources.files(__package__).joinpath("numba_support.c").read_text(encoding="utf-8")
    known = set(re.findall(r"^PLAIN .*?(\w+)\(", support, re.MULTILINE))
    asked = sorted(set(re.findall(r"^declare [^\n]*@((?:_?Py|numba_|NRT_)\w+)\(", text, re.MULTILINE)) - known)
    objects = sorted(set(re.findall(r"^@(_?Py\w+) = external ", text, re.MULTILINE)))
    return (
        f"{support}\n{''.join(f'MISSING({word})' + chr(10) for word in asked)}"
        f"{''.join(f'char {word}[64];' + chr(10) for word in objects)}"
        f'int32_t numba_kernel({", ".join(parameters)}) __asm__("{name}");\n'
        f"static int32_t call(char *memory) {{\n    void *raised = 0;\n"
        # Through a variable: what runs outside of the kernel must not swallow it.
        f"    int32_t (*volatile kernel)({', '.join(parameters)}) = numba_kernel;\n"
        f"    return kernel({', '.join(words)});\n}}\n"
    )
