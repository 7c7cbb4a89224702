"""GPU kernels in reports: what was chosen, the table of what was considered, or why there is none."""

from __future__ import annotations

from typing import Any

import pytest
from tracecut.support.errors import ArtefactError

from tracecut.pipeline.stages.publish import remarks_of
from tracecut.report import ReportData, render_report
from tracecut.report.terminal import render_summary

from .conftest import manifest, region

pytestmark = pytest.mark.quick
ROWS = [
    {"variant": "original", "threads": 256, "jobs": 1024, "seconds": 4e-5, "l2_bytes": 4 << 20, "hbm_bytes": 1 << 20},
    {"variant": "smem", "threads": 64, "jobs": 512, "seconds": 1e-5, "l2_bytes": 1 << 20, "hbm_bytes": 1 << 20},
    {"variant": "readonly", "threads": 256, "jobs": 1024, "seconds": None, "why": "no index leads to <what> it writes"},
]
CHOSEN: dict[str, Any] = {
    "gpu": "NVIDIA H200",
    "arch": "sm_90",
    "file": "a.c",
    "line": 7,
    "path": "kernels/loop7-h200.ptx",
    "reason": "it has the least predicted time",
    "variant": "smem",
    "threads": 64,
    "blocks": 20,
    "shared_bytes": 2048,
    "seconds": 1e-5,
    "original_seconds": 4e-5,
    "considered": ROWS,
}
NONE = {"gpu": "NVIDIA H200", "file": "a.c", "line": 7, "path": "", "reason": "it chases <pointers>"}


def data(gpu: dict[str, Any] | None, regions: int = 1) -> ReportData:
    items = [region(id=f"a-{n}", file="a.c", line=7 + n, reason="its own", gpu=gpu) for n in range(regions)]
    return ReportData.from_manifest(manifest(source=["a.c"], regions=items), folder="out")


def test_the_report_shows_the_table_of_considered_kernels() -> None:
    page = render_report(data(CHOSEN))
    for text in ("GPU kernel", "NVIDIA H200", "20 blocks of 64 threads", "kernels/loop7-h200.ptx", "25%", "1 MiB"):
        assert text in page
    assert "no index leads to &lt;what&gt; it writes" in page and "<what>" not in page
    assert page.count('class="chosen"') == 1
    assert "nothing was measured on a card" in page


def test_what_a_card_measured_is_shown() -> None:
    rows = [ROWS[0] | {"measured": 9e-5}, ROWS[1] | {"measured": 3e-5, "chosen": True}, ROWS[2]]
    page = render_report(data({**CHOSEN, "considered": rows, "measured": 3e-5}))
    assert "90 µs measured" in page and "30 µs measured" in page and "launched on this machine" in page
    assert "nothing was measured" not in page
    line = "GPU a.c:7: smem, 40 -> 10 us predicted, 30 us measured on NVIDIA H200"
    assert line in render_summary(data({**CHOSEN, "considered": rows, "measured": 3e-5}))


def test_a_loop_without_a_kernel_has_the_reason() -> None:
    page = render_report(data(NONE))
    assert "it chases &lt;pointers&gt;" in page and "predicted by the memory model" not in page


def test_a_kernel_that_the_program_does_not_use_says_why() -> None:
    """`tracecut run --device` refers to the report."""
    why = "no loop around it keeps its data on the card"
    page = render_report(data({**CHOSEN, "alone": why}))
    assert "Not in the program's place: " in page and why in page
    assert "program's place" not in render_report(data(CHOSEN))


def test_a_loop_beside_another_is_not_without_a_kernel() -> None:
    page = render_report(data({**NONE, "reason": "", "beside": "a.c:22"}))
    assert "runs beside a.c:22 on NVIDIA H200" in page and "<strong>none</strong>" not in page


@pytest.mark.parametrize(
    ("entry", "kind", "said"),
    [
        (NONE, "missed", "NVIDIA H200: it chases <pointers>"),
        ({**NONE, "reason": "", "beside": "a.c:22"}, "analysis", "runs beside a.c:22 on NVIDIA H200"),
        (CHOSEN, "analysis", "smem is the kernel for NVIDIA H200: it has the least predicted time"),
        (
            {**CHOSEN, "alone": "no room"},
            "analysis",
            "smem is the kernel for NVIDIA H200: it has the least predicted time; not in the program's place: no room",
        ),
    ],
)
def test_remarks(entry: dict[str, Any], kind: str, said: str) -> None:
    whole = region(
        file="a.c",
        line=7,
        gpu=entry,
        decision="refused",
        reason="its own",
        places=[],
        candidates=[],
        kept=[],
        kernels=[],
    )
    (found,) = (remark for remark in remarks_of(whole) if remark.name == "GpuKernel")
    assert (found.kind, "".join(text for _, text in found.args)) == (kind, said)


def test_without_a_gpu_nothing_is_said() -> None:
    assert "GPU" not in render_report(data(None)) and "GPU" not in render_summary(data(None))


def test_the_summary_has_a_line() -> None:
    assert "GPU a.c:7: smem, 40 -> 10 us predicted on NVIDIA H200" in render_summary(data(CHOSEN))
    assert "GPU a.c:7: no kernel for NVIDIA H200: it chases <pointers>" in render_summary(data(NONE))


@pytest.mark.parametrize("regions", [1, 3, 40])
def test_the_summary_fits_one_screen(regions: int) -> None:
    assert render_summary(data({**NONE, "reason": "long " * 99}, regions)).count("\n") <= 24


def test_many_rows_are_cut() -> None:
    rows = [{**ROWS[1], "jobs": 64 + n, "seconds": 1e-5 + n * 1e-7} for n in range(60)]
    assert "and 20 more" in render_report(data({**CHOSEN, "considered": rows}))


@pytest.mark.parametrize("wrong", [{"considered": [3]}, {"seconds": "fast"}, {"considered": "all"}, {"line": []}])
def test_damaged_manifests_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ArtefactError, match=r"manifest\.regions\[0\]\.gpu"):
        data({**CHOSEN, **wrong})
