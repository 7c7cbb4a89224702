"""Files of arrays: their bytes follow from their content, and what was damaged or made by others is refused."""

from __future__ import annotations

import io
import json
import os
import random
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tracecut.support.errors import ArtefactError
from tracecut.support.files import FORMAT_VERSION, read_arrays, write_arrays
from tracecut.support.npz_archive import CHECK_BYTES

pytestmark = pytest.mark.quick

ARRAYS = {
    "ids": np.arange(40, dtype=np.int32),
    "weights": np.linspace(0, 1, 12).reshape(3, 4),
    "none": np.zeros((0, 2), np.uint8),
    "flags": np.array([True, False]),
}
MEMBERS = {"ids": "int32", "weights": "float64", "none": "uint8", "flags": "bool", "extra?": "int64"}
META = {"name": "ü", "options": {"k": 4}}


@pytest.fixture
def artefact(tmp_path: Path) -> Path:
    return write_arrays(tmp_path / "artefact.npz", "test", ARRAYS, META)


def same(arrays: Mapping[str, np.ndarray[Any, Any]]) -> bool:
    return arrays.keys() == ARRAYS.keys() and all(
        arrays[name].dtype == ARRAYS[name].dtype and np.array_equal(arrays[name], ARRAYS[name]) for name in ARRAYS
    )


