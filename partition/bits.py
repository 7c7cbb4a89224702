"""Two machine instructions that Numba has no function for: count trailing zeros, and prefetch."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

BYTE, WORD, LONG = ir.IntType(8), ir.IntType(32), ir.IntType(64)


def _lowest_bit(typing: Any, bits: Any) -> Any:
    """Index of the lowest bit set in a uint64 other than 0, as uint64."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), emit


def _prefetch_row(typing: Any, array: Any, row: Any, line: Any) -> Any:
    """Ask for cache line `line` of row `row` of a C-contiguous matrix; a hint that changes no value, never a fault."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        matrix = context.make_array(signature.args[0])(context, builder, arguments[0])
        begin = builder.mul(arguments[1], builder.extract_value(matrix.strides, 0))
        begin = builder.add(begin, builder.mul(arguments[2], ir.Constant(LONG, 64)))
        place = builder.gep(builder.bitcast(matrix.data, BYTE.as_pointer()), [begin], source_etype=BYTE)
        kind = ir.FunctionType(ir.VoidType(), [BYTE.as_pointer(), WORD, WORD, WORD])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        to_write, keep, data = (ir.Constant(WORD, value) for value in (1, 3, 1))
        builder.call(function, [place, to_write, keep, data])
        return context.get_dummy_value()

    return types.void(array, types.uint64, types.uint64), emit


lowest_bit: Any = intrinsic(_lowest_bit)
prefetch_row: Any = intrinsic(_prefetch_row)
