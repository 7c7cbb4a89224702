"""The oracle on kernels whose answer is known, and the comparison of outputs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from .build import output
from .compare import differences
from .examples import EXAMPLES as USUAL
from .examples import UP, kernel
from .examples_of_shapes import SHAPE_EXAMPLES
from .features import FEATURES
from .generate import suite_of
from .model import CODES, Array, Cursor, Kernel, Scalar
from .oracle import run_oracle

SUM = "y[idx[i]] += c[i];"
EXAMPLES = USUAL | SHAPE_EXAMPLES


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bool]:
    """For each example, whether it may be reordered; all of them in one program."""
    folder = tmp_path_factory.mktemp("examples")
    names = [(feature, place) for feature in EXAMPLES for place in (0, 1)]
    kernels = [kernel(number, feature, **EXAMPLES[feature][place]) for number, (feature, place) in enumerate(names)]
    found = run_oracle(suite_of(kernels), folder)
    return {f"{feature}/{place}": found[k.name] for (feature, place), k in zip(names, kernels, strict=True)}


def judged(folder: Path, *kernels: Kernel) -> list[bool]:
    return list(run_oracle(suite_of(kernels), folder).values())


def test_there_are_examples_of_every_feature_but_the_types() -> None:
    assert set(EXAMPLES) == set(FEATURES) - set(CODES)


@pytest.mark.parametrize("feature", EXAMPLES)
def test_accepts(feature: str, verdicts: dict[str, bool]) -> None:
    assert verdicts[f"{feature}/0"]


@pytest.mark.parametrize("feature", EXAMPLES)
def test_rejects(feature: str, verdicts: dict[str, bool]) -> None:
    assert not verdicts[f"{feature}/1"]


@pytest.mark.parametrize("type", CODES)
def test_types(type: str, tmp_path: Path) -> None:
    numbers = (
        Array("y", type, 6, "small", True),
        Array("c", type, 6, "small"),
        Array("idx", "int", 6, (0, 1, 2, 1, 0, 3)),
    )
    body = ("y[idx[i]] += c[i];", "y[idx[i]] = c[i];")
    kernels = [kernel(n, type, body[n], arrays=numbers, float_reduction=n == 0) for n in (0, 1)]
    assert judged(tmp_path, *kernels) == [True, False]


def test_rounding_counts_unless_the_kernel_is_a_reduction(tmp_path: Path) -> None:
    values = [Array("c", "double", 6, "real"), Array("result", "double", 1, "zero", True)]
    exact = kernel(0, "register-float-sum", "result[0] += c[i];", arrays=tuple(values))
    assert judged(tmp_path, exact, replace(exact, number=1, float_reduction=True)) == [False, True]


@pytest.mark.parametrize("jobs", [1, 2, 8, 9, 64])
def test_loops_of_any_length(jobs: int, tmp_path: Path) -> None:
    arrays = (Array("z", "double", 65, "real", True), Array("c", "double", 64, "real"))
    loop = replace(UP, head=(f"for (int i = 0; i < {jobs}; i++) {{",), jobs=jobs)
    free = kernel(0, "math", "z[i] = sin(c[i]);", arrays=arrays, loop=loop)
    # Only the first and the last iteration meet; only two neighbours do.
    ends = kernel(1, "mirror", f"z[i] = i == {jobs - 1} ? z[0] : c[i];", arrays=arrays, loop=loop)
    near = kernel(2, "recurrence", f"z[i] = i == {jobs // 2} ? z[i - (i > 0)] : c[i];", arrays=arrays, loop=loop)
    assert judged(tmp_path, free, ends, near) == [True, jobs == 1, jobs == 1]


def test_a_later_call_is_judged_on_the_data_and_the_count_that_it_finds(tmp_path: Path) -> None:
    numbers = (
        Array("y", "int", 6, "zero", True),
        Array("c", "int", 6, "small"),
        Array("idx", "int", 6, (0, 1, 2, 3, 4, 4)),
    )
    apart = kernel(0, "scatter", "y[idx[i]] = c[i];", arrays=numbers, between=("idx[5] = 5;",))
    closer = kernel(1, "scatter", "y[idx[i]] = c[i];", arrays=numbers, between=("idx[5] = sweep ? 5 : 0;",))
    up = replace(UP, head=("for (int i = 0; i < n; i++) {",))
    shorter = kernel(
        2, "count-changes", "y[idx[i]] = c[i];", arrays=numbers, loop=up, scalars=(Scalar("n", "int", 6, "n - sweep"),)
    )
    suite = suite_of([apart, closer, shorter])
    for entry, right in enumerate([[False, False, False], [True, False, True], [True, True, True]], start=1):
        found = run_oracle(suite, tmp_path, {k.name: entry for k in suite.kernels})
        assert list(found.values()) == right, entry


def test_finds_out_when_its_own_loop_is_another_one(tmp_path: Path) -> None:
    wrong = replace(UP, cursors=(Cursor("int", "i", "1"),), jobs=5)
    with pytest.raises(RuntimeError, match=r"kernel_3 of seed 0 is not the loop that it should be"):
        judged(tmp_path, kernel(3, "scatter", "y[i] = c[i];", loop=wrong))


def test_says_when_the_program_fails(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="killed by SIGABRT"):
        judged(tmp_path, kernel(0, "scatter", "abort();"))


def test_comparison_allows_for_rounding_in_real_numbers_only(tmp_path: Path) -> None:
    suite = suite_of([kernel(number, "memory-float-sum", SUM, float_reduction=True) for number in range(3)])
    printed = output(suite.source, tmp_path, "program")
    lines = printed.splitlines()
    first, _, rest = lines[0].partition(",")
    name, _, mean = first.partition("=")
    near, far = (f"{name}={float(mean) + change!r},{rest}" for change in (1e-13, 1e-6))
    assert near != lines[0] != far
    assert differences(suite, printed, "\n".join([near, *lines[1:]])) == {}
    assert list(differences(suite, printed, "\n".join([far, *lines[1:]]))) == ["kernel_0"]
    nothing = f"{name}=nan,{rest}"
    assert list(differences(suite, printed, "\n".join([nothing, *lines[1:]]))) == ["kernel_0"]
    flipped = lines[1][:-1] + ("0" if lines[1][-1] != "0" else "1")
    assert "whole" not in differences(suite, printed, printed)
    assert list(differences(suite, printed, "\n".join([lines[0], flipped, lines[2]]))) == ["kernel_1"]
    assert differences(suite, printed, "\n".join(lines[:2])) == {"kernel_2": "missing or cut"}
