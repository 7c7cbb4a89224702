"""`tracecut.optimize` as a Python function, and the manifest that other work builds on."""

from __future__ import annotations

import copy
import gc
import inspect
import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tracecut.codegen.runtime.schedule_file import ScopeFile
from tracecut.ir.machine.machine import Machine
from tracecut.ir.machine.parts import Cache, Core
from tracecut.partition.inputs.arguments import MAX_SEED
from tracecut.support.progress import Progress

import tracecut
from tracecut import errors
from tracecut.pipeline.output.result import Optimized
from tracecut.pipeline.stage_names import STAGES
from tracecut.pipeline.stages.manifest import unique_ids
from tracecut.pipeline.stages.settings import Settings
from tracecut.pipeline.supervise import optimize_program

ECHO = r"""
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) printf("%s\n", argv[i]);
    for (int c; (c = getchar()) != EOF;) putchar(c);
    if (argc > 1) fprintf(stderr, "%d words\n", argc - 1);
    return argc > 2 ? atoi(argv[2]) : 0;
}
"""

TEXT, WHOLE, REAL, MAP, LIST, YES = (str,), (int,), (int, float), (dict,), (list,), (bool,)
NONE = (type(None),)
MANIFEST = {
    "tracecut": TEXT,
    "source": LIST,
    "argv": LIST,
    "machine": MAP,
    "seed": WHOLE,
    "timings": MAP,
    "original_run_seconds": REAL,
    "capture_run_seconds": REAL,
    "program": MAP,
    "regions": LIST,
    "remarks": TEXT,
    "report": TEXT,
}
PROGRAM = {"original_seconds": REAL, "optimized_seconds": REAL, "speedup": REAL, "output_equal": YES}
# What every region says, and what only those say that were measured.
REGION = {
    "id": TEXT,
    "function": TEXT,
    "file": TEXT,
    "line": WHOLE,
    "share": REAL,
    "class": TEXT,
    "decision": TEXT,
    "reason": TEXT,
    "candidates": LIST,
    "kernels": LIST,
}
MEASURED = {
    "jobs": WHOLE,
    "data": WHOLE,
    "scope": MAP,
    "method": TEXT,
    "speedup_1t": REAL,
    "speedup_all": REAL,
    "threads": WHOLE,
    "original_ms": REAL,
    "optimized_ms": REAL,
    "copy_ms": REAL,
    "max_rel_error": REAL,
    "bit_equal": YES,
    "inspect_ms": REAL,
    "break_even_sweeps": REAL + NONE,
    "pays_off_sweeps": REAL + NONE,
    "replication_before": REAL,
    "replication_after": REAL,
}
CANDIDATE = {"method": TEXT, "inspect_ms": REAL, "region_ms": REAL}


def check(values: Mapping[str, Any], expected: Mapping[str, tuple[type, ...]], *, optional: bool = False) -> None:
    """Every key is there, with a value of its type."""
    for key, types in expected.items():
        assert key in values, key
        allowed = types + NONE if optional else types
        assert isinstance(values[key], allowed), (key, values[key])
        assert isinstance(values[key], bool) is (types == YES) or values[key] is None, (key, values[key])


@pytest.mark.parametrize("kind", ["optimized_once", "refused_once"])
def test_the_manifest_keeps_its_contract(kind: str, request: pytest.FixtureRequest) -> None:
    output: Path = request.getfixturevalue(kind)
    manifest = json.loads((output / "manifest.json").read_bytes())
    check(manifest, MANIFEST)
    check(manifest["program"], PROGRAM)
    assert manifest["tracecut"] == tracecut.__version__
    assert all(isinstance(seconds, float) and seconds >= 0 for seconds in manifest["timings"].values())
    assert [name for name in STAGES if name in manifest["timings"]] == list(manifest["timings"])
    assert {"compile", "original", "capture", "tune"} <= set(manifest["timings"])
    assert (output / manifest["remarks"]).is_file() and (output / manifest["report"]).is_file()
    assert manifest["regions"]
    for region in manifest["regions"]:
        check(region, REGION)
        measured = region["decision"] == "optimized"
        check(region, MEASURED, optional=not measured)
        assert region["class"] in ("parallel", "reduction", "ordered", "rejected")
        assert region["decision"] in ("optimized", "refused") and region["reason"]
        assert 0 <= region["share"] <= 1
        assert region["scope"] is None or set(region["scope"]) == {"file", "line", "rounding"}
        for candidate in region["candidates"]:
            check(candidate, CANDIDATE)
        assert bool(region["kernels"]) is measured
        for kernel in region["kernels"]:
            check(kernel, {"target": TEXT, "path": TEXT, "variant": TEXT})
            assert (output / kernel["path"]).is_file()
        if measured:
            one = region["speedup_1t"] * next(c["region_ms"] for c in region["candidates"] if c["method"] == "rcm")
            assert one == pytest.approx(region["original_ms"])
    assert any(region["decision"] == "optimized" for region in manifest["regions"]) is (kind == "optimized_once")