def npy(array: np.ndarray[Any, Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def archive(path: Path, members: list[tuple[str, bytes]], compression: int = zipfile.ZIP_STORED) -> Path:
    """A zip file by hand; it may break every rule. Its check is right."""
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, data in members:
            file.writestr(name, data)
        file.comment = bytes(CHECK_BYTES)
        spans = [(info.header_offset, info.compress_size) for info in file.infolist()]
    return sealed(path, spans)


def sealed(path: Path, spans: list[tuple[int, int]]) -> Path:
    """Put the check of what lies around the members at the end. `spans`: where their heads begin, and their bytes."""
    data = path.read_bytes()
    around, place = b"", 0
    for start, size in sorted(spans):
        begin = start + 30 + int.from_bytes(data[start + 26 : start + 28], "little")
        begin += int.from_bytes(data[start + 28 : start + 30], "little")
        around, place = around + data[place:begin], begin + size
    around += data[place:-CHECK_BYTES]
    path.write_bytes(data[:-CHECK_BYTES] + f"{zlib.crc32(around):08x}".encode())
    return path


def header(**changes: Any) -> bytes:
    return json.dumps({"format": FORMAT_VERSION, "kind": "test", **changes}).encode()


def test_bytes_of_an_artefact_depend_on_its_content_alone(tmp_path: Path, artefact: Path) -> None:
    again = write_arrays(tmp_path / "again", "test", dict(reversed(ARRAYS.items())), dict(reversed(META.items())))
    assert again.read_bytes() == artefact.read_bytes()


def test_what_is_not_an_array_of_numbers_is_refused_and_the_old_file_kept(artefact: Path) -> None:
    before = artefact.read_bytes()
    for arrays, meta in (({"a": np.array([None])}, {}), ({}, {"x": float("nan")})):
        with pytest.raises(ValueError, match=r"allow_pickle|not JSON compliant"):
            write_arrays(artefact, "test", arrays, meta)
    assert artefact.read_bytes() == before
    assert os.listdir(artefact.parent) == [artefact.name]  # noqa: PTH208 - names are compared


class TestReading:
    def test_round_trip(self, artefact: Path) -> None:
        arrays, meta = read_arrays(artefact, "test", MEMBERS)
        assert same(arrays)
        assert {key: meta[key] for key in META} == META
        assert all(array.flags.writeable and array.flags.c_contiguous for array in arrays.values())

    def test_truncated_anywhere(self, artefact: Path) -> None:
        data = artefact.read_bytes()
        for length in range(len(data)):
            artefact.write_bytes(data[:length])
            with pytest.raises(ArtefactError, match=r"artefact\.npz"):
                read_arrays(artefact, "test", MEMBERS)

    @pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
    def test_every_flipped_bit_is_noticed(self, artefact: Path, compression: int) -> None:
        with zipfile.ZipFile(artefact) as file:
            members = [(name, file.read(name)) for name in file.namelist()]
        data = archive(artefact, members, compression).read_bytes()
        assert same(read_arrays(artefact, "test", MEMBERS)[0])
        for place in range(len(data)):
            for bits in (1 << place % 8, 255, 32):
                damaged = bytearray(data)
                damaged[place] ^= bits
                artefact.write_bytes(damaged)
                try:  # compressed data ends with bits that mean nothing; we write none
                    arrays = read_arrays(artefact, "test", MEMBERS)[0]
                    assert compression == zipfile.ZIP_DEFLATED and same(arrays)
                except ArtefactError as error:
                    assert "artefact.npz" in str(error)

    @pytest.mark.parametrize("bare", [False, True])
    def test_every_flipped_bit_of_our_own_files_is_noticed(self, tmp_path: Path, bare: bool) -> None:
        path = write_arrays(tmp_path / "own.npz", "test", ARRAYS, META, bare=bare)
        data = path.read_bytes()
        for place in range(len(data)):
            damaged = bytearray(data)
            damaged[place] ^= 1 << place % 8
            path.write_bytes(damaged)
            with pytest.raises(ArtefactError, match=r"own\.npz"):
                read_arrays(path, "test", MEMBERS)

    def test_bytes_before_between_and_behind_are_noticed(self, artefact: Path) -> None:
        data = artefact.read_bytes()
        second = data.index(b"PK\3\4", 4)
        for changed in (b"x" + data, data[:second] + b"\0" + data[second:], data + b"\0", data + data):
            artefact.write_bytes(changed)
            with pytest.raises(ArtefactError, match=r"artefact\.npz"):
                read_arrays(artefact, "test", MEMBERS)

    def test_numpy_and_zipfile_read_our_files(self, artefact: Path) -> None:
        with np.load(artefact) as members:
            assert all(np.array_equal(members[name], ARRAYS[name]) for name in ARRAYS)
        with zipfile.ZipFile(artefact) as file:
            assert file.testzip() is None and json.loads(file.read("meta.json"))["name"] == "ü"
            for name, array in ARRAYS.items():
                assert file.read(f"{name}.npy") == npy(array)

    def test_damaged_array_headers(self, tmp_path: Path) -> None:
        """The checksum is right here: only the header's own rules can tell."""
        good = npy(ARRAYS["ids"])
        pieces = [b"(", b"'''", b'"', b"\\", b"\n", b"0x", b"1e9", b"{", b"is", b"#", b"\0", b"L", b"-", b"\xff", b"9"]
        choose = random.Random(5)
        for _ in range(1_000):
            damaged = bytearray(good)
            place, piece = choose.randrange(70), choose.choice(pieces)
            damaged[place : place + len(piece)] = piece
            path = archive(tmp_path / "x", [("meta.json", header()), ("ids.npy", bytes(damaged))])
            try:
                assert read_arrays(path, "test", {"ids": "int32"})[0]["ids"].tolist() == list(range(40))
            except ArtefactError as error:
                assert str(path) in error.message

    @pytest.mark.parametrize(
        ("members", "message"),
        [
            ([], "no usable header"),
            ([("meta.json", b"{")], "not valid JSON"),
            ([("meta.json", b"[1]")], r"format \[1\]"),
            ([("meta.json", header(format=99))], f"format 99, this tracecut reads {FORMAT_VERSION}"),
            ([("meta.json", header(kind="other"))], "holds a 'other', a 'test' was expected"),
            ([("meta.json", header())], "lacks the member 'ids'"),
            ([("meta.json", header()), ("ids.npy", b"")], "no npy header"),
            ([("meta.json", header()), ("ids.npy", npy(ARRAYS["ids"])[:-1])], "declares shape"),
            ([("meta.json", header()), ("ids.npy", npy(ARRAYS["ids"]) + b"x")], "declares shape"),
            ([("meta.json", header()), ("ids.npy", npy(np.arange(3.0)))], "is '<f8', expected '<i4'"),
            ([("meta.json", header()), ("ids.npy", npy(np.arange(3, dtype=">i4")))], "is '>i4', expected '<i4'"),
            ([("meta.json", header()), ("ids.npy", npy(np.asfortranarray(np.ones((2, 2), "i4"))))], "in C order"),
            ([("meta.json", header()), ("ids.npy", npy(np.zeros(3, [("x", "i4")])))], "no npy header"),
            ([("meta.json", header()), ("ids.npy", npy(np.array([None])))], "is '|O', expected '<i4'"),
            ([("meta.json", header()), ("more.npy", npy(ARRAYS["ids"]))], "unexpected member 'more.npy'"),
            ([("meta.json", header()), ("../ids.npy", npy(ARRAYS["ids"]))], r"unexpected member '\.\./ids\.npy'"),
            ([("meta.json", header()), ("ids", npy(ARRAYS["ids"]))], "unexpected member 'ids'"),
            ([(f"{number}.npy", b"") for number in range(300)], "300 members"),
        ],
    )
    def test_broken_rules(self, tmp_path: Path, members: list[tuple[str, bytes]], message: str) -> None:
        path = archive(tmp_path / "x", members)
        with pytest.raises(ArtefactError, match=message.replace("|", r"\|")) as caught:
            read_arrays(path, "test", {"ids": "int32"})
        assert str(path) in caught.value.message

    def test_two_members_of_one_name(self, tmp_path: Path) -> None:
        with pytest.warns(UserWarning, match="Duplicate name"):
            path = archive(tmp_path / "x", [("meta.json", header()), ("a.npy", b"1"), ("a.npy", b"2")])
        with pytest.raises(ArtefactError, match=r"two members named 'a\.npy'"):
            read_arrays(path, "test", {"a": "int32"})

    def test_unknown_compression(self, tmp_path: Path) -> None:
        members = [("meta.json", header()), ("ids.npy", npy(ARRAYS["ids"]))]
        for compression in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
            with pytest.raises(ArtefactError, match="unknown compression"):
                read_arrays(archive(tmp_path / "x", members, compression), "test", {"ids": "int32"})

    def test_an_encrypted_member(self, tmp_path: Path) -> None:
        path = archive(tmp_path / "x", [("meta.json", header())])
        data = bytearray(path.read_bytes())
        data[data.rindex(b"PK\1\2") + 8] |= 1
        data[6] |= 1
        path.write_bytes(data)
        with pytest.raises(ArtefactError, match="encrypted"):
            read_arrays(path, "test", {})

    def test_files_of_others(self, tmp_path: Path) -> None:
        saved = tmp_path / "saved.npz"
        np.savez(saved, ids=ARRAYS["ids"])
        with pytest.raises(ArtefactError, match="no usable header"):
            read_arrays(saved, "test", {"ids": "int32"})
        for content in (b"", b"\x7fELF" + bytes(100), npy(ARRAYS["ids"]), b"PK\5\6" + bytes(17)):
            other = tmp_path / "other"
            other.write_bytes(content)
            with pytest.raises(ArtefactError, match="other"):
                read_arrays(other, "test", {"ids": "int32"})


def bomb_of_zeros(path: Path) -> Path:
    return archive(path, [("meta.json", header()), ("ids.npy", bytes(100_000_000))], zipfile.ZIP_DEFLATED)


def bomb_in_the_header(path: Path) -> Path:
    """A header that promises 4 GB and a directory that says the same, in a file of some hundred bytes."""
    size = 0xFFFF_FFF0
    start = io.BytesIO()
    np.lib.format.write_array_header_1_0(start, {"descr": "<i4", "fortran_order": False, "shape": ((size - 128) // 4,)})
    data = bytearray(archive(path, [("meta.json", header()), ("ids.npy", start.getvalue())]).read_bytes())
    struct.pack_into("<II", data, data.rindex(b"PK\1\2") + 20, size, size)
    path.write_bytes(data)
    return path


def bomb_in_json(path: Path) -> Path:
    return archive(path, [("meta.json", b'{"a":' * 200_000 + b"1" + b"}" * 200_000)])


@pytest.mark.parametrize("make", [bomb_of_zeros, bomb_in_the_header, bomb_in_json])
def test_bombs_cost_no_memory(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    path = make(tmp_path / "bomb")
    tracemalloc.start()
    try:
        with pytest.raises(ArtefactError, match=r"decompresses to more|more bytes than it has|not valid JSON"):
            read_arrays(path, "test", {"ids": "int32"})
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_the_limit_on_the_whole_is_named(artefact: Path) -> None:
    with pytest.raises(ArtefactError, match="more than the limit of 100") as caught:
        read_arrays(artefact, "test", MEMBERS, limit=100)
    assert "larger limit" in caught.value.hint
