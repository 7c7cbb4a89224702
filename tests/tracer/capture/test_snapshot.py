"""What a traced run leaves behind, written and read again; damage is named, with the file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tracecut.ir.loops.nest import NOWHERE, Site, Write
from tracecut.ir.loops.path_conditions import ALWAYS
from tracecut.support.errors import ArtefactError, TracecutError
from tracecut.support.files import write_arrays
from tracecut.tracer.capture.kept_bytes import KeptBytes
from tracecut.tracer.capture.snapshot import Capture, Profile, keep_only, touched_objects, written_objects
from tracecut.tracer.legality.evaluation.memory import GLOBAL, HEAP, STACK, Memory, Object
from tracecut.tracer.runtime.binding import support

from ..legality.test_evaluate import setting

pytestmark = pytest.mark.quick


def sample() -> Capture:
    objects = [Object(4096, 24, HEAP), Object(8192, 3, GLOBAL, "@g"), Object(9000, 8, STACK, "%local")]
    contents = {4096: np.arange(24, dtype=np.uint8), 9000: np.full(8, 7, np.uint8)}
    return Capture(5, 3, {5: (1, (1 << 64) - 1), 2: ()}, Memory(objects, contents))


def saved(capture: Capture, path: Path) -> Path:
    return capture.save(path, KeptBytes(path.parent, support().library))


def test_it_comes_back(tmp_path: Path) -> None:
    made = sample()
    found = Capture.load(saved(made, tmp_path / "capture.npz"))
    assert (found.loop, found.entry, dict(found.values)) == (made.loop, made.entry, dict(made.values))
    assert list(found.memory.objects) == list(made.memory.objects)
    assert found.memory.contents.keys() == made.memory.contents.keys()
    for base, data in made.memory.contents.items():
        assert np.array_equal(found.memory.contents[base], data)
    assert repr(found) == "<Capture of loop 5, entry 3: 3 objects, 32 bytes>"


def test_nothing_captured_is_a_capture_too(tmp_path: Path) -> None:
    found = Capture.load(saved(Capture(0, 1, {}, Memory([], {})), tmp_path / "empty.npz"))
    assert not len(found.memory.objects) and found.memory.find(0) is None


def arrays() -> dict[str, np.ndarray[Any, Any]]:
    return {
        "bases": np.array([4096], np.int64),
        "sizes": np.array([8], np.int64),
        "kinds": np.array([0], np.int64),
        "offsets": np.array([0], np.int64),
    }


META: dict[str, Any] = {
    "loop": 1,
    "entry": 1,
    "values": {"1": ["7"]},
    "names": {},
    "stack": ["0", "0"],
    "contents": "contents.bin",
}


def written(folder: Path, parts: dict[str, Any], meta: dict[str, Any]) -> Path:
    (folder / "contents.bin").write_bytes(bytes(8))
    return write_arrays(folder / "capture.npz", "Capture", parts, meta)


def test_what_is_damaged_below_is_whole_before(tmp_path: Path) -> None:
    found = Capture.load(written(tmp_path, arrays(), META))
    assert found.memory.contents[4096].tolist() == [0] * 8


@pytest.mark.parametrize(
    "damage",
    [
        {"sizes": np.array([-1], np.int64)},
        {"sizes": np.array([9], np.int64)},
        {"sizes": np.array([8, 8], np.int64)},
        {"sizes": np.array([8.0])},
        {"sizes": np.array([[8]], np.int64)},
        {"bases": np.zeros(0, np.int64)},
        {"kinds": np.array([0, 1], np.int64)},
        {"offsets": np.array([1], np.int64)},
        {"offsets": np.array([-2], np.int64)},
        {"offsets": np.array([1 << 62], np.int64)},
        {"contents": "nothing.bin"},
        {"contents": "../contents.bin"},
        {"contents": 5},
        {"names": None},
        {"names": 5},
        {"names": ["", ""]},
        {"names": {"a": 1}},
        {"values": [1]},
        {"values": {"x": ["1"]}},
        {"values": {"1": ["one"]}},
        {"values": {"1": 3}},
        {"values": None},
        {"loop": None},
        {"loop": "first"},
        {"entry": [1]},
    ],
    ids=str,
)
def test_damage_is_named(tmp_path: Path, damage: dict[str, Any]) -> None:
    parts, meta = arrays(), dict(META)
    for name, value in damage.items():
        (parts if name in parts else meta)[name] = value
    path = written(tmp_path, parts, meta)
    with pytest.raises(ArtefactError) as caught:
        Capture.load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("missing", ["bases", "sizes", "contents", "loop", "entry", "values", "names"])
def test_missing_parts_are_named(tmp_path: Path, missing: str) -> None:
    parts, meta = arrays(), dict(META)
    (parts if missing in parts else meta).pop(missing)
    path = written(tmp_path, parts, meta)
    with pytest.raises(ArtefactError) as caught:
        Capture.load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("size", [0, 7])
def test_contents_that_are_cut_are_named(tmp_path: Path, size: int) -> None:
    path = written(tmp_path, arrays(), META)
    (tmp_path / "contents.bin").write_bytes(bytes(size))
    with pytest.raises(ArtefactError, match=r"capture\.npz"):
        Capture.load(path)


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    path = write_arrays(tmp_path / "clustering.npz", "Clustering", arrays(), META)
    with pytest.raises(ArtefactError, match="Clustering"):
        Capture.load(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises((TracecutError, FileNotFoundError), match=r"nothing\.npz"):
        Capture.load(tmp_path / "nothing.npz")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_files_that_are_cut_or_changed(tmp_path: Path, data: st.DataObject) -> None:
    """Every cut is named. A changed byte is named, or it changes nothing that was checked: never another error."""
    path = tmp_path / "capture.npz"
    saved(sample(), path)
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    if data.draw(st.booleans()):
        path.write_bytes(whole[:at])
        with pytest.raises(ArtefactError, match="capture"):
            Capture.load(path)
        return
    changed = bytearray(whole)
    changed[at] ^= data.draw(st.integers(1, 255))
    path.write_bytes(changed)
    try:
        found = Capture.load(path)
    except ArtefactError as error:
        assert "capture" in str(error)
    else:
        assert len(found.memory.objects) == 3


PROFILE = {"iterations": [3, 4], "entries": {"1": 2}, "captures": {"1": "c.npz"}, "seconds": 0.5, "notes": ["n"]}


def test_profile(tmp_path: Path) -> None:
    (tmp_path / "profile.json").write_text(json.dumps(PROFILE))
    found = Profile.load(tmp_path)
    assert (found.iterations, found.entries, found.seconds, found.notes) == ((3, 4), {1: 2}, 0.5, ("n",))
    assert found.captures == {1: tmp_path / "c.npz"}


@pytest.mark.parametrize(
    "damage",
    [
        {"iterations": 3},
        {"iterations": ["many"]},
        {"entries": [1]},
        {"captures": {"x": "y"}},
        {"seconds": None},
        {"notes": 1},
    ],
    ids=str,
)
def test_a_damaged_profile_is_named(tmp_path: Path, damage: dict[str, Any]) -> None:
    (tmp_path / "profile.json").write_text(json.dumps({**PROFILE, **damage}))
    with pytest.raises(ArtefactError, match=r"profile\.json"):
        Profile.load(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"iterations": [1]}', "\x00"])
def test_a_profile_that_is_none_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "profile.json").write_text(text)
    with pytest.raises(ArtefactError, match=r"profile\.json"):
        Profile.load(tmp_path)


def test_objects_behind_the_pointers_of_a_loop() -> None:
    """Base pointers tell the objects; which elements are touched does not matter."""
    here = setting()
    address = here.pool.op("add", "ptr", here.pool.live("base5000", "ptr"), here.pool.counter(0))
    site = Site("store:b:0", Write(), "i64", 8, address, None, 0, ALWAYS, NOWHERE)
    nest = replace(here.nest, sites=(site,))
    lives = {name: int(number) for name, number in here.lives.items() if isinstance(number, int)}
    touched = {item.base for item in touched_objects(nest, here.memory, lives)}
    assert touched == {0x1000, 0x5000}  # the bounds of the inner loop are read, too
    assert [item.base for item in written_objects(nest, here.memory, lives)] == [0x5000]
    kept = keep_only(here.memory, written_objects(nest, here.memory, lives))
    assert set(kept.contents) == {0x5000} and kept.objects == here.memory.objects


def test_variables_on_the_stack_as_each_loop_knows_them() -> None:
    """One place for two variables that are not needed at the same time: a loop that knows one of them finds that."""
    made = replace(sample(), stack=(8900, 9100))
    nest = replace(setting().nest, stack={"%local": 4, "%other": 8, "%gone": 12})
    seen = made.seen_by(nest, {"%local": 9004})
    assert list(seen.memory.objects) == [*made.memory.objects[:2], Object(9004, 4, STACK, "%local")]
    assert seen.memory.bytes_of(seen.memory.objects[2]) is not None and seen.memory.read(9004, 4) == b"\7\7\7\7"
    assert seen.memory.read(4096, 2) == b"\0\1"  # what is on the heap is untouched
    wider = made.seen_by(nest, {"%gone": 9000})
    assert wider.memory.objects[2] == Object(9000, 12, STACK, "%gone")
    assert wider.memory.bytes_of(wider.memory.objects[2]) is None  # a part of it was not captured
    assert 9000 not in wider.memory.contents and set(made.memory.contents) == {4096, 9000}
    assert made.seen_by(nest, {}).memory.find(9000) is None  # nothing on the stack is live into the loop
    assert replace(made, memory=Memory(made.memory.objects[:2], {})).seen_by(nest, {}).memory.objects
