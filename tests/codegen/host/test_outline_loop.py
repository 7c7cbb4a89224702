"""The emitted range functions: against golden files, against a slow reference, and their odd corners."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from tracecut.codegen.host.region_library import batch_regions
from tracecut.codegen.runtime.executor import Executor
from tracecut.ir.llvm import Instruction
from tracecut.ir.llvm.substitute import replaced

from ..children import in_child
from ..harness import Inspected
from ..replays import load

Catalogue = Callable[[str], dict[str, Inspected | str]]


def loop(inspected: Catalogue, name: str, mark: str) -> Inspected:
    item = inspected(name)[mark]
    assert not isinstance(item, str), item
    return item


def normal(text: str) -> str:
    """Without the numbers of metadata, attribute groups and loops, which other parts of the program decide."""
    text = re.sub(r", !\w[\w.]* !\d+", "", text)
    text = re.sub(r" #\d+", "", text)
    return re.sub(r"@tc\.(loop|batch)\.\d+", r"@tc.\1", text).strip() + "\n"


@pytest.mark.parametrize(("mark", "variant"), [("edges", "plain"), ("edges", "batched"), ("local_rows", "plain")])
def test_emitted_text(inspected: Catalogue, mark: str, variant: str, golden: Callable[[str, str], None]) -> None:
    item = loop(inspected, "small", mark)
    outlined = item.cut_out[1]
    found = outlined if variant == "plain" else batch_regions(outlined, item.inspection.accesses)
    golden(f"ir/{mark}-{variant}.ll", normal(found[item.region].text))


def test_local_arrays_are_made_in_the_function(inspected: Catalogue) -> None:
    item = loop(inspected, "small", "local_rows")
    outlined = item.cut_out[1][item.region]
    (name,) = outlined.locals
    assert f"{name} = alloca [4 x double]" in outlined.text
    assert name not in {slot.name for slot in outlined.slots}
    assert f"@llvm.lifetime.start.p0(ptr nonnull {name})" in outlined.text


@pytest.mark.parametrize(
    ("mark", "expected"),
    [("scratch", ["[2 x i64]", "[8 x i64]"]), ("scratch_table", ["[3 x [3 x i64]]", "[3 x [4 x i64]]"])],
)
def test_arrays_that_every_iteration_fills_are_made_in_the_function(
    inspected: Catalogue, mark: str, expected: list[str]
) -> None:
    item = loop(inspected, "locals", mark)
    assert item.verdict == "reduction"
    outlined = item.cut_out[1][item.region]
    made = sorted(text for text in outlined.locals.values() if text.startswith("alloca"))  # and parts of them
    assert made == [f"alloca {type}, align 16" for type in expected]
    assert not outlined.locals.keys() & {slot.name for slot in outlined.slots}


def test_markers_of_arrays_that_are_handed_in_are_left_out(inspected: Catalogue) -> None:
    """LLVM wants an `alloca` there: with anything else it ends the process."""
    item = loop(inspected, "locals", "outliving_array")
    outlined = item.cut_out[1][item.region]
    assert not outlined.locals and "alloca" not in outlined.text and "lifetime" not in outlined.text


@pytest.mark.parametrize(
    ("text", "mapping", "expected"),
    [
        ("%p = phi ptr [ @x, %a ], [ %q, %b ]", {"@x": "%n", "%q": "%m"}, "%p = phi ptr [ %n, %a ], [ %m, %b ]"),
        ("%p = phi ptr [ @x, %a ], [ @xy, %b ]", {"@x": "%n"}, "%p = phi ptr [ %n, %a ], [ @xy, %b ]"),
        ("call void @f(ptr @f.x, ptr noundef @f)", {"@f.x": "%n"}, "call void @f(ptr %n, ptr noundef @f)"),
        ("%v = load i64, ptr @x, align 8", {"@x": "%n"}, "%v = load i64, ptr %n, align 8"),
        (
            "%v = load i64, ptr getelementptr inbounds (i8, ptr @x, i64 8), align 8",
            {"@x": "%n"},
            "%v = load i64, ptr getelementptr inbounds (i8, ptr @x, i64 8), align 8",
        ),
        (
            "%p = phi ptr [ getelementptr (i8, ptr @x, i64 8), %a ], [ @x, %b ]",
            {"getelementptr (i8, ptr @x, i64 8)": "%n", "@x": "%m"},
            "%p = phi ptr [ %n, %a ], [ %m, %b ]",
        ),
        (
            "%x = getelementptr i8, ptr @x, i64 %x.1",
            {"@x": "%n", "%x.1": "%i"},
            "%x = getelementptr i8, ptr %n, i64 %i",
        ),
        ("%v = select i1 %c, ptr @x, ptr %x", {"@x": "%n", "%x": "%m"}, "%v = select i1 %c, ptr %n, ptr %m"),
        (
            "%v = add i64 ptrtoint (ptr @x to i64), %v.1",
            {"@x": "%n", "%v.1": "7"},
            "%v = add i64 ptrtoint (ptr @x to i64), 7",
        ),
        ('store i64 %v, ptr @"a b", align 8', {'@"a b"': "%n"}, "store i64 %v, ptr %n, align 8"),
    ],
)
def test_operands_are_replaced_wherever_they_stand(text: str, mapping: dict[str, str], expected: str) -> None:
    assert replaced(Instruction(text), mapping) == expected


def test_a_pointer_that_starts_at_a_global_gets_the_new_base(inspected: Catalogue) -> None:
    """`for (p = start_; …; p++)` inside of a job: a phi whose first value is the name of the array."""
    item = loop(inspected, "locals", "walked_from_start")
    outlined = item.cut_out[1][item.region]
    group = next(group for group in outlined.groups if group.root == "@start_")
    phis = [line for line in outlined.text.splitlines() if "= phi ptr" in line and f"%tc.base{group.id}" in line]
    assert phis
    assert not any("@start_" in line for line in outlined.text.splitlines() if ".tc.b" in line)


def test_edges_against_a_slow_reference(inspected: Catalogue) -> None:
    """The schedule applied by hand, in Python: jobs in their new order on data in the program's order."""
    item = loop(inspected, "small", "edges")
    schedule = item.schedule(item.random(4))
    (mine,) = schedule.regions
    accesses = item.inspection.accesses
    loaded = load([item])

    def work() -> list[list[float]]:
        native = loaded.native()
        replay = item.replay(native)
        doubles = [access for access in accesses.inside(item.region) if access.site.type == "double"]
        gathered = [access for access in doubles if access.index() is not None]
        indices = {access.site.key: accesses.values(access.index(), access.site)[0] for access in gathered}
        tail, head = (indices[access.site.key] for access in gathered if access.site.writes)  # y[a] += f comes first
        names = {
            "w": next(access for access in doubles if access.index() is None),
            "x": next(access for access in gathered if not access.site.writes),
            "y": next(access for access in gathered if access.site.writes),
        }
        w, x, y = (replay.buffers[names[name].object.base].view(np.float64).copy() for name in "wxy")
        for job in mine.jobs.tolist():
            f = w[job] * (x[head[job]] - x[tail[job]])
            y[tail[job]] += f
            y[head[job]] -= f
        executor = Executor(native, schedule, replay.bases(item.guarded[1]), {item.region: replay.code()})
        replay.restore()
        executor.enter()
        replay.run(executor)
        executor.leave()
        (found,) = replay.outcome().objects.values()
        return [y.tolist(), found.view(np.float64).tolist()]

    expected, found = in_child(work)
    np.testing.assert_allclose(found, expected, rtol=1e-13)  # the compiler may fuse a multiplication with a sum
