"""`keep_sectors` of the cache simulator for sets of sixteen ways, at once instead of way after way.

A random access to a large cache goes through all ways of a set, a cycle or more each; as one vector that is a third.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

WIDE = 16
_WORD = ir.IntType(64)
_WORDS = ir.VectorType(_WORD, WIDE)
_INDEX = ir.IntType(32)
_UP_TO = [_WORD(-1)] * WIDE + [_WORD(0)] * WIDE


def _keep_wide(context: Any, tags: Any, first: Any, line: Any, flags: Any) -> Any:
    """`keep_sectors(tags, first, 16, line, flags)`, all int64; the set lies within the array, which is not checked."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, begin, number, bits = arguments
        data = context.make_array(signature.args[0])(context, builder, array).data
        place = builder.gep(data, [begin])
        whole = builder.bitcast(place, _WORDS.as_pointer())
        ways = builder.load(whole, align=8)
        same = builder.icmp_signed("==", builder.ashr(ways, _WORDS([8] * WIDE)), _splat(builder, number))
        mask = builder.bitcast(same, ir.IntType(WIDE))
        found = builder.icmp_unsigned("!=", mask, mask.type(0))
        last = builder.or_(mask, mask.type(1 << (WIDE - 1)))  # none: the least recent one gives way
        way = builder.zext(builder.cttz(last, ir.IntType(1)(1)), _WORD)
        before = builder.load(builder.gep(place, [way]))
        had = builder.select(found, builder.and_(before, _WORD(255)), _WORD(0))
        word = builder.or_(builder.shl(number, _WORD(8)), builder.or_(bits, had))
        front = builder.insert_element(ir.Constant(_WORDS, ir.Undefined), word, _INDEX(0))
        order = ir.Constant(ir.VectorType(_INDEX, WIDE), [WIDE, *range(WIDE - 1)])
        moved = builder.shuffle_vector(ways, front, order)
        # Ways up to the one found change places: a mask from a table, since a `select` becomes masked stores, which
        # take long on some processors.
        table = cgutils.global_constant(builder, "ways_up_to", ir.Constant(ir.ArrayType(_WORD, 2 * WIDE), _UP_TO))
        there = builder.gep(table, [_WORD(0), builder.sub(_WORD(WIDE - 1), way)])
        up_to = builder.load(builder.bitcast(there, _WORDS.as_pointer()), align=8)
        change = builder.and_(builder.xor(ways, moved), up_to)
        builder.store(builder.xor(ways, change), whole, align=8)
        return before

    return types.int64(tags, types.int64, types.int64, types.int64), generate


def _splat(builder: Any, value: Any) -> Any:
    one = builder.insert_element(ir.Constant(_WORDS, ir.Undefined), value, _INDEX(0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(_INDEX, WIDE), [0] * WIDE))


keep_wide: Any = intrinsic(_keep_wide)
