"""GPUs as files: what the package describes, and what a damaged file says."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from tracecut.ir.gpu.description import FOLDER, Gpu, gpu, names
from tracecut.support.errors import ArgumentError, ArtefactError

pytestmark = pytest.mark.quick

TEXT = (FOLDER / "h200.toml").read_text(encoding="utf-8")
KEYS = [field.name for field in fields(Gpu)]


def test_the_cards_of_the_package() -> None:
    assert names() == ("a100", "c1060", "gtx680", "h100", "h200", "l4", "titan-x")
    assert all(gpu(name).name.startswith("NVIDIA") for name in names())
    assert gpu() == gpu("h200") and gpu("h200").multiprocessors == 132
    seed = [(gpu(name).multiprocessors, gpu(name).shared_memory >> 10) for name in ("titan-x", "gtx680")]
    assert seed == [(28, 96), (8, 48)], "SPAC, Table 2"
    assert repr(gpu("h200")) == "<Gpu NVIDIA H200, sm_90: 132 multiprocessors, L2 60 MiB, 4.3e+12 B/s>"


@pytest.mark.parametrize("name", names())
def test_each_value_that_is_no_common_one_has_a_source(name: str) -> None:
    lines = [line for line in (FOLDER / f"{name}.toml").read_text(encoding="utf-8").splitlines() if " = " in line]
    assert len(lines) == len(KEYS)
    bare = {line.split(" = ")[0] for line in lines if "  # " not in line}
    same = {"name", "warp_size", "request_lanes", "shared_memory", "shared_block", "shared_reserve", "shared_unit"}
    below = {"max_warps", "max_blocks", "max_threads", "max_block_threads", "registers", "max_registers"}
    assert bare <= same | below | {"register_scope", "warp_unit"}, "these stand under a line with the source of all"


@pytest.mark.parametrize(
    ("arch", "name"),
    [("sm_90", "h200"), ("sm_80", "a100"), ("sm_89", "l4"), ("sm_61", "titan-x"), ("sm_30", "gtx680")],
)
def test_a_compute_capability_stands_for_a_card(arch: str, name: str) -> None:
    assert gpu(arch) is gpu(name) or gpu(arch) == gpu(name)


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    with pytest.raises(ArgumentError, match=r"no GPU of sm_120 is described\nKnown: sm_13, sm_30, .*sm_90"):
        gpu("sm_120")
    with pytest.raises(ArgumentError, match="Did you mean 'h200'"):
        gpu("h20")
    with pytest.raises(ArtefactError, match=r"nowhere\.toml"):
        gpu("nowhere.toml")


def test_a_file_is_read_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(TEXT.replace("multiprocessors = 132", "multiprocessors = 7"))
    assert Gpu.load(path) == replace(gpu("h200"), multiprocessors=7) == gpu(str(path))


@pytest.mark.parametrize("key", KEYS)
def test_a_missing_key_is_named(key: str, tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(re.sub(rf"(?m)^{key} = .*$", "", TEXT))
    with pytest.raises(ArtefactError, match=rf"own\.toml: {key} is missing"):
        Gpu.load(path)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("value", ["nan", "-1", "[[1]]", "inf", '"1 parsec"', "1979-05-27"])
def test_a_value_of_another_kind_is_named(key: str, value: str, tmp_path: Path) -> None:
    if value == '"1 parsec"' and type(getattr(gpu("h200"), key)) is str and key in ("name", "arch"):
        return
    path = tmp_path / "own.toml"
    path.write_text(re.sub(rf"(?m)^{key} = .*$", f"{key} = {value}", TEXT))
    with pytest.raises(ArtefactError, match=rf"own\.toml.*: {key} = "):
        Gpu.load(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TEXT + "turbo = 1\n", "line .*: turbo is not known; known are name"),
        (TEXT + "name = 'x'\n", "is no TOML"),
        (TEXT.replace("max_threads = 2048", "max_threads = 2000"), "max_threads = 2000"),
        (TEXT.replace('"227 KiB"', '"228 KiB"'), "shared_block"),
        (TEXT.replace('"0 KiB", "8 KiB"', '"8 KiB", "0 KiB"'), "carveouts"),
        (TEXT.replace('l1_size = "256 KiB"', 'l1_size = "200 KiB"'), "l1_size"),
        (TEXT.replace("l2_bandwidth = 9700000000000.0", "l2_bandwidth = 0"), "l2_bandwidth = 0"),
        (TEXT.replace("l2_ways = 16", "l2_ways = 1000000"), "l2_size = 62914560 holds no set of l2_ways"),
        (TEXT.replace("warp_size = 32", "warp_size = 64"), "warp_size = 64"),
        (TEXT.replace("banks = 32", "banks = 33"), "banks = 33"),
        ("\0", "is no TOML"),
    ],
)
def test_what_does_not_fit_together_is_refused(text: str, words: str, tmp_path: Path) -> None:
    assert text != TEXT and tomllib.loads(TEXT)
    path = tmp_path / "own.toml"
    path.write_text(text)
    with pytest.raises(ArtefactError, match=rf"own\.toml.*{words}"):
        Gpu.load(path)


@pytest.mark.parametrize(
    ("field", "value"),
    [("multiprocessors", 0), ("clock", float("nan")), ("hbm_bandwidth", float("inf")), ("l1_size", -128), ("name", 3)],
)
def test_fields_are_checked_in_python_too(field: str, value: Any) -> None:
    with pytest.raises(ArgumentError, match=field):
        replace(gpu("h200"), **{field: value})