def test_the_signature_keeps_its_contract() -> None:
    parameters = inspect.signature(tracecut.optimize).parameters
    names = list(parameters)
    assert names[:2] == ["source", "argv"]
    expected = {"machine": None, "method": "auto", "k": None, "seed": 0, "threads": None}
    assert {name: parameters[name].default for name in expected} == expected
    assert all(parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in names[2:])


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Optimized:
    source = tmp_path_factory.mktemp("echo") / "echo.c"
    source.write_text(ECHO)
    (source.parent / "input").write_text("read\n")
    return tracecut.optimize(source, ["one", 0], seed=3, threads=1, stdin=source.parent / "input")  # type: ignore[list-item]


def test_the_fields_are_those_of_the_manifest(echo: Optimized) -> None:
    manifest = json.loads((echo.output / "manifest.json").read_bytes())
    assert echo.manifest == manifest
    for name, value in manifest.items():
        assert getattr(echo, name) == value
        assert name in dir(echo)
    assert (echo.seed, echo.argv, echo.source) == (3, ["one", "0"], [str(Path(echo.source[0]))])
    assert echo.improved is False and echo.speedup is None
    assert repr(echo).startswith("<Optimized ") and str(echo.output) in repr(echo)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = echo.nothing
    assert copy.copy(echo).regions == echo.regions


