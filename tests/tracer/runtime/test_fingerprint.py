"""Fingerprints of guarded memory: equal to a definition in plain numbers, and nothing that can be prepared agrees."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.tracer.runtime.binding import support
from tracecut.tracer.runtime.fingerprint_key import Secret

pytestmark = pytest.mark.quick

BLOCK = 2048
PRIME = 2**127 - 1
SECRETS = [Secret(bytes(32)), Secret(b"\xff" * 32), *(Secret(bytes(range(n, n + 32))) for n in (1, 99))]


def taken(data: bytes, secret: Secret) -> tuple[int, int]:
    array = np.frombuffer(data, np.uint8)
    return support().fingerprint(array.ctypes.data if array.size else 0, array.size, 1, 1, secret)


def reference(data: bytes, secret: Secret) -> tuple[int, int]:
    """VHASH's construction, word by word."""
    words = [int(word) for word in secret.words]
    point = (words[1] << 64 | words[0]) & (PRIME >> 1)
    total = 0
    for start in range(0, len(data), BLOCK):
        block = data[start : start + BLOCK]
        block += bytes(-len(block) % 16)
        numbers = struct.unpack(f"<{len(block) // 8}Q", block)
        added = [(number + key) % 2**64 for number, key in zip(numbers, words[2:], strict=False)]
        products = sum(a * b for a, b in zip(added[::2], added[1::2], strict=True)) % 2**128
        total = (total + products) * point % PRIME
    total = (total + len(data)) % PRIME
    return total % 2**64, total >> 64


@settings(max_examples=150, deadline=None)
@given(
    size=st.one_of(st.integers(0, 300), st.sampled_from([2047, 2048, 2049, 4096, 5000, 9000])),
    fill=st.sampled_from(["random", "zeros", "ones"]),
    seed=st.integers(0, 99),
    secret=st.one_of(st.sampled_from(SECRETS), st.binary(min_size=32, max_size=32).map(Secret)),
)
def test_it_is_what_its_definition_says(size: int, fill: str, seed: int, secret: Secret) -> None:
    random = np.random.default_rng(seed).bytes(size)
    data = {"random": random, "zeros": bytes(size), "ones": b"\xff" * size}[fill]
    assert taken(data, secret) == reference(data, secret)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 8, 12, 16, 40])
