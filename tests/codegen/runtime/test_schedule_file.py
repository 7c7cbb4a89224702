"""Schedules on disk: what was saved comes back, and damage has a name."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tracecut.codegen.runtime.schedule_file import ScopeFile
from tracecut.codegen.schedule.check.checker import check_schedule
from tracecut.support.errors import ArtefactError
from tracecut.support.npz_archive import write_zip
from tracecut.tracer.legality.evaluation.memory import HEAP, Object

from ..harness import Inspected

Catalogue = Callable[[str], dict[str, Inspected | str]]
SHARED = [HealthCheck.function_scoped_fixture]  # the file is only read
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.just([]),
    st.just({}),
)


@pytest.fixture(scope="module")
def saved(inspected: Catalogue, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A schedule with pieces, renumbered indices and threads."""
    item = inspected("rows")["csr"]
    assert not isinstance(item, str)
    file = item.scope_file(0, 0, item.schedule(item.random(1), 2), 2)
    return file.save(tmp_path_factory.mktemp("saved") / "scope.npz")


def same(a: Any, b: Any) -> bool:
    """Equality of artefacts, arrays and all."""
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b)
    if is_dataclass(a) and not isinstance(a, type):
        return type(a) is type(b) and all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


@pytest.mark.parametrize(
    ("name", "mark"), [("rows", "csr"), ("pairs", "records"), ("indirect", "two_levels"), ("edges", "empty_updates")]
)
def test_what_was_saved_comes_back(
    inspected: Catalogue, tmp_path: Path, name: str, mark: str, few_jobs_a_thread: None
) -> None:
    item = inspected(name)[mark]
    assert not isinstance(item, str)
    file = item.scope_file(3, 5, item.schedule(item.random(2), 3), 3)
    found = ScopeFile.load(file.save(tmp_path / "scope.npz"))
    assert same(found.schedule, file.schedule)
    for name in ("number", "numbers", "values", "regions", "movable", "key", "costs", "options"):
        assert same(getattr(found, name), getattr(file, name)), name
    for region, outlined in file.outlined.items():
        again = found.outlined[region]
        assert (again.name, again.slots, again.groups) == (outlined.name, outlined.slots, outlined.groups)
        assert again.reductions == outlined.reductions
    assert found.nest.root == file.nest.root and len(found.nest.sites) == len(file.nest.sites)


