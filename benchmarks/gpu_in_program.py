"""Whole programs with their loops on a card (`tracecut run --device`), beside the same programs as users build them.

`python benchmarks/gpu_in_program.py --prepare FOLDER` optimizes the samples on any machine, in about fifteen minutes.
`python benchmarks/gpu_in_program.py FOLDER --json benchmarks/results/gpu_in_program.json` runs them on a machine with a
card, which needs no compiler: the program and its run on the card take turns, and medians are compared. Times are those
of the time steps, which the programs tell, and of the whole process. Copies and guards are part of both.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent))

from rows import Row, print_rows, read_rows, write_rows
from tracecut.codegen.devices.device import EMULATED, open_device

SAMPLES = Path(__file__).parent.parent / "samples"
ROUNDS = 3
STEPS = re.compile(r"time steps ([\d.]+) s")


@dataclass(frozen=True)
class Case:
    """A program: arguments that it is optimized with, and those that it runs with on the card."""

    name: str
    made: tuple[str, ...]
    argv: tuple[str, ...]


CASES = (
    Case("mesh_flux", ("--steps", "4"), ("--steps", "20")),
    Case("spmv_cg", ("--steps", "1"), ("--steps", "3")),
    Case("graph_heat", ("--scale", "18", "--steps", "5"), ("--scale", "18", "--steps", "200")),
    Case("md_forces", ("--scale", "1", "--steps", "4"), ("--scale", "1", "--steps", "40")),
)


@dataclass(frozen=True)
class Ran:
    """A run: seconds of the time steps and of the process, and what it printed."""

    steps: float
    whole: float
    out: str
    said: str


def ran(command: list[str]) -> Ran:
    start = time.perf_counter()
    done = subprocess.run(command, cwd=SAMPLES.parent, capture_output=True, text=True, check=True)
    whole = time.perf_counter() - start
    told = STEPS.search(done.stderr)
    if told is None:
        raise SystemExit(f"{command[0]} tells no time of its steps: {done.stderr[-500:]}")
    return Ran(float(told[1]), whole, done.stdout, done.stderr)


def largest_gap(first: str, second: str) -> float:
    """Largest relative difference between the numbers of two outputs; infinite where the words differ."""
    words, others = first.split(), second.split()
    if len(words) != len(others):
        return float("inf")
    worst = 0.0
    for word, other in zip(words, others, strict=True):
        if word != other:
            try:
                a, b = float(word), float(other)
            except ValueError:
                return float("inf")
            worst = max(worst, abs(a - b) / max(abs(a), 1e-300))
    return worst


def measured(case: Case, folder: Path, device: str) -> list[Row]:
    """Rows of a program."""
    result, counters = (folder / case.name).resolve(), (folder / f"{case.name}.json").resolve()
    native, ours = [], []
    command = [
        sys.executable,
        "-P",
        "-m",
        "tracecut",
        "run",
        str(result),
        "--device",
        device,
        "--counters",
        str(counters),
    ]
    for _ in range(ROUNDS):
        native.append(ran([str(result / "program"), *case.argv]))
        ours.append(ran([*command, "--", *case.argv]))
    remarks = [line for line in ours[-1].said.splitlines() if line.startswith("tracecut: ")]
    found = json.loads(counters.read_text())
    counts, words = found["device"], " ".join(case.argv)
    guards = sum(scope["guard_nanoseconds"] for scope in found["scopes"].values()) / 1e9
    gap = max(largest_gap(native[0].out, run.out) for run in ours)

    def row(metric: str, value: float, peer: str = "", peer_value: float | None = None, note: str = "") -> Row:
        return Row(f"{case.name} {words}", "scattered", metric, value, peer, peer_value, note)

    spread = max(run.steps for run in ours) / min(run.steps for run in ours)
    steps, whole = (median(getattr(run, name) for run in ours) for name in ("steps", "whole"))
    before, all_before = (median(getattr(run, name) for run in native) for name in ("steps", "whole"))
    return [
        row("s of time steps", steps, "the program", before, f"spread {spread:.2f}; {'; '.join(remarks)}".strip("; ")),
        row("s of the process", whole, "the program", all_before),
        row("s of kernels", counts["running"] / 1e9, note=f"{counts['launches']} launches"),
        row("s of copies", counts["copying"] / 1e9, note=f"{counts['sent']} bytes there, {counts['fetched']} back"),
        row("s of guards", guards),
        row("largest relative difference", gap, "bar ≤", 1e-9),
    ]


def prepare(folder: Path, gpu: str) -> None:
    """Optimize the programs for a card."""
    folder.mkdir(parents=True, exist_ok=True)
    for case in CASES:
        command = [
            sys.executable,
            "-P",
            "-m",
            "tracecut",
            "optimize",
            str(SAMPLES / f"{case.name}.c"),
            "-lm",
            "--gpu",
            gpu,
        ]
        command += ["--loop-budget", "20", "-o", str((folder / case.name).resolve()), "--", *case.made]
        subprocess.run(command, cwd=SAMPLES.parent, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="what --prepare made")
    parser.add_argument("--prepare", type=Path, metavar="FOLDER", help="optimize the samples; no card is needed")
    parser.add_argument("--gpu", default="h200", help="the card's name among tracecut's descriptions")
    parser.add_argument("--device", default="gpu", choices=["gpu", "emulated"], help="where the loops run")
    parser.add_argument("--programs", nargs="*", default=[case.name for case in CASES], help="which")
    parser.add_argument("--json", type=Path, help="write the rows there, beside those of other programs")
    options = parser.parse_args()
    if options.prepare is not None:
        prepare(options.prepare, options.gpu)
        return
    if options.folder is None:
        parser.error("a folder is needed: make one with --prepare FOLDER")
    rows = read_rows(options.json)
    for case in CASES:
        if case.name in options.programs and (options.folder / case.name).is_dir():
            new = measured(case, options.folder, options.device)
            print_rows(new)
            rows |= {(row.input, row.order, row.metric): row for row in new}
            if options.json is not None:
                card = open_device(0 if options.device == "gpu" else EMULATED).description
                write_rows(options.json, "gpu_in_program", list(rows.values()), gpu=options.gpu, card=card)


if __name__ == "__main__":
    main()