def test_running_it(echo: Optimized, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = echo.run(["a b", "7"])
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (7, b"a b\n7\n", b"2 words\n")
    assert outcome.seconds > 0
    (tmp_path / "text").write_bytes(b"from a file")
    assert echo.run(stdin="text", threads=1).stdout == b"from a file"
    assert echo.run(["--help", "--", "-v"]).stdout == b"--help\n--\n-v\n"


def test_a_program_that_takes_too_long(optimized: Path) -> None:
    result = Optimized(optimized, json.loads((optimized / "manifest.json").read_bytes()))
    assert result.improved and result.speedup is not None
    with pytest.raises(errors.ProgramError, match=r"ran longer than 0\.8 s"):
        result.run(["wait"], timeout=0.8)
    assert result.run(["raise", "15"]).returncode == -15
    (optimized / "program.so").unlink()
    with pytest.raises(errors.ArtefactError, match=r"program\.so is missing"):
        result.run()


def test_a_temporary_result_goes_with_its_object(tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text("int main(void) { return 0; }")
    result = tracecut.optimize(str(source))
    output = result.output
    assert output.is_absolute() and (output / "manifest.json").is_file()
    assert result.run().returncode == 0
    del result
    gc.collect()
    assert not output.exists()


def test_a_named_result_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several files, options of the compiler, a relative folder, another machine."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "main.c").write_text("int twice(int); int main(void) { return twice(N); }")
    (tmp_path / "part.c").write_text("int twice(int x) { return 2 * x; }")
    monkeypatch.chdir(tmp_path)
    machine = Machine("toy", tuple(Core(number) for number in range(64)), (Cache(1, 1 << 15),), 1 << 30)
    result = tracecut.optimize([Path("main.c"), "part.c", "-DN=0"], output="out", machine=machine, timeout=600)
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert result.run().returncode == 0
    assert result.output == tmp_path / "out" and result.predicted_for["name"] == "toy"
    assert result.machine["cores"] == len(os.sched_getaffinity(0))
    assert result.source == ["main.c", "part.c"]
    del result
    gc.collect()
    assert (tmp_path / "out" / "report.html").is_file()


BAD: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "k": ({"k": 0}, errors.ArgumentError, "k is 0, a whole number of at least 1"),
    "k is a word": ({"k": "3"}, errors.ArgumentError, "k is '3'"),
    "k is broken": ({"k": 2.5}, errors.ArgumentError, "k is 2.5"),
    "threads": ({"threads": -1}, errors.ArgumentError, "threads is -1"),
    "seed": ({"seed": -1}, errors.ArgumentError, "seed is -1"),
    "large seed": ({"seed": MAX_SEED + 1}, errors.ArgumentError, f"from 0 to {MAX_SEED} was expected"),
    "method": ({"method": "best"}, errors.ArgumentError, "method is 'best'"),
    "machine": ({"machine": "laptop"}, errors.ArgumentError, "machine is 'laptop'"),
    "no caches": (
        {"machine": replace(Machine.mesh(1, 1), caches=())},
        errors.ArgumentError,
        "has no caches, at least one",
    ),
    "argv": ({"argv": "--steps 3"}, errors.ArgumentError, "argv is the string '--steps 3'"),
    "zero in argv": ({"argv": ["a\0b"]}, errors.ArgumentError, r"argv holds 'a\\x00b'"),
    "no text in argv": ({"argv": ["\ud800"]}, errors.ArgumentError, "argv holds"),
    "budget": ({"budget": 0}, errors.ArgumentError, "budget is 0"),
    "no budget": ({"budget": float("nan")}, errors.ArgumentError, "budget is nan"),
    "timeout": ({"timeout": "long"}, errors.ArgumentError, "timeout is 'long'"),
    "stdin": ({"stdin": "nowhere"}, errors.ArgumentError, "stdin is 'nowhere': no such file"),
    "output": ({"output": ""}, errors.ArgumentError, "output is empty"),
    "region": ({"region": "program.c"}, errors.UsageError, "FILE:LINE expected"),
    "line": ({"region": "program.c:" + "9" * 5000}, errors.UsageError, "FILE:LINE expected"),
    "source": ({"source": "nowhere.c"}, errors.SourceError, "nowhere.c: no such file"),
    "kind of source": ({"source": "program.txt"}, errors.SourceError, "program.txt"),
    "no source": ({"source": []}, errors.SourceError, "no source file was given"),
    "only options": ({"source": ["-O2"]}, errors.SourceError, "no source file was given"),
    "option": ({"source": ["program.c", "-shared"]}, errors.UsageError, "tracecut needs a program with main"),
}


@pytest.mark.quick
@pytest.mark.parametrize("case", BAD)
def test_an_argument_is_wrong(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "program.c").write_text("int main(void) { return 0; }")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    changes, kind, message = BAD[case]
    with pytest.raises(kind, match=re.escape(message) if "\\" not in message else message):
        tracecut.optimize(**{"source": "program.c", **changes})
    assert [path.name for path in tmp_path.iterdir()] == ["program.c"]


def test_errors_are_one_family() -> None:
    family = [getattr(errors, name) for name in errors.__all__]
    assert all(issubclass(error, errors.TracecutError) for error in family)
    assert tracecut.TracecutError is errors.TracecutError
    assert {error.exit_code for error in family} == {1, 2}


def test_the_same_seed_gives_the_same_schedule(optimized_once: Path, tmp_path: Path) -> None:
    source = tmp_path / "probe.c"
    shutil.copy(optimized_once.parent / "probe.c", source)

    def schedule() -> list[np.ndarray[Any, Any]]:
        settings = Settings(
            (str(source),), output=tmp_path / "out", force=True, loop_budget=0.1, method="spac", k=8, seed=5, threads=1
        )
        result = optimize_program(settings, Progress(quiet=True))
        (region,) = (region for region in result.regions if region["decision"] == "optimized")
        assert (region["method"], result.seed) == ("spac", 5)
        found = ScopeFile.load(tmp_path / "out" / "scopes" / "scope0.npz").schedule
        return [found.spaces[0].order, found.regions[0].jobs, found.regions[0].blocks.bounds]

    first, again = schedule(), schedule()
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0], np.sort(first[0]))


def test_inlined_loops_have_ids_of_their_own() -> None:
    regions = [{"id": name} for name in ("a-1", "b-1", "a-1", "a-1")]
    assert unique_ids(regions) == ["a-1", "b-1", "a-1-2", "a-1-3"]


@pytest.mark.parametrize("source", [len, 3, None])
def test_what_is_no_source_is_said(source: Any) -> None:
    with pytest.raises(errors.ArgumentError, match=r"source is a \w+, a path or a list of paths") as caught:
        tracecut.optimize(source)
    assert "A Numba function can be traced" in caught.value.hint
