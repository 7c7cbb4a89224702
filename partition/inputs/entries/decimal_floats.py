"""Decimal numbers to the nearest float64, in compiled code (Mushtak and Lemire 2023).

A number is a whole number of at most 19 digits times a power of ten. The power, rounded to 128 bits, is in a table;
the upper bits of its product with the whole number are those of the nearest float64, ties to even.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.lazy_kernels import kept

LEAST, MOST = -342, 308  # powers of ten below which every number is 0, and above which it is infinite
_ONE, _HALF = np.uint64(1), np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_MASK = np.uint64(0x1FF)  # bits of the upper word that do not go into the result
_INFINITE = np.uint64(0x7FF0000000000000)
EXACT = np.array([10.0**power for power in range(23)])  # powers of ten that a float64 holds


def _powers() -> npt.NDArray[np.uint64]:
    """(651, 2): the upper and lower words of 5**power, scaled to 128 bits; negative powers are rounded up."""
    rows = []
    for power in range(LEAST, MOST + 1):
        if power >= 0:
            five: int = 5**power
            shift = 128 - five.bit_length()
            scaled = five << shift if shift >= 0 else five >> -shift
        else:
            divisor: int = 5**-power
            scaled = (1 << (divisor.bit_length() + 127)) // divisor + 1
            scaled >>= max(0, scaled.bit_length() - 128)
        rows.append((scaled >> 64, scaled & (2**64 - 1)))
    return np.array(rows, np.uint64)


POWERS = _powers()


@kept
def _product(a: Any, b: Any) -> Any:
    """The upper and lower words of a × b, all uint64."""
    a0, a1, b0, b1 = a & _LOW, a >> _HALF, b & _LOW, b >> _HALF
    low, mid, other, high = a0 * b0, a1 * b0, a0 * b1, a1 * b1
    middle = (low >> _HALF) + (mid & _LOW) + (other & _LOW)
    return high + (mid >> _HALF) + (other >> _HALF) + (middle >> _HALF), (low & _LOW) | (middle << _HALF)


@kept
def nearest_bits(digits: Any, power: Any, powers: Any) -> Any:
    """The bits of the float64 nearest to digits × 10**power; digits uint64, power int64, `POWERS`. O(1)."""
    if digits == np.uint64(0) or power < LEAST:
        return np.uint64(0)
    if power > MOST:
        return _INFINITE
    zeros = np.int64(0)
    for step in (32, 16, 8, 4, 2, 1):
        if digits >> np.uint64(64 - step) == np.uint64(0):
            digits <<= np.uint64(step)
            zeros += step
    high, low = _product(digits, powers[power - LEAST, 0])
    if high & _MASK == _MASK:
        more, _ = _product(digits, powers[power - LEAST, 1])
        low += more
        if low < more:
            high += _ONE
    upper = np.int64(high >> np.uint64(63))
    shift = np.uint64(upper + 9)
    bits = high >> shift
    exponent = ((np.int64(217706) * power) >> 16) + 63 + upper - zeros + 1023
    if exponent <= 0:  # a subnormal number, or none
        if exponent <= -63:
            return np.uint64(0)
        bits >>= np.uint64(1 - exponent)
        return (bits + (bits & _ONE)) >> _ONE  # of the smallest normal number, the next bit is the exponent
    if low <= _ONE and -4 <= power <= 23 and bits & np.uint64(3) == _ONE and bits << shift == high:
        bits &= ~_ONE  # half between two numbers: to the even one
    bits = (bits + (bits & _ONE)) >> _ONE
    if bits >= np.uint64(1 << 53):
        bits = np.uint64(1 << 52)
        exponent += 1
    if exponent >= 2047:
        return _INFINITE
    return (bits & np.uint64((1 << 52) - 1)) | (np.uint64(exponent) << np.uint64(52))
