"""Writing is all or nothing, whatever fails; reading takes nothing on trust."""

from __future__ import annotations

import errno
import io
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pytest
from tracecut.ir.archive import CHECK_BYTES
from tracecut.ir.errors import ArtefactError, OutputError
from tracecut.ir.files import (
    FORMAT_VERSION,
    descriptor_of,
    is_folder,
    is_special,
    load_json,
    parse_json,
    read_arrays,
    write_arrays,
    write_atomic,
    write_json,
    write_text,
)

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


class TestWriting:
    def test_text_json_and_folders(self, tmp_path: Path) -> None:
        assert write_text(tmp_path / "a" / "b" / "text", "ü\n").read_bytes() == "ü\n".encode()
        assert json.loads(write_json(tmp_path / "json", {"x": [1, None]}).read_text()) == {"x": [1, None]}

    def test_mode_is_kept_or_follows_the_umask(self, tmp_path: Path) -> None:
        old = os.umask(0o027)
        try:
            fresh = write_text(tmp_path / "fresh", "1")
        finally:
            os.umask(old)
        assert fresh.stat().st_mode & 0o777 == 0o640
        fresh.chmod(0o604)
        assert write_text(fresh, "2").stat().st_mode & 0o777 == 0o604

    def test_a_link_at_the_target_is_replaced_and_not_followed(self, tmp_path: Path) -> None:
        victim = tmp_path / "victim"
        victim.write_text("kept")
        link = tmp_path / "link"
        link.symlink_to(victim)
        write_text(link, "new")
        assert (victim.read_text(), link.read_text(), link.is_symlink()) == ("kept", "new", False)

    def test_bytes_of_an_artefact_depend_on_its_content_alone(self, tmp_path: Path, artefact: Path) -> None:
        again = write_arrays(tmp_path / "again", "test", dict(reversed(ARRAYS.items())), dict(reversed(META.items())))
        assert again.read_bytes() == artefact.read_bytes()

    def test_what_is_not_an_array_of_numbers_is_refused_and_the_old_file_kept(self, artefact: Path) -> None:
        before = artefact.read_bytes()
        for arrays, meta in (({"a": np.array([None])}, {}), ({}, {"x": float("nan")})):
            with pytest.raises(ValueError, match=r"allow_pickle|not JSON compliant"):
                write_arrays(artefact, "test", arrays, meta)
        assert artefact.read_bytes() == before
        assert os.listdir(artefact.parent) == [artefact.name]  # noqa: PTH208 - names are compared


FAILURES = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EACCES, errno.EROFS)
SITES = ("tempfile.mkstemp", "os.fsync", "os.fchmod", "os.replace", "write", "partial write")


@pytest.mark.parametrize("number", FAILURES, ids=errno.errorcode.get)
@pytest.mark.parametrize("site", SITES)
def test_every_failing_step_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site: str, number: int
) -> None:
    target = tmp_path / "target"
    target.write_text("old")

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(number, os.strerror(number))

    def write(file: BinaryIO) -> None:
        file.write(b"n" if site == "partial write" else b"new" * 100_000)
        if site in ("write", "partial write"):
            fail()

    if site.startswith(("os.", "tempfile.")):
        monkeypatch.setattr(site, fail)
    with pytest.raises(OutputError) as caught:
        write_atomic(target, write)
    monkeypatch.undo()
    assert f"cannot write {target}: {os.strerror(number)}" in caught.value.message
    assert (" free)" in caught.value.message) == (number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_text(pipe, "labels\n")
        assert os.read(reader, 100) == b"labels\n"
    finally:
        os.close(reader)
    assert pipe.is_fifo() and list(tmp_path.iterdir()) == [pipe]


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="directory"):
        write_text(tmp_path, "labels\n")


@pytest.mark.parametrize("amount", [1, 100_000_000], ids=["at flush", "at write"])
def test_a_device_that_is_really_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, amount: int) -> None:
    target = tmp_path / "target"
    target.write_text("old")
    stray = tmp_path / "stray"

    def full(**_: Any) -> tuple[int, str]:
        stray.touch()
        return os.open("/dev/full", os.O_WRONLY), str(stray)

    monkeypatch.setattr(tempfile, "mkstemp", full)
    with pytest.raises(OutputError, match="No space left on device"):
        write_text(target, "x" * amount)
    assert target.read_text() == "old"
    assert not stray.exists()


def test_a_limit_on_file_sizes(tmp_path: Path) -> None:
    """The kernel cuts the write short in the middle; in a process of its own, since the limit can not be lifted."""
    code = """
import resource, sys
from tracecut.ir.errors import OutputError
from tracecut.ir.files import write_text
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try: write_text(sys.argv[1], "x" * 1_000_000)
except OutputError as error: print(error.message)
"""
    target = tmp_path / "target"
    target.write_text("old")
    done = subprocess.run([sys.executable, "-P", "-c", code, target], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"cannot write {target}: File too large (")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_places_that_can_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    (tmp_path / "folder").mkdir()
    for place in (tmp_path / "file" / "inner", tmp_path / "folder", Path("/proc/none/file"), tmp_path / ("n" * 300)):
        with pytest.raises(OutputError, match=f"cannot write {place}: "):
            write_text(place, "new")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder"]


