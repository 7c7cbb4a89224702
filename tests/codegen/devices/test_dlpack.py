"""What other libraries hand over is read as it lies; what is no array of numbers is refused with its name."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tracecut.codegen.devices.dlpack import is_tensor, read_tensor
from tracecut.support.errors import ArgumentError

from .capsules import Producer

pytestmark = pytest.mark.quick

NUMBERS = st.sampled_from(["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"])


@given(arrays.arrays(NUMBERS, arrays.array_shapes(min_dims=0, min_side=0)), st.booleans())
def test_what_numpy_hands_over_is_read_as_it_lies(array: npt.NDArray[Any], turned: bool) -> None:
    array = array.T if turned else array
    tensor = read_tensor(array, "x")
    assert (tensor.dtype, tensor.shape, tensor.card, tensor.nbytes) == (array.dtype, array.shape, -1, array.nbytes)
    assert tensor.contiguous == array.flags.c_contiguous and tensor.writable
    if tensor.contiguous and array.size:
        assert tensor.place == array.ctypes.data and tensor.here().tobytes() == array.tobytes()


def test_what_is_written_arrives() -> None:
    array = np.arange(6.0).reshape(2, 3)
    read_tensor(array, "x").here()[1, 2] = 9
    assert array[1, 2] == 9


@pytest.mark.parametrize("major", [0, 1])
def test_old_and_new_libraries_are_understood(major: int) -> None:
    array = np.arange(10, dtype=np.int32)
    producer = Producer(array, major=major, offset=8)
    tensor = read_tensor(producer, "x")
    assert tensor.place == array.ctypes.data + 8
    assert producer.asked == ([{"max_version": (1, 0)}] if major else [{}])


def test_memory_is_kept_for_as_long_as_it_is_seen() -> None:
    array = np.arange(4.0)
    seen = read_tensor(array, "x").here()
    known = weakref.ref(array)
    del array
    gc.collect()
    assert known() is not None and seen.tolist() == [0, 1, 2, 3]
    del seen
    gc.collect()
    assert known() is None


def test_read_only_is_said() -> None:
    array = np.arange(4.0)
    array.flags.writeable = False
    tensor = read_tensor(array, "x")
    assert not tensor.writable and not tensor.here().flags.writeable


@pytest.mark.parametrize("device", [2, 13])
def test_memory_of_a_card_is_asked_for_in_the_order_of_its_stream(device: int) -> None:
    producer = Producer(np.zeros(3), (device, 1), place=1 << 45)
    tensor = read_tensor(producer, "x")
    assert (tensor.card, tensor.place, producer.asked[0]["stream"]) == (1, 1 << 45, 1)


REFUSED = [
    (Producer(np.zeros(3), (10, 0)), "x lies on a device of kind 10"),
    (Producer(np.zeros(3, complex)), r"x has a type that is none of NumPy's numbers \(DLPack: code 5, 128 bits"),
    (Producer(np.zeros(3), lanes=4), "64 bits, 4 lanes"),
    (Producer(np.zeros(3), bits=24), "24 bits"),
    (Producer(np.zeros(3), code=4), "code 4"),
    (Producer(np.zeros(3), major=2), "x is handed over by version 2 of DLPack, at most 1 is known"),
]


@pytest.mark.parametrize(("producer", "said"), REFUSED)
def test_what_is_no_array_of_numbers_is_refused(producer: Producer, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        read_tensor(producer, "x")


def test_what_a_library_raises_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(Producer):
        def __dlpack__(self, **asked: Any) -> Any:
            raise BufferError("it is on the moon")

    class Wrong(Producer):
        def __dlpack__(self, **asked: Any) -> Any:
            return 3

    with pytest.raises(ArgumentError, match="x cannot be handed over by DLPack") as caught:
        read_tensor(Failing(np.zeros(3)), "x")
    assert "on the moon" in caught.value.detail
    with pytest.raises(ArgumentError, match="x hands over int, a capsule of DLPack was expected"):
        read_tensor(Wrong(np.zeros(3)), "x")
    assert is_tensor(np.zeros(3)) and not is_tensor([0.0])
