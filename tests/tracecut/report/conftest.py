"""Hand-made manifests of every kind of result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tracecut.report import RegionFigures, Remark, ReportData

ROOT = "/home/somebody/work/flow"

MESH_SOURCE = """\
/* The residual of every cell: the sum of the fluxes through its faces. */
static void collect_fluxes(const Mesh *m, State *s)
{
    for (int e = 0; e < m->n_edges; e++) {
        int a = m->ea[e], b = m->eb[e];
        Flux f = rusanov(s, a, b, m->nx[e], m->ny[e]);
        s->res_h[a] -= f.h;
        s->res_h[b] += f.h;
        s->res_hu[a] -= f.hu;
        s->res_hu[b] += f.hu;
    }
}

static void advance(const Mesh *m, State *s, double dt)
{
    for (int i = 0; i < m->n_vertices; i++) {
        double factor = dt / m->volume[i];
        s->h[i] += factor * s->res_h[i];
        s->res_h[i] = 0;
    }
}

static void simulate(const Mesh *m, State *s, int steps)
{
    for (int step = 0; step < steps; step++) {
        collect_fluxes(m, s);
        advance(m, s, time_step(m, s));
    }
}
""".splitlines()

PREFIX_SOURCE = """\
static void accumulate(Record *r, double first)
{
    r->level[0] = first + r->reading[r->sensor[0]];
    for (int i = 1; i < r->n; i++) {
        double before = r->level[i - 1];
        r->level[i] = r->keep[i] * before + r->reading[r->sensor[i]];
    }
}
""".splitlines()

MACHINE = {
    "name": "AMD EPYC 9354",
    "cores": 2,
    "caches": [
        {"level": 1, "size": 32768, "line": 64, "ways": 8, "shared_by": 1},
        {"level": 2, "size": 1048576, "line": 64, "ways": 8, "shared_by": 1},
        {"level": 3, "size": 33554432, "line": 64, "ways": 16, "shared_by": 2},
    ],
    "memory": 8 << 30,
}
UNMEASURED = ("original_seconds", "optimized_seconds", "speedup", "output_equal")


def region(**changes: Any) -> dict[str, Any]:
    """A region in which nothing was measured."""
    keys = """jobs data share method speedup_1t speedup_all threads original_ms optimized_ms copy_ms max_rel_error
    bit_equal inspect_ms break_even_sweeps pays_off_sweeps replication_before replication_after scope""".split()
    fixed = {"id": "r", "function": "", "file": "", "line": None, "class": "rejected", "decision": "refused"}
    return {**fixed, "reason": "", "candidates": [], "kernels": [], **dict.fromkeys(keys), **changes}


def manifest(**changes: Any) -> dict[str, Any]:
    """A manifest without regions."""
    values: dict[str, Any] = {
        "tracecut": "0.1.0",
        "source": ["prog.c"],
        "argv": [],
        "machine": None,
        "seed": None,
        "timings": {},
    }
    rest: dict[str, Any] = {
        "original_run_seconds": None,
        "capture_run_seconds": None,
        "program": dict.fromkeys(UNMEASURED),
        "regions": [],
    }
    return {**values, **rest, "remarks": "remarks.yaml", "report": "report.html", **changes}


def optimized_mesh() -> ReportData:
    fluxes = region(
        id="mesh_flux-4",
        function="collect_fluxes",
        file="mesh_flux.c",
        line=4,
        jobs=3145728,
        data=1048576,
        share=0.874,
        decision="optimized",
        reason="iterations meet only in reductions (fadd)",
        scope={"file": "mesh_flux.c", "line": 25},
        method="rcm",
        candidates=[
            candidate("original", None, 182.4, 91.7, None, 13.1),
            candidate("rcm", 412.7, 31.04, 16.21, 38.2, 0.62),
            candidate("degree-sort", 96.1, 140.2, 72.0, 37.5, 9.8),
            candidate("metis", 2810.0, 29.9, 15.8, 38.9, 0.58, "4 % faster, but pays off only after 186 sweeps"),
            candidate("spac", None, None, None, None, None, "not tried: the budget of 20 s was spent"),
        ],
        speedup_1t=182.4 / 31.04,
        speedup_all=182.4 / 16.21,
        threads=2,
        original_ms=182.4,
        optimized_ms=16.21,
        copy_ms=38.2,
        inspect_ms=412.7,
        break_even_sweeps=2.71,
        pays_off_sweeps=1.2,
        max_rel_error=2.1e-13,
        tolerance={"double": 1e-12, "output": 1e-7},
        bit_equal=False,
        replication_before=14.2,
        replication_after=1.09,
        kept=["coordinates: the loop at mesh_flux.c:16 accesses it together with an array that is not moved"],
        kernels=[
            {"target": "x86-64 host", "path": "kernels/mesh_flux-4.o", "variant": "private slots"},
            {"target": "sm_90", "path": "kernels/mesh_flux-4.ptx", "variant": "swap + reorder", "registers": 42},
            {"target": "sm_120", "path": None, "variant": None, "note": "the assembler knows no such target"},
        ],
    )
    fluxes["class"] = "reduction"
    update = region(
        id="mesh_flux-16",
        function="advance",
        file="mesh_flux.c",
        line=16,
        jobs=1048576,
        share=0.071,
        reason="its addresses are regular: no index is loaded, so there is no reuse to gain",
        places=[["mesh_flux.c", 16, 5, "advance"]],
    )
    update["class"] = "parallel"
    timings = {"compile": 0.81, "native run": 11.06, "trace": 3.2, "inspect": 4.9, "verify": 3.84, "report": 0.06}
    return ReportData.from_manifest(
        manifest(
            source=["mesh_flux.c"],
            argv=["data/bay.off", "--scale", "5", "--steps", "60"],
            flags=["-O2"],
            machine=MACHINE,
            seed=0,
            input_hash="9f2c51d0b6a7e3340c1d",
            timings=timings,
            original_run_seconds=11.06,
            capture_run_seconds=28.4,
            program={"original_seconds": 11.06, "optimized_seconds": 1.87, "speedup": 5.91, "output_equal": True},
            regions=[fluxes, update],
        ),
        folder="tracecut-out",
        figures={"mesh_flux-4": mesh_figures()},
        sources={"mesh_flux.c": MESH_SOURCE},
        remarks=[
            Remark(
                "passed",
                "Reordered",
                "collect_fluxes",
                (("String", "3145728 jobs reordered by rcm"),),
                "mesh_flux.c",
                4,
                5,
            ),
            Remark("analysis", "Layout", "simulate", (("String", "8 arrays renumbered"),), "mesh_flux.c", 25, 5),
            Remark("missed", "Regular", "advance", (("String", "no index is loaded"),), "mesh_flux.c", 16, 5),
        ],
        root=ROOT,
    )


def candidate(
    method: str,
    inspect: float | None,
    one: float | None,
    every: float | None,
    copy: float | None,
    misses: float | None,
    note: str = "",
) -> dict[str, Any]:
    times = {"inspect_ms": inspect, "region_ms": one, "region_all_ms": every, "copy_ms": copy, "threads": 2}
    return {"method": method, **times, "predicted_misses": misses, "note": note}


def mesh_figures() -> RegionFigures:
    before = [9.5, 0.9, 0.4, 0.2, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.15, 0.2, 0.3, 0.5, 0.9, 1.6, 2.9, 4.8, 3.1, 0.4]
    after = [9.5, 2.6, 2.2, 1.4, 0.9, 0.9, 1.3, 2.2, 3.2, 1.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.04, 0.03, 0.03, 0.02, 0.38]
    return RegionFigures.make(
        degrees=[
            (2, 240),
            (3, 4100),
            (4, 61200),
            (5, 221800),
            (6, 474000),
            (7, 214300),
            (8, 62100),
            (9, 9700),
            (10, 1100),
        ],
        cluster_sizes=[49152 + 37 * (11 * i % 13) for i in range(64)],
        reuse_before=list(enumerate(before)),
        reuse_after=list(enumerate(after)),
        cache_lines=[512, 16384, 524288],
        misses_before=[14.9, 13.1, 0.31],
        misses_after=[4.2, 0.62, 0.3],
    )


def refused_stencil() -> ReportData:
    sweep = region(
        id="dense_stencil-71",
        function="sweep",
        file=f"{ROOT}/dense_stencil.c",
        line=71,
        jobs=4096,
        share=0.93,
        reason="its addresses are regular: no index is loaded, so there is no reuse to gain",
        original_ms=18.3,
        candidates=[{"method": "original", "inspect_ms": None, "region_ms": 18.3, "note": ""}],
    )
    sweep["class"] = "parallel"
    return ReportData.from_manifest(
        manifest(
            source=[f"{ROOT}/dense_stencil.c"],
            argv=["--input=/home/somebody/private/charge.bin", "/home/somebody/elsewhere/out.txt"],
            machine={**MACHINE, "caches": []},
            seed=7,
            original_run_seconds=1.9,
            regions=[sweep],
        ),
        folder="tracecut-out",
        root=ROOT,
    )


def refused_prefix_sum() -> ReportData:
    loop = region(
        id="prefix_sum-4",
        function="accumulate",
        file="prefix_sum.c",
        line=4,
        jobs=16777216,
        share=0.61,
        reason="iterations 1 and 2 both touch level, byte 8: written and read",
        places=[{"file": "prefix_sum.c", "line": 6}, {"file": "prefix_sum.c", "line": 5}],
    )
    loop["class"] = "ordered"
    return ReportData.from_manifest(
        manifest(source=["prefix_sum.c"], argv=["--steps", "20"], machine=MACHINE, seed=0, regions=[loop]),
        folder="out/prefix",
        sources={"prefix_sum.c": PREFIX_SOURCE},
        remarks=[
            Remark(
                "missed",
                "Dependence",
                "accumulate",
                (("String", "iterations 1 and 2 both touch level"),),
                "prefix_sum.c",
                4,
            )
        ],
        root=ROOT,
    )


def all_null() -> ReportData:
    entry = {**region(), "decision": "optimized", "reason": None, "function": None, "file": None, "candidates": None}
    values = dict.fromkeys(manifest())
    return ReportData.from_manifest({**values, "regions": [entry, region(id="s")]}, root=ROOT)


def hostile() -> ReportData:
    """Strings of somebody who wants the report to do something."""
    script = '<script>alert("1")</script>'
    image = "'\"><img src=x onerror=alert(1)>"
    right_to_left = "\u202egnp.c\u202c \u05e9\u05dc\u05d5\u05dd"
    controls = "a\x1b[2J\x00\x07\r\nb\udc80\u2028"
    long = "x" * 5000 + "/" + "y" * 5000
    loop = region(
        id=image,
        function=script,
        file=script,
        line=2,
        share=0.5,
        decision="optimized",
        reason=f"{image} {right_to_left} {controls} & &lt; {long}",
        places=[{"file": script, "line": 1}, {"file": right_to_left, "line": 3}],
        scope={"file": controls, "line": 1},
        method=image,
        original_ms=1.0,
        optimized_ms=0.5,
        candidates=[
            {"method": image, "inspect_ms": 1.0, "region_ms": 0.5, "note": script},
            {"method": long, "note": image},
        ],
        kernels=[{"target": script, "path": image, "variant": right_to_left}],
        kept=[script],
    )
    other = region(
        id=script, function=image, file="\N{PILE OF POO}\N{ZERO WIDTH JOINER}\N{FAMILY}.c", line=1, reason=script
    )
    return ReportData.from_manifest(
        manifest(
            tracecut='0.1.0"><b>',
            source=[script, long],
            argv=[image, right_to_left, controls, long, "it's"],
            machine={"name": script, "cores": 2, "caches": [{"level": 1, "size": 32768}], "memory": 1},
            input_hash=image,
            timings={script: 1.0, image: 2.0},
            program={"original_seconds": 2.0, "optimized_seconds": 2.2, "speedup": 0.91, "output_equal": False},
            regions=[loop, other],
        ),
        folder=f"out\x1b[31m {image}",
        figures={image: RegionFigures.make(reuse_before=[(3, 1)], cache_lines=[(script, 4)], degrees=[(1, 1)])},
        sources={
            script: ["</pre><script>alert(2)</script>", "int x = 1 < 2 && 3 > 2; /* \u202e */", "\t" + "z" * 3000],
            right_to_left: ["a", "b", "\u05e9\u05dc\u05d5\u05dd = '\"';"],
        },
        remarks=[Remark("missed", image, script, (("String", right_to_left),), script, 1)],
        root=ROOT,
    )


def zero_regions() -> ReportData:
    return ReportData.from_manifest(manifest(original_run_seconds=0.002), folder="tracecut-out", root=ROOT)


def forty_regions() -> ReportData:
    regions = []
    for number in range(40):
        entry = region(
            id=f"r{number}",
            function=f"kernel_{number}",
            file=f"src/solver/part_{number % 4}/assembly_of_the_matrix.c",
            line=100 + number,
            share=0.3 / (number + 1),
            decision="optimized" if number % 8 == 3 else "refused",
            reason=f"iterations {number} and {number + 1} both touch matrix, byte {8 * number}: read and written",
        )
        entry["class"] = "parallel" if number % 8 == 3 else "ordered"
        if number % 8 == 3:
            times = {"original_ms": 10.0 * number, "speedup_1t": 2.0, "speedup_all": 3.7, "threads": 2}
            entry |= {**times, "method": "hilbert", "break_even_sweeps": 12.0, "pays_off_sweeps": 3.0}
        regions.append(entry)
    program = {"original_seconds": 60.0, "optimized_seconds": 55.2, "speedup": 1.087, "output_equal": True}
    return ReportData.from_manifest(
        manifest(source=["main.c", "assembly_of_the_matrix.c"], machine=MACHINE, program=program, regions=regions),
        folder="tracecut-out",
        root=ROOT,
    )


CASES: dict[str, Callable[[], ReportData]] = {
    made.__name__: made
    for made in (optimized_mesh, refused_stencil, refused_prefix_sum, all_null, hostile, zero_regions, forty_regions)
}


@pytest.fixture
def case() -> Callable[[str], ReportData]:
    """Maker of a hand-made report by its name."""
    return lambda name: CASES[name]()