def test_no_file_is_read_past_its_end(saved: Path, tmp_path: Path) -> None:
    data = saved.read_bytes()
    path = tmp_path / "cut.npz"
    for size in [*range(0, len(data), len(data) // 60), len(data) - 1]:
        path.write_bytes(data[:size])
        with pytest.raises(ArtefactError, match=r"cut\.npz"):
            ScopeFile.load(path)


@settings(max_examples=150, deadline=None, suppress_health_check=SHARED)
@given(place=st.integers(0), bit=st.integers(0, 7))
def test_flipped_bits_are_noticed(saved: Path, tmp_path: Path, place: int, bit: int) -> None:
    data = bytearray(saved.read_bytes())
    data[place % len(data)] ^= 1 << bit
    path = tmp_path / "flipped.npz"
    path.write_bytes(data)
    with pytest.raises(ArtefactError, match=r"flipped\.npz"):
        ScopeFile.load(path)


def rewritten(source: Path, target: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """A copy of a file with other contents of its `meta.json`, its checksums made anew."""
    with zipfile.ZipFile(source) as old:
        members = {name: [old.read(name)] for name in old.namelist()}
    meta = json.loads(members["meta.json"][0])
    change(meta)
    return written(target, members | {"meta.json": [json.dumps(meta).encode()]})


def written(target: Path, members: dict[str, list[bytes]]) -> Path:
    with target.open("wb") as file:
        write_zip(file, members, b"")
    return target


def leaves(value: Any) -> list[tuple[Any, Any]]:
    """(container, key) of everything in nested lists and dicts."""
    found: list[tuple[Any, Any]] = []
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        found.append((value, key))
        found += leaves(value[key])
    return found


@settings(max_examples=200, deadline=None, suppress_health_check=SHARED)
@given(place=st.integers(0), value=ODD)
def test_no_number_in_a_file_gets_past_the_checks(saved: Path, tmp_path: Path, place: int, value: Any) -> None:
    def change(meta: dict[str, Any]) -> None:
        inner = meta.get("meta", meta)
        schedule = leaves(inner["schedule"])
        container, key = schedule[place % len(schedule)]
        container[key] = value

    path = rewritten(saved, tmp_path / "changed.npz", change)
    try:
        found = ScopeFile.load(path)
    except ArtefactError:
        return
    check_schedule(found.schedule, [Object(0, ref.size, HEAP) for ref in found.schedule.guard.objects])


@settings(max_examples=150, deadline=None, suppress_health_check=SHARED)
@given(place=st.integers(0), value=ODD)
def test_no_other_part_of_a_file_raises_something_else(saved: Path, tmp_path: Path, place: int, value: Any) -> None:
    def change(meta: dict[str, Any]) -> None:
        inner = meta.get("meta", meta)
        parts = leaves({name: inner[name] for name in ("numbers", "outlined", "options", "costs", "values", "movable")})
        container, key = parts[place % len(parts)]
        container[key] = value

    path = rewritten(saved, tmp_path / "changed.npz", change)
    try:
        ScopeFile.load(path).verify()
    except ArtefactError as error:
        assert "changed.npz" in error.message or "damaged" in error.message


@pytest.mark.parametrize("number", [-1, 4096, 1 << 40])
def test_numbers_that_would_be_places_in_tables_are_bounded(saved: Path, tmp_path: Path, number: int) -> None:
    def change(meta: dict[str, Any]) -> None:
        numbers = meta.get("meta", meta)["numbers"]
        numbers[next(iter(numbers))] = number

    with pytest.raises(ArtefactError, match="out of range"):
        ScopeFile.load(rewritten(saved, tmp_path / "far.npz", change))


def replaced(source: Path, target: Path, member: str, array: Any) -> Path:
    """A copy of a file with another array in it; `array` may be the bytes of the member."""
    with zipfile.ZipFile(source) as old:
        members = {name: [old.read(name)] for name in old.namelist()}
    stream = BytesIO()
    np.save(stream, array, allow_pickle=True)
    return written(target, members | {member: [stream.getvalue()]})


def test_arrays_are_what_they_have_to_be(saved: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(saved) as archive:
        names = archive.namelist()
    jobs = next(name for name in names if name.endswith("_jobs.npy"))
    with zipfile.ZipFile(saved) as archive:
        order = np.load(BytesIO(archive.read(jobs)))
    wrong = {
        "another dtype": order.astype(np.int64),
        "a matrix": order.reshape(2, -1),
        "one job fewer": order[:-1],
        "one job twice": np.where(order == 3, order[0], order).astype(np.int32),
        "a job that does not exist": np.where(order == 3, order.size, order).astype(np.int32),
        "a negative job": np.where(order == 3, -1, order).astype(np.int32),
        "objects": order.astype(object),
        "nothing": order[:0],
    }
    accepted = []
    for what, array in wrong.items():
        try:
            ScopeFile.load(replaced(saved, tmp_path / "wrong.npz", jobs, array))
            accepted.append(what)
        except ArtefactError:
            continue
    assert accepted == []


def test_another_kind_of_file_and_another_version_are_refused(saved: Path, tmp_path: Path) -> None:
    def other_kind(meta: dict[str, Any]) -> None:
        meta["kind"] = "Clustering"

    def other_version(meta: dict[str, Any]) -> None:
        meta["version"] = meta.get("version", 1) + 1
        meta["format"] = meta.get("format", 1) + 1

    for change in (other_kind, other_version):
        with pytest.raises(ArtefactError):
            ScopeFile.load(rewritten(saved, tmp_path / "other.npz", change))
    with pytest.raises(FileNotFoundError):
        ScopeFile.load(tmp_path / "none.npz")
