"""Asking the host for an element of an array before it is needed."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _prefetch(context: Any, array: Any, index: Any) -> Any:
    """Begin to load the cache line of array[index], which is about to be changed; index is not checked."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.bitcast(builder.gep(data, [arguments[1]]), cgutils.voidptr_t)
        flag = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, flag, flag, flag])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [place, flag(1), flag(3), flag(1)])
        return context.get_dummy_value()

    return types.none(array, types.int64), generate


prefetch: Any = intrinsic(_prefetch)