def test_a_kill_at_any_moment_leaves_the_old_or_the_new_file(tmp_path: Path) -> None:
    """One process forks writers, kills each at a random moment and looks at the file that is left."""
    code = """
import os, random, signal, sys, time
from pathlib import Path
from tracecut.ir.files import write_text
target, choose = Path(sys.argv[1]), random.Random(7)
write_text(target, "0" * 1_000_000)
for _ in range(60):
    child = os.fork()
    if child == 0:
        while True:
            for letter in "abc": write_text(target, letter * 1_000_000, sync=False)
    time.sleep(choose.uniform(0.001, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    text = target.read_text()
    print(len(text), len(set(text)), text[0])
"""
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, tmp_path / "target"], capture_output=True, text=True, check=True
    )
    states = [line.split() for line in done.stdout.splitlines()]
    assert len(states) == 60
    assert {(length, letters) for length, letters, _ in states} == {("1000000", "1")}
    assert len({letter for *_, letter in states}) > 1, "no writer came far enough to be killed at its work"


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
        with pytest.raises(ArtefactError, match=r"inflates more|more bytes than it has|not valid JSON"):
            read_arrays(path, "test", {"ids": "int32"})
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_the_limit_on_the_whole_is_named(artefact: Path) -> None:
    with pytest.raises(ArtefactError, match="more than the limit of 100") as caught:
        read_arrays(artefact, "test", MEMBERS, limit=100)
    assert "larger limit" in caught.value.hint


class TestJson:
    @pytest.mark.parametrize(
        "text",
        [
            "",
            "{",
            "[1,]",
            '{"a": 1} x',
            '{"a": NaN}',
            "[-Infinity]",
            "[1e999]",
            '{"a": 1, "a": 2}',
            '{"x": {"a": 1, "a": 1}}',
            "[" * 100_000 + "]" * 100_000,
            "9" * 100_000,
            "'a'",
        ],
    )
    def test_refused(self, tmp_path: Path, text: str) -> None:
        path = tmp_path / "x.json"
        path.write_text(text)
        with pytest.raises(ArtefactError, match=r"x\.json is not valid JSON"):
            load_json(path)

    def test_bytes_that_are_no_text(self) -> None:
        with pytest.raises(ArtefactError, match="somewhere is not valid JSON"):
            parse_json(Path("somewhere"), b'{"\xff": 1}')

    def test_accepted(self, tmp_path: Path) -> None:
        value = {"a": [1, -2.5, 1e300, None, True, "ü"], "b": {"a": {}}}
        path = write_json(tmp_path / "x.json", value)
        assert load_json(path) == value

    def test_size_limit(self, tmp_path: Path) -> None:
        path = write_json(tmp_path / "x.json", ["x" * 100])
        with pytest.raises(ArtefactError, match="larger than 99 bytes"):
            load_json(path, limit=99)

    def test_not_a_number_is_not_written(self, tmp_path: Path) -> None:
        path = write_json(tmp_path / "x.json", 1)
        with pytest.raises(ValueError, match="not JSON compliant"):
            write_json(path, float("inf"))
        assert load_json(path) == 1


def test_a_descriptor_of_a_plain_file_is_written_to_and_stays(tmp_path: Path) -> None:
    """As `/dev/stdout` where output goes to a file: the link stays, and text comes behind what is there."""
    with open(tmp_path / "target", "wb") as target:
        link = tmp_path / "link"
        link.symlink_to(f"/proc/self/fd/{target.fileno()}")
        os.write(target.fileno(), b"before\n")
        for name in (link, Path(f"/dev/fd/{target.fileno()}")):
            assert descriptor_of(name) == target.fileno() and is_special(name)
            write_text(name, "labels\n")
        os.write(target.fileno(), b"after\n")
    assert (tmp_path / "target").read_text() == "before\nlabels\nlabels\nafter\n"
    assert link.is_symlink() and sorted(tmp_path.iterdir()) == [link, tmp_path / "target"]


def test_links_to_plain_files_are_no_descriptors(tmp_path: Path) -> None:
    (tmp_path / "target").touch()
    (tmp_path / "link").symlink_to("target")
    (tmp_path / "round").symlink_to("round")
    for name in ("target", "link", "round", "none", "x" * 5000):
        assert descriptor_of(tmp_path / name) is None and not is_special(tmp_path / name)
        assert not is_folder(tmp_path / name)
    assert is_folder(tmp_path) and is_special(tmp_path)


def test_a_name_that_no_file_can_have(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="File name too long"):
        write_text(tmp_path / ("x" * 300), "labels\n")
