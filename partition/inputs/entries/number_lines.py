"""Lines of numbers, parsed by compiled code: two ids a line and the same number of values on each, or any numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.support.lazy_kernels import kept

from .decimal_floats import EXACT, POWERS, nearest_bits
from .text_pieces import words_of

# Why a scan stopped; the Python side explains it with the line's text.
DONE, FEW, MANY, NO_ID, NO_VALUE, OUTSIDE, UNDECIDED = range(7)
LONGEST_WORD = 5000  # characters that Python's own conversion gets to see
# Unsigned like the places in the text: Numba makes floats of a mixture.
_TAB, _RETURN = np.uint8(9), np.uint8(13)
_NEW, _SPACE, _MINUS, _PLUS, _POINT, _ZERO, _NINE, _E = (np.uint8(code) for code in (10, 32, 45, 43, 46, 48, 9, 101))
_ONE, _TEN, _EIGHTEEN = np.uint64(1), np.uint64(10), np.uint64(18)
_NINETEEN, _WHOLE, _LARGEST, _SIGN = (np.uint64(n) for n in (10**18, 1 << 53, (1 << 63) - 1, 1 << 63))
_INFINITY, _NAN = np.frombuffer(b"infinity", np.uint8), np.frombuffer(b"nan", np.uint8)


@kept
def _word_end(text: Any, at: Any) -> Any:
    while text[at] > _SPACE:
        at += _ONE
    return at


@kept
def _start_of_word(text: Any, at: Any) -> Any:
    while text[at] == _SPACE or text[at] == _TAB or text[at] == _RETURN:
        at += _ONE
    return at


@kept
def _line_end(text: Any, at: Any) -> Any:
    while text[at] != _NEW:
        at += _ONE
    return at


@kept
def _digits(text: Any, at: Any, value: Any) -> tuple[Any, Any]:
    """`value` with the digits at `at` behind it, modulo 2**64, and the place behind them."""
    digit = np.uint8(text[at] - _ZERO)
    while digit <= _NINE:
        value = value * _TEN + np.uint64(digit)
        at += _ONE
        digit = np.uint8(text[at] - _ZERO)
    return value, at


@kept
def read_whole(text: Any, at: Any) -> tuple[Any, Any, bool]:
    """The whole number at `at`, the place behind it, and whether one that fits int64 stands there."""
    minus = text[at] == _MINUS
    at += np.uint64(minus or text[at] == _PLUS)
    start = at
    value, at = _digits(text, start, np.uint64(0))
    good = at > start and text[at] <= _SPACE
    if at - start > _EIGHTEEN:
        while text[start] == _ZERO:
            start += _ONE
        # Nineteen digits are below 2**64, so that `value` is exact.
        good &= at - start <= _EIGHTEEN + _ONE and value <= _LARGEST + np.uint64(minus)
    number = np.int64(value)
    return (-number if minus else number), at, good


@kept
def _is(text: Any, at: int, word: Any) -> bool:
    same = True
    for i in range(word.size):
        same &= (text[at + np.uint64(i)] | 32) == word[i]
    return same


@kept
def _named(text: Any, at: int, end: int) -> Any:
    """The bits of `inf`, `infinity` or `nan` in letters of any case; 0 for another word."""
    if end - at in (3, 8) and _is(text, at, _INFINITY[: end - at]):
        return np.uint64(0x7FF0000000000000)
    if end - at == 3 and _is(text, at, _NAN):
        return np.uint64(0x7FF8000000000000)
    return np.uint64(0)


@kept
def _long_digits(text: Any, at: Any, end: Any) -> tuple[Any, Any, bool]:
    """The first nineteen digits between two places, the power of ten to multiply by, and whether others are not 0."""
    digits, power, fraction, cut = np.uint64(0), np.int64(0), False, False
    while at < end:
        char = text[at]
        if char == _POINT:
            fraction = True
        elif digits < _NINETEEN:
            digits = digits * _TEN + np.uint64(char - _ZERO)
            power -= np.int64(fraction)
        else:
            cut |= char != _ZERO
            power += np.int64(not fraction)
        at += _ONE
    return digits, power, cut


@kept
def read_real(text: Any, at: Any, floats: Any, bits: Any, place: Any) -> tuple[Any, int]:
    """Parses the number at `at` into floats[place], of which `bits` is a view.

    Returns the place behind it, and DONE, NO_VALUE where no number stands there, or UNDECIDED where its digits after
    the nineteenth decide.
    """
    minus = text[at] == _MINUS
    at += np.uint64(minus or text[at] == _PLUS)
    start = at
    digits, at = _digits(text, at, np.uint64(0))
    seen, cut = at - start, False
    power: Any = np.int64(0)
    if text[at] == _POINT:
        point = at + _ONE
        digits, at = _digits(text, point, digits)
        power = -np.int64(at - point)
        seen += at - point
    if seen > _EIGHTEEN:
        digits, power, cut = _long_digits(text, start, at)
    if seen and text[at] | np.uint8(32) == _E:
        at += _ONE
        below = text[at] == _MINUS
        at += np.uint64(below or text[at] == _PLUS)
        first = at
        raised, at = _digits(text, first, np.uint64(0))
        if at == first:
            return at, NO_VALUE
        exponent = np.int64(raised) if at - first <= np.uint64(8) else np.int64(100_000_000)
        power += -exponent if below else exponent
    if not seen:
        at = _word_end(text, start)
        bits[place] = _named(text, start, at)
        if not bits[place]:
            return at, NO_VALUE
    elif digits <= _WHOLE and -22 <= power <= 22 and not cut:
        # Both are exact, and one operation rounds once.
        value = np.float64(digits)
        floats[place] = value / EXACT[-power] if power < 0 else value * EXACT[power]
    else:
        bits[place] = nearest_bits(digits, power, POWERS)
        if cut and nearest_bits(digits + _ONE, power, POWERS) != bits[place]:
            return at, UNDECIDED
    if minus:
        bits[place] ^= _SIGN
    return at, (DONE if text[at] <= _SPACE else NO_VALUE)


@kept
def _put_known(text: Any, at: Any, known: Any, floats: Any, place: Any) -> tuple[Any, int]:
    """The value of a word that `read_real` cannot decide, if it is known; as that."""
    for i in range(known.shape[0]):
        if known[i, 0] == at:
            floats[place] = known[i, 1]
            return _word_end(text, at), DONE
    return at, UNDECIDED


@kept
def lines_of(text: Any) -> int:
    """How many lines end in `text`, uint8."""
    count = 0
    for char in text:
        count += char == _NEW
    return count


@kept
def scan_entries(
    text: Any, rows: Any, columns: Any, floats: Any, kind: Any, shape: Any, comments: Any, known: Any, state: Any
) -> int:
    """Parses lines of two ids and `kind[0]` values; returns why it stopped, DONE at the end of `text`. O(bytes).

    text: uint8, whole lines, each with its end. rows, columns: integers, made from ids by subtracting shape[2], with
    room for all lines. floats: float64, one value after the other; bits of int64 instead if kind[1], which are at least
    0 if kind[2]. shape: int64, rows, columns and the first id. comments: uint8, characters that begin a line to skip.
    known: float64 (any, 2), where words start and their values, for words whose digits after the nineteenth decide.
    state: int64 (4), kept up to date so that a scan can go on: entries so far, lines so far, where the line starts,
    where the word starts.
    """
    bits, wholes = floats.view(np.uint64), floats.view(np.int64)
    count, lines, at = np.uint64(state[0]), state[1], np.uint64(state[2])
    values, first, size = np.uint64(kind[0]), shape[2], np.uint64(text.size)
    height, width, why = np.uint64(shape[0]), np.uint64(shape[1]), DONE
    while at < size:
        begin = at
        at = _start_of_word(text, at)
        skip = text[at] == _NEW
        for comment in comments:
            skip |= text[at] == comment
        if skip:
            at = _line_end(text, at) + _ONE
            lines += 1
            continue
        word = at
        row, at, good = read_whole(text, at)
        row -= first
        if not good or np.uint64(row) >= height:
            why = OUTSIDE if good else NO_ID
            break
        at = word = _start_of_word(text, at)
        column, at, good = read_whole(text, at)
        column -= first
        if not good or np.uint64(column) >= width:
            why = OUTSIDE if good else FEW if text[word] == _NEW else NO_ID
            break
        rows[count], columns[count] = row, column
        for place in range(count * values, (count + _ONE) * values):
            at = word = _start_of_word(text, at)
            if kind[1]:
                wholes[place], at, good = read_whole(text, at)
                why = DONE if good and not (kind[2] and wholes[place] < 0) else NO_VALUE
            else:
                at, why = read_real(text, at, floats, bits, place)
                if why == UNDECIDED:
                    at, why = _put_known(text, word, known, floats, place)
            if why != DONE:
                why = FEW if text[word] == _NEW else why
                break
        if why != DONE:
            break
        at = _start_of_word(text, at)
        if text[at] != _NEW:
            word, why = at, MANY
            break
        at += _ONE
        count += _ONE
        lines += 1
    state[0], state[1] = count, lines
    if why != DONE:
        state[2], state[3] = begin, word
    return why


@kept
def scan_numbers(text: Any, floats: Any, counts: Any, comment: Any, known: Any, state: Any) -> int:
    """Parses lines of any numbers: all of them into `floats`, how many each line has into `counts`. O(bytes).

    Lines that begin with `comment` have -1, empty ones 0. text, known, state: as for `scan_entries`, but state[0]
    counts numbers. Returns DONE, NO_VALUE or UNDECIDED.
    """
    bits = floats.view(np.uint64)
    count, line, at, size = np.uint64(state[0]), state[1], np.uint64(state[2]), np.uint64(text.size)
    while at < size:
        state[0], state[1], state[2] = count, line, at
        at = _start_of_word(text, at)
        counts[line] = 0
        if text[at] == comment:
            counts[line] = -1
            at = _line_end(text, at)
        while text[at] != _NEW:
            word = at
            at, why = read_real(text, at, floats, bits, count)
            if why == UNDECIDED:
                at, why = _put_known(text, word, known, floats, count)
            if why != DONE:
                state[3] = word
                return why
            count += _ONE
            counts[line] += 1
            at = _start_of_word(text, at)
        at += _ONE
        line += 1
    state[0], state[1] = count, line
    return DONE


def decided(piece: npt.NDArray[np.uint8], known: npt.NDArray[Any], state: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """`known` with the word at which a scan stopped as UNDECIDED, and without those before its line."""
    at = int(state[3])
    value = float(word_at(piece, at))
    return np.concatenate([known[known[:, 0] >= state[2]], [[at, value]]])


def line_at(piece: npt.NDArray[np.uint8], at: int) -> bytes:
    """The line that starts there, or its first LONGEST_WORD characters."""
    return piece[at : at + LONGEST_WORD].tobytes().split(b"\n", 1)[0]


def word_at(piece: npt.NDArray[np.uint8], at: int) -> bytes:
    """The word that starts there, empty at the end of a line."""
    return b"".join(words_of(line_at(piece, at))[:1])
