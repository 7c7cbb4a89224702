"""Machine files: what is written is read again, and what is wrong is named with its line and key."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tracecut.ir.machine.machine import Machine
from tracecut.ir.machine.toml_text import numbers_of, ranges_of
from tracecut.support.errors import ArtefactError

pytestmark = pytest.mark.quick
WORDS = (
    *("detect", "model", "mesh:8x8", "mesh:3x1", "torus:4x4", "uma:8", "tree:4x4x4", "tree:2x3@9,1", "cpu_gpu:24:2"),
    *("topo1:96:8:2", "topo2:96:8:3", "topo2:96:8:3:files", "topo3:4:1:4"),
)
GOOD = """
name = "small"
memory = "4 GiB"
[network]
kind = "mesh"
shape = [2, 2]
[[caches]]
level = 1
size = "64 KiB"
[[cores]]
cpu = 0
count = 4
node_step = 1
[[banks]]
node = 3
size = "1.5 MiB"
[[units]]
kind = "pair"
cores = "0-1"
[[units]]
kind = "pair"
cores = "2,3"
"""


@pytest.mark.parametrize("word", WORDS)
def test_a_file_gives_back_its_machine(word: str, tmp_path: Path) -> None:
    machine = Machine.named(word)
    path = machine.save(tmp_path / "machine.toml")
    assert Machine.load(path) == machine and Machine.named(str(path)) == machine
    assert len(path.read_text()) < 2000


def test_what_may_be_left_out(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(GOOD)
    machine = Machine.load(tmp_path / "m.toml")
    assert machine.memory == 4 << 30 and machine.caches[0].size == 64 << 10 and machine.banks[0].size == 3 << 19
    assert [core.node for core in machine.cores] == [0, 1, 2, 3] and machine.units[1].cores == (2, 3)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('name = "small"', "", "name is missing"),
        ('name = "small"', "name = 3", "line 2: name = 3: a text was expected"),
        ('"4 GiB"', '"4 potatoes"', "line 3: memory = '4 potatoes': a size"),
        ('"4 GiB"', "true", "line 3: memory = True"),
        ('"4 GiB"', "-5", "line 3: memory = -5"),
        ('"4 GiB"', '"4 GiB"\nclock = nan', "line 4: clock = nan: a finite number"),
        ('"4 GiB"', '"4 GiB"\nclock = inf', "line 4: clock = inf"),
        ('"4 GiB"', '"4 GiB"\nspeed = 3', "line 4: speed is not known; known are name, memory"),
        ('kind = "mesh"', 'kind = "ring"', "line 5: network.kind = 'ring'"),
        ("shape = [2, 2]", "shape = [2, -2]", "line 6: network.shape = "),
        ("shape = [2, 2]", "shape = [2, 2]\nbandwidth = 0", "line 7: network.bandwidth = 0"),
        ("shape = [2, 2]", "shape = [2, 2]\nwidth = 0", "line 7: network.width is not known"),
        ("shape = [2, 2]", "shape = [4000, 4000]", "line 6: .*16000000 nodes"),
        ("[[caches]]", "[caches]", "caches = .*: a list of tables"),
        ("cpu = 0\n", "", r"line 10: cores\[0\].cpu is missing"),
        ("count = 4", "count = 0", r"line 12: cores\[0\].count = 0"),
        ("count = 4", "count = 10000000", r"cores\[0\].count = 10000000: from 1 to"),
        ("count = 4", "count = 4\nspeed = 0", r"line 13: cores\[0\].speed = 0"),
        ("count = 4", "count = 5", r"line 10: cores\[4\].node = 4, the network has 4"),
        ("node = 3", "node = 4", r"line 15: banks\[0\].node = 4"),
        ('cores = "2,3"', 'cores = "3-2"', r"line 22: units\[1\].cores = '3-2'"),
        ('cores = "2,3"', 'cores = "1,2"', r"line 22: units\[1\].cores: core 1 lies in a unit before"),
        ('cores = "2,3"', 'cores = "2,3"\nparent = 1', r"line 23: units\[1\].parent = 1"),
        ('cores = "2,3"', 'cores = "2,3', "is no TOML"),
        ("level = 1", "level = 1\nlevel = 2", "is no TOML"),
        ('"64 KiB"', "32", r"line 9: caches\[0\].size = 32, less than a line"),
        ("level = 1", "level = 0", r"line 8: caches\[0\].level = 0"),
        ("[[banks]]", "[[cores]]\ncpu = 2\ncount = 4\n[[banks]]", r"line 15: cores\[4\].cpu = 2: cores\[2\] has that"),
        ("level = 1", "level = 1\nline = 48", r"line 9: caches\[0\].line = 48, a power of two"),
        ('"4 GiB"', '"999999999999999 TiB"', "line 3: memory = "),
        ('"4 GiB"', '"4 GiB"\nmshrs = 10000000', "line 4: mshrs = 10000000, at most"),
        ("shape = [2, 2]", "shape = [2, 2]\nhop_latency = 0", "line 7: network.hop_latency = 0"),
        ("[[banks]]", "[[cores]]\ncpu = 9\nspeed = -1\n[[banks]]", r"line 16: cores\[4\].speed = -1"),
        ('"1.5 MiB"', "0", r"line 16: banks\[0\].size = 0"),
        ('"1.5 MiB"', "5\nbandwidth = -1", r"line 17: banks\[0\].bandwidth = -1"),
    ],
)
def test_what_is_wrong_is_named(old: str, new: str, why: str, tmp_path: Path) -> None:
    assert old in GOOD
    (tmp_path / "m.toml").write_text(GOOD.replace(old, new, 1))
    with pytest.raises(ArtefactError, match=why) as caught:
        Machine.load(tmp_path / "m.toml")
    assert "m.toml" in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"\x00\xff\xfe", b"[" * 5000, b"[[cores]]\n" * 10])
def test_files_of_anything(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_bytes(content)
    with pytest.raises(ArtefactError, match=r"m\.toml"):
        Machine.load(tmp_path / "m.toml")


def test_a_byte_order_mark_and_windows_lines_are_read(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    (tmp_path / "n.toml").write_text(GOOD)
    assert Machine.load(tmp_path / "m.toml") == Machine.load(tmp_path / "n.toml")


def test_files_without_an_end_are_refused() -> None:
    with pytest.raises(ArtefactError, match="/dev/zero has more than"):
        Machine.named("/dev/zero")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match="directory"):
        Machine.load(tmp_path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, len(GOOD) - 1), st.integers(0, 30), st.text(max_size=6))
def test_damaged_text_is_refused_or_read(tmp_path: Path, at: int, length: int, put: str) -> None:
    (tmp_path / "m.toml").write_text(GOOD[:at] + put + GOOD[at + length :], encoding="utf-8", errors="surrogatepass")
    try:
        Machine.load(tmp_path / "m.toml").verify()
    except ArtefactError as error:
        assert "m.toml" in error.message


@given(st.sets(st.integers(0, 300)))
def test_ranges_of_numbers(numbers: set[int]) -> None:
    rising = tuple(sorted(numbers))
    assert (numbers_of(ranges_of(rising)) if rising else ()) == rising


@pytest.mark.parametrize("text", ["", "a", "1-", "-1", "3-1", "1,,2", "0-9999999"])
def test_what_is_no_range(text: str) -> None:
    assert numbers_of(text) is None
