"""Machine instructions that Numba has no function for: trailing zeros, prefetch, the minimum of masked lanes."""

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


def _least_masked(typing: Any, keys: Any, base: Any, mask: Any) -> Any:
    """Smallest of the 64 uint64 keys from index `base` on whose bit in `mask` is set; the largest uint64 for none.

    As vectors of 64 lanes: LLVM splits them into what the processor has, and masks the loads where it can.
    """

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        lanes = ir.VectorType(LONG, 64)
        place = builder.gep(array.data, [arguments[1]], source_etype=LONG)
        values = builder.load(builder.bitcast(place, lanes.as_pointer()), align=8, typ=lanes)
        chosen = builder.bitcast(arguments[2], ir.VectorType(ir.IntType(1), 64))
        left = builder.select(chosen, values, ir.Constant(lanes, [ir.Constant(LONG, -1)] * 64))
        kind = ir.FunctionType(LONG, [lanes])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.vector.reduce.umin.v64i64")
        return builder.call(function, [left])

    return types.uint64(keys, types.uint64, types.uint64), emit


least_masked: Any = intrinsic(_least_masked)
lowest_bit: Any = intrinsic(_lowest_bit)
prefetch_row: Any = intrinsic(_prefetch_row)
