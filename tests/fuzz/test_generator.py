"""The generator: the same seed gives the same clean program, and all features come up."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from tracecut.tracer.toolchain.clang import Flags, to_ir
from tracecut.tracer.toolchain.find_compilers import compiler

from .build import output
from .compare import differences
from .features import FEATURES
from .generate import generate, shapes_suite, suite_of
from .oracle import oracle, run_oracle

SEEDS = (1, 2)
STRICT = Flags(("-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-command-line-argument"))


def test_the_same_seed_gives_the_same_suite() -> None:
    assert generate(7) == generate(7)
    assert oracle(generate(7)) == oracle(generate(7))
    assert generate(7).source != generate(8).source


def test_a_kernel_does_not_depend_on_the_others() -> None:
    many, few = generate(3, 60), generate(3, 20)
    assert many.kernels[:20] == few.kernels
    alone = suite_of([many.kernels[41]], seed=3)
    assert alone.kernels[0].source in _unindented(alone.source)


def test_the_text_is_small_and_its_loops_are_where_the_suite_says() -> None:
    for seed in range(20):
        suite = generate(seed)
        assert len(suite.source) < 300_000
        lines = suite.source.splitlines()
        for kernel, line in zip(suite.kernels, suite.lines, strict=True):
            assert lines[line - 1].strip() == kernel.loop.head[0]
            above = next(text for text in reversed(lines[:line]) if text.startswith("static void kernel_"))
            assert above.startswith(f"static void {kernel.name}(")


def test_names_of_kernels_and_sizes_of_loops() -> None:
    kernels = [kernel for seed in range(10) for kernel in generate(seed).kernels]
    assert [kernel.name for kernel in generate(0, 3).kernels] == ["kernel_0", "kernel_1", "kernel_2"]
    assert all(1 <= kernel.n_jobs <= 64 for kernel in kernels)
    assert 0.3 < sum(kernel.n_jobs <= 8 for kernel in kernels) / len(kernels) < 0.7


def test_every_feature_comes_up() -> None:
    found = Counter(feature for seed in range(20) for kernel in generate(seed).kernels for feature in kernel.features)
    assert set(found) == set(FEATURES)
    assert min(found.values()) >= 5


@pytest.mark.parametrize("seed", SEEDS)
def test_compiles_without_a_warning(seed: int, tmp_path: Path) -> None:
    assert compiler().command
    for suite in generate(seed), shapes_suite(seed, 40):
        for name, text in ("program", suite.source), ("oracle", oracle(suite)):
            source = tmp_path / f"{name}.c"
            source.write_text(text, encoding="ascii")
            assert "define" in to_ir(source, STRICT, tmp_path, canonical=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_prints_one_line_of_finite_numbers_for_each_kernel(seed: int, tmp_path: Path) -> None:
    suite = generate(seed)
    first = output(suite.source, tmp_path, "program")
    lines = first.splitlines()
    assert [line.split()[0] for line in lines] == [kernel.name for kernel in suite.kernels]
    number = r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?"
    form = re.compile(rf"kernel_\d+( [df]={number}(?:,{number}){{5}})* whole=[0-9a-f]{{16}}")
    assert all(form.fullmatch(line) for line in lines)
    assert output(suite.source, tmp_path, "again") == first
    assert differences(suite, first, first) == {}


def test_a_healthy_share_of_the_kernels_may_be_reordered(tmp_path: Path) -> None:
    verdicts = [verdict for seed in SEEDS for verdict in run_oracle(generate(seed), tmp_path).values()]
    assert len(verdicts) == 200
    assert 0.4 < sum(verdicts) / len(verdicts) < 0.75


def _unindented(text: str) -> str:
    return "\n".join(line.removeprefix("    ") for line in text.splitlines())
