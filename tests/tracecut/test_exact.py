"""A program that amplifies rounding: what is accepted on a few steps, what `--exact` refuses, what `--check` finds."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

import pytest
from tracecut.support.progress import Progress
from tracecut.support.tolerances import OUTPUT

import tracecut
from tracecut.cli.run_check import Found, compare
from tracecut.pipeline.output.use_counts import print_usage
from tracecut.pipeline.stages.settings import Settings
from tracecut.pipeline.supervise import optimize_program

# Sums over neighbours, then a map that enlarges every difference: equal after 8 steps, other after 60.
CHAOS = r"""
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
static int from[40000], to[40000];
static double value[10000], sum[10000];
int main(int argc, char **argv) {
    int steps = argc > 1 ? atoi(argv[1]) : 8, status = argc > 2 ? atoi(argv[2]) : 0;
    unsigned state = 1;
    for (int e = 0; e < 40000; e++) {
        state = state * 1664525u + 1013904223u;
        from[e] = (int)((state >> 8) % 10000u);
        state = state * 1664525u + 1013904223u;
        to[e] = (int)((state >> 8) % 10000u);
    }
    for (int i = 0; i < 10000; i++) value[i] = 1.0 / (i + 3);
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < 10000; i++) sum[i] = 0;
        for (int e = 0; e < 40000; e++) sum[to[e]] += value[from[e]];
        for (int i = 0; i < 10000; i++) {
            double part = sum[i] - floor(sum[i]);
            value[i] = 3.9 * part * (1 - part);
        }
    }
    double all = 0;
    for (int i = 0; i < 10000; i++) all += value[i];
    printf("%d steps: %.6f\n", steps, all);
    FILE *file = fopen("last.txt", "w");
    for (int i = 0; i < 10; i++) fprintf(file, "%.6f\n", value[i]);
    fclose(file);
    fprintf(stderr, "status %d\n", status);
    return status;
}
"""
SCATTERED = "for (int e = 0; e < 40000; e++) sum[to[e]] += value[from[e]];"
ROWS = CHAOS.replace(SCATTERED, "for (int e = 0; e < 10000; e++) sum[e] = value[from[e]] + value[to[e]];")
# The same rows, and a sum over all of them in each step, in the order of memory.
DOT = (
    ROWS.replace(
        "value[i] = 3.9 * part * (1 - part);\n        }",
        "value[i] = 3.9 * part * (1 - part);\n        }\n"
        "        double dot = 0;\n"
        "        for (int i = 0; i < 10000; i++) dot += sum[i] * value[i]; // dot\n"
        "        dots[step] = dot;",
    )
    .replace("sum[10000];", "sum[10000], dots[100];")
    .replace("double all = 0;", "double all = dots[steps / 2];")
)

# And the same sum, five products at a time.
FIVE = DOT.replace(
    "i++) dot += sum[i] * value[i];",
    "i += 5) dot += " + " + ".join(f"sum[i + {part}] * value[i + {part}]" for part in range(5)) + ";",
)


def built(folder: Path, text: str, *, exact: bool, steps: str = "8") -> tuple[Path, tracecut.Optimized]:
    source = folder / "chaos.c"
    source.write_text(text)
    settings = Settings(
        (str(source),), argv=(steps,), output=folder / "out", force=True, loop_budget=0.1, method="rcm", exact=exact
    )
    with chdir(folder):  # the program leaves a file where it runs
        return folder / "out", optimize_program(settings, Progress(quiet=True))


@pytest.fixture(scope="module")
def chaos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output, result = built(tmp_path_factory.mktemp("chaos"), CHAOS, exact=False)
    assert result.improved, [region["reason"] for region in result.regions]
    return output


def check(output: Path, folder: Path, *words: str) -> tuple[int, str, str]:
    command = [sys.executable, "-P", "-m", "tracecut", "run", str(output), "--check", "--threads", "1", "--", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    return done.returncode, done.stdout, done.stderr


def test_a_check_of_the_run_that_was_compared(chaos: Path, tmp_path: Path) -> None:
    (tmp_path / "last.txt").write_text("mine")
    status, said, complaint = check(chaos, tmp_path, "8", "7")
    assert (status, complaint) == (0, "")
    assert said.startswith("equal: exit status, stdout, stderr, last.txt; ")
    assert "layout: used in " in said and "used in 0 of" not in said
    assert [path.name for path in tmp_path.iterdir()] == ["last.txt"]  # both ran in copies
    assert (tmp_path / "last.txt").read_text() == "mine"


def test_a_check_of_a_longer_run_finds_the_difference(chaos: Path, tmp_path: Path) -> None:
    status, said, _ = check(chaos, tmp_path, "60")
    assert status == 4
    assert "different: stdout, line 1: " in said and "different: last.txt, line 1: " in said


def test_output_that_rounding_has_changed_leads_to_exact(tmp_path: Path) -> None:
    _, result = built(tmp_path, CHAOS, exact=False, steps="60")
    assert not result.improved
    assert any("if that is rounding, --exact keeps every bit" in region["reason"] for region in result.regions)


def test_exact_refuses_sums_in_another_order(tmp_path: Path) -> None:
    _, result = built(tmp_path, CHAOS, exact=True)
    assert not result.improved
    assert any("--exact allows none of it" in region["reason"] for region in result.regions)


COUNTED = (
    ROWS.replace("#include <math.h>", "#include <math.h>\n#include <unistd.h>")
    .replace(
        "    double all = 0;",
        '    FILE *runs = fopen("%s", "a");\n    fputc(1, runs);\n    long run = ftell(runs);\n    fclose(runs);\n'
        "    double all = 0;",
    )
    .replace("return status;", "%s")
)


@pytest.mark.parametrize(
    ("end", "why"),
    [
        (
            'printf("%s\\n", run < 3 ? "same" : "other"); return 0;',
            "line 2 of its output changes from 'same' to 'other'",
        ),
        ("return run < 3 ? 5 : 6;", "the rescheduled program failed: it ended with status 6, the original with 5"),
    ],
    ids=["output", "status"],
)
def test_a_rescheduled_program_that_does_something_else_is_refused(end: str, why: str, tmp_path: Path) -> None:
    """Its third run is the first of the rescheduled program; the two before it, native and traced, agree."""
    output, result = built(
        tmp_path, COUNTED.replace("%s", str(tmp_path / "runs"), 1).replace("%s", end, 1), exact=False
    )
    assert not result.improved
    assert any(why in region["reason"] for region in result.regions), [region["reason"] for region in result.regions]
    listing = json.loads((output / "host.json").read_text())
    assert listing["scopes"] == []


def test_a_traced_program_that_ends_otherwise_is_left_alone(tmp_path: Path) -> None:
    text = COUNTED.replace("%s", str(tmp_path / "runs"), 1).replace("%s", "return run < 2 ? 5 : 6;", 1)
    output, result = built(tmp_path, text, exact=False)
    assert not result.improved and not result.regions
    reason = json.loads((output / "manifest.json").read_text())["program"]["reason"]
    assert reason.startswith("the instrumented program ended with status 6, the original with 5: "), reason


def test_a_check_finds_another_status() -> None:
    first, second = Found("status 0", {}), Found("status 3", {})
    assert compare(first, second, exact=False) == [
        "the original ended with status 0, the rescheduled program with status 3"
    ]
    assert compare(first, second, exact=False, again=first) == compare(first, second, exact=False)
    assert compare(first, first, exact=False) == []
    assert compare(first, second, exact=False, again=second) == [], "it differs by itself"


def test_exact_keeps_what_is_equal_bit_by_bit(tmp_path: Path) -> None:
    output, result = built(tmp_path, ROWS, exact=True)
    assert result.improved, [region["reason"] for region in result.regions]
    status, said, _ = check(output, tmp_path, "60")
    assert status == 0 and "bit for bit" in said


def line_of(text: str, mark: str) -> int:
    return text[: text.index(mark)].count("\n") + 1


@pytest.mark.parametrize("text", [DOT, FIVE], ids=["DOT", "FIVE"])
def test_a_sum_over_data_in_a_new_order_is_told(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No iteration of the region is rounded otherwise; the sum beside it is, and that is said wherever one may look."""
    output, result = built(tmp_path, text, exact=False)
    (region,) = [region for region in result.regions if region["decision"] == "optimized"]
    place = f"chaos.c:{line_of(text, '// dot')}"
    assert region["class"] == "parallel" and region["max_rel_error"] == 0 and region["tolerance"] == {"output": OUTPUT}
    assert [Path(line).name for line in region["rounding"]] == [place] and region["bit_equal"] is False
    assert region["scope"]["rounding"] == region["rounding"]
    assert f"Reordered sums</dt><dd>{place}" in re.sub(r"\s*\n\s*", "", (output / "report.html").read_text())
    assert "RoundedOtherwise" in (output / "remarks.yaml").read_text()
    assert print_usage(output, as_json=False) == 0
    assert f"rounded differently: sums of {place}, in the order of the new layout" in capsys.readouterr().out


@pytest.mark.parametrize("text", [DOT, FIVE], ids=["DOT", "FIVE"])
def test_exact_keeps_the_order_of_such_a_sum(text: str, tmp_path: Path) -> None:
    """Its data stay in the new order, and it looks them up one by one, in the order of the program."""
    output, result = built(tmp_path, text, exact=True)
    (region,) = [region for region in result.regions if region["decision"] == "optimized"]
    assert region["rounding"] == [] and region["bit_equal"] is True and region["tolerance"] == {}
    assert region["line"] == line_of(text, "for (int e = 0; e < 10000; e++) sum[e]")
    assert region["scope"]["line"] == line_of(text, "for (int step = 0;")
    assert any("which --exact keeps: each record that it takes is looked up there" in why for why in region["kept"])
    status, said, _ = check(output, tmp_path, "60")
    assert status == 0 and "bit for bit" in said


def test_a_check_of_what_was_not_changed(refused: Path, tmp_path: Path) -> None:
    assert check(refused, tmp_path)[:2] == (0, "nothing was optimized: the original program runs in either case\n")
