"""Eight numbers at a time: what LLVM's vectoriser does not do for loops of a few turns over arrays that may overlap."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

LANES = 8


def _pointer(context: Any, builder: Any, kind: Any, array: Any, place: Any) -> Any:
    """Where eight entries of an array begin."""
    view = context.make_array(kind)(context, builder, array)
    entry = cgutils.get_item_pointer(context, builder, kind, view, [place], wraparound=False, boundscheck=False)
    return builder.bitcast(entry, ir.VectorType(context.get_data_type(kind.dtype), LANES).as_pointer())


def _splat(builder: Any, value: Any) -> Any:
    vector = ir.VectorType(value.type, LANES)
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), LANES), None))


def _put(typing: Any, out: Any, at: Any, table: Any, place: Any, add: Any) -> Any:
    """`out[at : at + 8] = table[place : place + 8] + add`, modulo their width, which has to be the same."""
    if out.dtype != table.dtype:
        raise TypingError(f"put: {table.dtype} numbers of the table do not go into an array of {out.dtype}")

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        width = context.get_data_type(kinds[2].dtype)
        source = builder.load(_pointer(context, builder, kinds[2], arguments[2], arguments[3]), align=width.width // 8)
        more = arguments[4] if kinds[4].bitwidth == width.width else builder.trunc(arguments[4], width)
        target = _pointer(context, builder, kinds[0], arguments[0], arguments[1])
        builder.store(builder.add(source, _splat(builder, more)), target, align=width.width // 8)
        return context.get_dummy_value()

    return types.void(out, types.intp, table, types.intp, types.int64), emit


def _fill(typing: Any, out: Any, at: Any, value: Any) -> Any:
    """`out[at : at + 8] = value`, modulo the width of `out`."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        width = context.get_data_type(kinds[0].dtype)
        short = arguments[2] if width.width == 64 else builder.trunc(arguments[2], width)
        target = _pointer(context, builder, kinds[0], arguments[0], arguments[1])
        builder.store(_splat(builder, short), target, align=width.width // 8)
        return context.get_dummy_value()

    return types.void(out, types.intp, types.int64), emit


put: Any = intrinsic(_put)
fill: Any = intrinsic(_fill)