@pytest.mark.parametrize("gap", [1, 4, 64])
@pytest.mark.parametrize("count", [1, 2, 500, 3000])
def test_fields_are_their_bytes_in_order(width: int, gap: int, count: int) -> None:
    stride = width + gap
    room = np.random.default_rng(width).integers(0, 256, stride * count).astype(np.uint8)
    parts = [room[place : place + width].tobytes() for place in range(0, room.size, stride)]
    step = BLOCK // width * width  # a block of fields holds whole ones
    whole = b"".join(parts)
    found = support().fingerprint(room.ctypes.data, count, stride, width, SECRETS[2])
    if step == BLOCK:
        assert found == reference(whole, SECRETS[2])
    for place in {0, count // 2, count - 1}:
        for byte in (0, width - 1):
            room[place * stride + byte] ^= 0x40
            assert support().fingerprint(room.ctypes.data, count, stride, width, SECRETS[2]) != found
            room[place * stride + byte] ^= 0x40
        room[place * stride + width] ^= 0x40  # between the fields
        assert support().fingerprint(room.ctypes.data, count, stride, width, SECRETS[2]) == found


@pytest.mark.parametrize("width", [BLOCK, BLOCK + 1, 5000])
@pytest.mark.parametrize("count", [1, 3])
def test_fields_that_are_wider_than_a_block(width: int, count: int) -> None:
    """Rows of a matrix of which each holds more than is read."""
    stride = width + 96
    room = np.random.default_rng(width).integers(0, 256, stride * count).astype(np.uint8)
    found = support().fingerprint(room.ctypes.data, count, stride, width, SECRETS[2])
    if count == 1 or width == BLOCK:
        parts = [room[place : place + width].tobytes() for place in range(0, room.size, stride)]
        assert found == reference(b"".join(parts), SECRETS[2])
    for byte in (0, BLOCK - 1, width - 1, (count - 1) * stride, (count - 1) * stride + width - 1):
        room[byte] ^= 0x40
        assert support().fingerprint(room.ctypes.data, count, stride, width, SECRETS[2]) != found
        room[byte] ^= 0x40
    room[width] ^= 0x40  # behind the first field
    assert support().fingerprint(room.ctypes.data, count, stride, width, SECRETS[2]) == found


def words(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}Q", *(number % 2**64 for number in numbers))


# Blocks that set the state of a well known hash to a constant whatever its key is: the words that its public constants
# cancel, in every order. The first one reset all four lanes of what stood here before.
PUBLIC = (0x8BB84B93962EACC9, 0x4B33A62ED433D4A3, 0x4D5A2DA51DE1AA47, 0xAEF17502108EF2D9, 0xA0761D6478BD642F)
PUBLIC += (0xE7037ED1A0B428DB, 0x8EBC6AF09C88C6E3, 0x589965CC75374CC3, 0x2D358DCCAA6C78A5, 0x9E3779B97F4A7C15)
RESETTING = words(0xAEF17502108EF2D9, 0x8BB84B93962EACC9, 0x4D5A2DA51DE1AA47, 0x4B33A62ED433D4A3)


def crafted() -> list[bytes]:
    blocks = [RESETTING, bytes(32), b"\xff" * 32, words(2**63, 2**63, 2**63, 2**63), words(1, 0, 2**64 - 1, 0)]
    for first, second in combinations(PUBLIC, 2):
        blocks += [words(first, second, first, second), words(second, second, -first, ~second)]
    return blocks


@pytest.mark.parametrize("secret", SECRETS)
def test_no_block_hides_what_stands_before_or_behind_it(secret: Secret) -> None:
    """Index arrays that differ only before a prepared block."""
    draw = np.random.default_rng(5)
    for block in crafted():
        for size in (32, 2048, 4096 + 64):
            one, other = draw.bytes(size), draw.bytes(size)
            assert taken(one + block, secret) != taken(other + block, secret)
            assert taken(block + one, secret) != taken(block + other, secret)
            assert taken(one + block + one, secret) != taken(other + block + one, secret)
            many = block * (BLOCK // 32 * 3)
            assert taken(one + many, secret) != taken(other + many, secret)


def test_another_secret_gives_another_fingerprint() -> None:
    for data in (bytes(64), b"\xff" * 2048, RESETTING * 100):
        assert len({taken(data, Secret.draw()) for _ in range(50)}) == 50


@pytest.mark.parametrize("size", [*range(1, 70), 100, 127, 128, 200, 255, 256, 300])
def test_every_bit_at_every_place_counts(size: int) -> None:
    """And no two of the changed inputs agree."""
    data = bytearray(np.random.default_rng(size).bytes(size))
    seen = {taken(bytes(data), SECRETS[3])}
    for place in range(size):
        for bit in range(8) if size < 70 else (0, 7):
            data[place] ^= 1 << bit
            seen.add(taken(bytes(data), SECRETS[3]))
            data[place] ^= 1 << bit
    assert len(seen) == 1 + size * (8 if size < 70 else 2)


@pytest.mark.parametrize("fill", [0, 0xFF])
def test_lengths_differ(fill: int) -> None:
    """Also where only filling is added, by less or more than what is read at once."""
    sizes = [*range(300), *range(2030, 2070), *range(4090, 4100)]
    assert len({taken(bytes([fill]) * size, SECRETS[0]) for size in sizes}) == len(sizes)


def swapped(parts: Sequence[bytes], first: int, second: int) -> bytes:
    found = list(parts)
    found[first], found[second] = found[second], found[first]
    return b"".join(found)


@pytest.mark.parametrize("unit", [1, 4, 8, 16, 32, 64, BLOCK])
def test_swapped_pieces_are_seen(unit: int) -> None:
    parts = [np.random.default_rng(n).bytes(unit) for n in range(3 * BLOCK // unit if unit < BLOCK else 5)]
    before = taken(b"".join(parts), SECRETS[2])
    pairs: npt.NDArray[np.int64] = np.random.default_rng(0).integers(0, len(parts), (200, 2))
    for first, second in pairs if len(parts) > 20 else combinations(range(len(parts)), 2):
        if parts[first] != parts[second]:
            assert taken(swapped(parts, first, second), SECRETS[2]) != before
    assert taken(b"".join(parts[::-1]), SECRETS[2]) != before
    assert taken(b"".join(parts[1:] + parts[:1]), SECRETS[2]) != before


def test_sums_and_differences_that_cancel_are_seen() -> None:
    """What leaves a plain sum, an exclusive or, or a sum of products without a secret as it was."""
    cases = {
        (low, high, change, other)
        for low, high in ((0, 1), (0, 2), (1, 3), (0, 256), (2, 258), (0, 511))
        for change in (1, 2**32, 2**63, 2**64 - 1)
        for other in (change, 2**64 - change)
    }
    seen = set()
    for low, high, change, other in cases:
        data = np.zeros(512, np.uint64)
        data[low], data[high] = change, other
        seen.add(taken(data.tobytes(), SECRETS[2]))
    assert len(seen) == len(cases)


def test_the_output_is_spread_evenly() -> None:
    """A flipped bit of the input turns half of the output's bits, on average."""
    draw = np.random.default_rng(8)
    turned = []
    for _ in range(400):
        data, secret = bytearray(draw.bytes(64)), Secret(draw.bytes(32))
        low, high = taken(bytes(data), secret)
        data[int(draw.integers(64))] ^= 1 << int(draw.integers(8))
        other, upper = taken(bytes(data), secret)
        turned.append(((low ^ other) | (high ^ upper) << 64).bit_count())
    assert 60 < np.mean(turned) < 67


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_secret_has_its_length(size: int) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Secret(bytes(size))


def test_secrets_are_drawn() -> None:
    assert len({Secret.draw().seed for _ in range(20)}) == 20
