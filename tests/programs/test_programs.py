"""Whole programs as users have them: the layout of the hot loop stays in force over all of their steps."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tracecut.codegen.runtime.schedule_listing import first_look
from tracecut.support.errors import UnsupportedError
from tracecut.support.process.runner import Limits, run
from tracecut.support.tolerances import OUTPUT

from tracecut.pipeline.stages.compare_outputs import compare_outputs
from tracecut.pipeline.stages.tune import scope_exits

from ..codegen.harness import Inspected, Program, trace
from ..codegen.woven_programs import run_woven, woven
from ..waiting import HUNG

FOLDER = Path(__file__).parent
PROGRAMS = sorted(path.name for suffix in ("c", "cpp") for path in FOLDER.glob(f"*.{suffix}"))
EXITS = {  # how many parts run seldom; where that is said by the last word: further words to try
    "blocks_one_based": (0, []),
    "cell_list": (1, []),
    "cells_heated": (0, []),
    "cells_tiled": (0, []),
    "cg_restarts": (0, []),
    "cg_routines": (0, ["899", "7", "3"]),  # shorter vectors, down to those that no unrolled loop runs for
    "cloth": (0, []),
    "coefficients": (0, []),
    "ends_alike": (0, []),
    "features_mean": (0, []),
    "features_pointed": (0, ["1", "8"]),
    "fem_assembly": (0, []),
    "fields_restrict": (0, []),
    "fluxes_bounded": (2, ["0.01", "0.005", "0.0001"]),
    "fluxes_told": (0, ["told"]),
    "gathers_transform": (0, []),
    "heat_reported": (2, ["0", "3", "19"]),
    "history_steps": (2, []),
    "image_warp": (0, []),
    "jacobi_arrays": (0, []),
    "jacobi_references": (0, []),
    "labels_spread": (0, []),
    "links_pairs": (0, []),
    "lists_ended": (0, ["1", "3", "100"]),
    "lattice_streaming": (0, []),
    "levels_from_below": (0, []),
    "mesh_allocating": (2, ["1", "3", "100"]),
    "mesh_buffers": (3, ["1", "3", "100"]),
    "mesh_checked": (0, []),
    "mesh_classes": (1, ["other"]),
    "mesh_colour_vectors": (0, []),
    "mesh_colours": (0, []),  # pieces that do not follow each other
    "mesh_dump_block": (1, ["1", "3", "100"]),
    "mesh_dump_text": (0, ["1", "3", "100"]),
    "mesh_forking": (1, ["1", "3", "100"]),
    "mesh_functions": (3, ["swap", "foreign"]),
    "mesh_growing": (1, ["4", "15"]),
    "mesh_kept": (0, []),
    "mesh_local": (0, ["7"]),
    "mesh_logs": (1, ["much"]),
    "mesh_openmp": (0, []),
    "mesh_ordered": (0, []),
    "mesh_refined": (1, ["0.001", "0.05"]),
    "mesh_scratch": (1, ["1", "3", "100"]),
    "mesh_smoothing": (0, []),
    "mesh_stages": (0, []),
    "mesh_temporaries": (0, ["throw"]),
    "mesh_upwind": (0, []),
    "mesh_walls": (0, ["1", "3", "100"]),
    "nets_spread": (0, []),
    "pagerank_degrees": (0, []),
    "pagerank_first": (4, ["told", "links"]),  # the copy that the first step makes is there where the scope begins
    "pagerank_prints": (1, ["1"]),  # characters are widened once
    "pagerank_push": (0, []),
    "pagerank_vectors": (0, []),
    "particles_in_cells": (0, []),
    "nodes_ended": (1, ["1", "3", "100"]),
    "nodes_first": (0, ["1", "3", "100"]),
    "nodes_near": (0, []),
    "objects_pointed": (1, ["1", "2", "7", "100"]),
    "observers": (0, ["shared"]),
    "lattice_rows": (0, ["shared"]),
    "points_structs": (0, ["shared"]),
    "springs_pointed": (0, []),
    "state_vectors": (0, []),
    "rows_written": (0, ["shared"]),
    "waves_complex": (0, []),
    "rows_allocated": (0, []),
    "rows_checked": (1, ["0", "1", "7", "100"]),
    "rows_counted": (0, []),
    "rows_ended": (0, []),
    "rows_growing": (1, ["1", "3", "100"]),
    "rows_records": (0, []),
    "rows_sliced": (0, []),
    "shortest_paths": (0, []),
    "steps_freed": (3, ["1", "3", "100"]),
    "steps_returned": (11, []),
    "tets_matrix_free": (0, []),
    "triangles_matrices": (0, []),
    "trust_region": (2, ["other"]),
    "two_levels": (0, []),
    "vertices_listed": (0, []),
    "views": (0, []),
}

OWN_ORDER = ["mesh_stages.c", "rows_growing.c"]  # one with rows that are read from a copy

CHANGED = {  # steps in the original order: with other rows than those of the schedule, before scratch space is there
    "rows_growing": 13,
    "mesh_allocating": 1,
    "mesh_buffers": 1,
    "mesh_scratch": 1,
    "pagerank_first": 1,
}
STAYS = {
    "cell_list",
    "fem_assembly",
    "image_warp",
    "particles_in_cells",
}  # jobs are moved, and their own records

# Programs that compute with indices, or with other whole numbers that may be some: those are read with old numbers.
COMPUTES = frozenset(
    "cell_list ends_alike fem_assembly links_pairs nodes_first nodes_near observers "
    "rows_allocated rows_counted rows_growing".split()
)


# Of which the host evaluates the loops at each entry, to see whether a schedule is for its data.
EVALUATED = frozenset(
    "levels_from_below mesh_colour_vectors mesh_colours mesh_smoothing mesh_temporaries rows_checked".split()
)


def widest(subject: Program, *, stays: bool = False) -> Inspected:
    """The loop with the most iterations that is indexed, in its outermost scope, with the fewest exits that do.

    `stays`: some of what it reaches stays in any scope; the first is taken in which most moves.
    """
    profile, analysis = subject.traced.profile, subject.compiled.analysis
    around = [loop for loop in profile.captures if len(subject.scopes_of(loop)) > 1]
    region = max(
        around,
        key=lambda one: (profile.iterations[one] // max(1, profile.entries[one]), profile.iterations[one], -one),
    )
    scope = subject.scopes_of(region)[0]
    best: Inspected | None = None
    for exits, _ in scope_exits(analysis, subject.traced, scope, region):
        try:
            found = subject.inspect_in("widest", region, scope, exits)
        except UnsupportedError:
            continue
        moved, stay = found.inspection.gathered(region)
        if found.inspection.verdicts[region].movable and moved and not stay:
            return found
        if stays and (best is None or found.inspection.rank(region) > best.inspection.rank(region)):
            best = found
    assert best is not None and best.inspection.verdicts[region].movable, "nothing can be moved over all steps"
    return best


def test_no_smaller_scope_would_move_more(tmp_path: Path) -> None:
    """Where cells begin stays: they are picked by what is computed, in any scope."""
    for header in FOLDER.glob("*.h"):
        shutil.copy(header, tmp_path)
    subject = trace((FOLDER / "cell_list.c").read_text(), tmp_path, ["30", "20", "0"])
    item = widest(subject, stays=True)
    assert item.inspection.gathered(item.region)[1] and item.inspection.settled(item.region)
    alone = subject.inspect_in("widest", item.region, item.region).inspection
    assert item.scope != item.region and alone.rank(item.region) == item.inspection.rank(item.region)


# In the shape of another one that always runs.
LONG = frozenset(
    "blocks_one_based.c features_mean.cpp fields_restrict.c gathers_transform.cpp lattice_streaming.c "
    "mesh_dump_text.c mesh_functions.cpp mesh_growing.c mesh_local.c mesh_logs.cpp mesh_refined.c "
    "mesh_temporaries.cpp nodes_near.c observers.c pagerank_vectors.cpp points_structs.c rows_counted.c "
    "rows_ended.c rows_sliced.c tets_matrix_free.c fluxes_told.c mesh_walls.c jacobi_references.cpp rows_records.c "
    "mesh_colour_vectors.cpp image_warp.c two_levels.c rows_allocated.c mesh_checked.cpp lattice_rows.c "
    "mesh_classes.cpp state_vectors.cpp links_pairs.cpp nets_spread.cpp views.cpp cloth.cpp mesh_smoothing.cpp "
    "pagerank_prints.cpp waves_complex.cpp pagerank_first.cpp jacobi_arrays.cpp features_pointed.c mesh_buffers.c "
    "nodes_ended.c cg_restarts.c fluxes_bounded.c mesh_upwind.c mesh_dump_block.c pagerank_push.c particles_in_cells.c "
    "labels_spread.c nodes_first.c history_steps.cpp cells_tiled.cpp mesh_allocating.c rows_growing.c "
    "mesh_kept.cpp mesh_forking.c ends_alike.cpp heat_reported.cpp rows_checked.cpp trust_region.cpp objects_pointed.c "
    "lists_ended.c mesh_scratch.c steps_freed.c mesh_ordered.c mesh_stages.c levels_from_below.c "
    "pagerank_degrees.c springs_pointed.cpp cells_heated.c triangles_matrices.c".split()
)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name in LONG else name for name in PROGRAMS]
)
def test_programs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # what a program writes
    for header in FOLDER.glob("*.h"):
        shutil.copy(header, tmp_path)
    path = FOLDER / name
    name = path.stem
    subject = trace(path.read_text(), tmp_path, ["30", "20", "0"], suffix=path.suffix)
    item = widest(subject, stays=name in STAYS)
    count, further = EXITS[name]
    assert len(item.inspection.accesses.nest.exits) == count
    computes = any(slot.kind == "data-base" for slot in item.cut_out[1][item.region].slots)
    assert computes == (name in COMPUTES)
    made = woven([item], [item.schedule(item.random(1))])
    assert first_look(made[1][0], "woven-0.npz", tmp_path)["complete"] == (name not in EVALUATED)
    for words in ([], *([word] for word in further)):
        argv = [*subject.settings.argv, *words]
        native = run([subject.compiled.native, *argv], folder=tmp_path, name="native", limits=Limits(HUNG))
        ran = run_woven(subject, made, argv=argv)
        assert ran.code == native.returncode == 0
        assert compare_outputs(native.stdout.read_bytes(), ran.stdout, tolerance=OUTPUT).equal, words
        if not words:
            assert ran.report["regions"][str(item.region)]["declined"] == CHANGED.get(name, 0)


@pytest.mark.parametrize("name", OWN_ORDER)
def test_the_own_order_on_threads(name: str, tmp_path: Path) -> None:
    """It moves nothing, and reads the program's own arrays, or rows behind pointers where they were copied to."""
    for header in FOLDER.glob("*.h"):
        shutil.copy(header, tmp_path)
    path = FOLDER / name
    subject = trace(path.read_text(), tmp_path, ["30", "20", "0"], suffix=path.suffix)
    item = widest(subject, stays=path.stem in STAYS)
    made = woven([item], [item.schedule(item.unchanged(), 2)], threads=2)
    native = run([subject.compiled.native, *subject.settings.argv], folder=tmp_path, name="native", limits=Limits(HUNG))
    ran = run_woven(subject, made, cpus=(0, 0))
    assert ran.code == native.returncode == 0 and all(ran.used.values())
    assert compare_outputs(native.stdout.read_bytes(), ran.stdout, tolerance=OUTPUT).equal
