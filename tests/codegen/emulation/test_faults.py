"""Faults in loops of barriers, in warps and in single words; what each says; runs that have no result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tracecut.codegen.emulation.faults import Fault
from tracecut.codegen.emulation.run_kernel import run_kernel
from tracecut.support.errors import ArgumentError, KernelError

from .kernels import BARRIER, kernel
from .launching import warp_kernel
from .planted import FILE, numbered
from .test_run_kernel import TREE


def faults(text: str, arguments: list[Any], grid: Any, block: Any, shared: int = 0, **how: Any) -> list[Fault]:
    made, sites = numbered(text)
    how = {"mode": "strict", "races": True, "sites": sites, **how}
    return list(run_kernel(made, "k", arguments, grid, block, shared, **how).faults)


def lines(found: list[Fault]) -> set[tuple[str, tuple[str, ...]]]:
    return {
        (fault.kind, tuple(sorted(place.where.removeprefix(f"{FILE}:") for place in fault.places))) for fault in found
    }


STORE, THEIRS, OURS, SUM, TOTAL = 10, 11, 12, 13, 14
TREE_LINES = {
    "store i64 %v, ptr addrspace(3) %mine, align 8": STORE,
    "%theirs = load i64, ptr addrspace(3) %other.at, align 8": THEIRS,
    "%ours = load i64, ptr addrspace(3) %mine, align 8": OURS,
    "store i64 %sum, ptr addrspace(3) %mine, align 8": SUM,
    "ptr addrspace(3) getelementptr ([256 x i64], ptr addrspace(3) @sums, i64 0, i64 0), align 8": TOTAL,
}


def tree(old: str, new: str) -> str:
    assert old in TREE
    text = TREE.replace(old, new, 1)
    for line, number in TREE_LINES.items():
        assert text.count(line) == 1
        text = text.replace(line, f"{line} @{number}")
    return text


TREE_FAULTS = {
    "no barrier in front of the inner loop": (
        (f"{BARRIER}\n  %half0", "%half0"),
        ("shared race", (STORE, THEIRS)),
    ),
    "no barrier in the inner loop": ((f"joined:\n  {BARRIER}", "joined:"), ("shared race", (SUM, THEIRS))),
    "no barrier behind the inner loop": (
        (f"{BARRIER}\n  %turn.next", "%turn.next"),
        ("shared race", (STORE, TOTAL)),
    ),
    "halves that overlap by one": (
        ("%below = icmp ult i64 %t, %half", "%below = icmp ule i64 %t, %half"),
        ("shared race", (SUM, THEIRS)),
    ),
    "an element too far": (
        ("%other = add i64 %t, %half", "%half1 = add i64 %half, 1\n  %other = add i64 %t, %half1"),
        ("uninitialised read", (THEIRS,)),
    ),
    "the barrier in the branch": (
        (f"br label %joined\njoined:\n  {BARRIER}", f"{BARRIER} @20\n  br label %joined\njoined:"),
        ("divergent barrier", None),
    ),
}


@pytest.mark.parametrize("name", TREE_FAULTS)
def test_faults_in_loops_of_barriers(name: str) -> None:
    (old, new), (kind, wanted) = TREE_FAULTS[name]
    block = 64
    found = faults(tree(old, new), [np.arange(4000), np.zeros(2 * block, np.int64), 2], 2, block)
    if wanted is None:
        (fault,) = (fault for fault in found if fault.kind == kind)
        assert len(fault.places) == 2 and f"{FILE}:20" in [place.where for place in fault.places]
        return
    assert (kind, tuple(sorted(map(str, wanted)))) in lines(found)


EXCHANGE = """%s = getelementptr i32, ptr addrspace(3) @tc.shared, i64 %t
  store i32 %v, ptr addrspace(3) %s @1
  {sync}
  %other = xor i64 %t, {far}
  %o = getelementptr i32, ptr addrspace(3) @tc.shared, i64 %other
  %r = load i32, ptr addrspace(3) %o @2"""
SYNC = "call void @llvm.nvvm.bar.warp.sync(i32 {mask})"
HALF = "%half = and i32 %t32, 16\n  %low = icmp eq i32 %half, 0\n  %mask = select i1 %low, i32 65535, i32 -65536\n  "


@pytest.mark.parametrize(
    ("sync", "far", "clean"),
    [
        (SYNC.format(mask=-1), 1, True),
        (SYNC.format(mask=-1), 16, True),
        (HALF + SYNC.format(mask="%mask"), 8, True),
        ("", 1, False),  # nothing orders the lanes
        (SYNC.format(mask=-1), 32, False),  # another warp
        (HALF + SYNC.format(mask="%mask"), 16, False),  # the other half
        ("%w = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %v, i32 1, i32 31)", 1, False),  # orders no memory
        ("%w = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 true)", 1, False),
    ],
)
def test_what_orders_the_lanes_of_a_warp(sync: str, far: int, clean: bool) -> None:
    text = warp_kernel(EXCHANGE.replace("{sync}", sync).replace("{far}", str(far)))
    for seed in (0, 2):
        found = faults(text, [np.arange(64, dtype=np.int32), np.zeros(64, np.int32)], 1, 64, 256, seed=seed)
        races = {("shared race", ("1", "2"))}
        assert lines(found) - {("uninitialised read", ("2",))} == (set() if clean else races)


def test_order_is_handed_on_within_a_warp() -> None:
    """Lane 0 meets lane 1, then lane 1 meets lane 2: lane 2 may read what lane 0 wrote."""
    text = kernel(
        "ptr addrspace(1) %out",
        """
entry:
  {numbers}
  switch i32 %t32, label %exit [ i32 0, label %zero
                                 i32 1, label %one
                                 i32 2, label %two ]
zero:
  store i32 5, ptr addrspace(3) @tc.shared @1
  call void @llvm.nvvm.bar.warp.sync(i32 3)
  br label %exit
one:
  call void @llvm.nvvm.bar.warp.sync(i32 3)
  call void @llvm.nvvm.bar.warp.sync(i32 6)
  br label %exit
two:
  call void @llvm.nvvm.bar.warp.sync(i32 6)
  %v = load i32, ptr addrspace(3) @tc.shared @2
  store i32 %v, ptr addrspace(1) %out
  br label %exit
exit:
  ret void
""",
    )
    out = np.zeros(1, np.int32)
    assert faults(text, [out], 1, 32, 16) == [] and out[0] == 5
    one = "call void @llvm.nvvm.bar.warp.sync(i32 6)"
    apart = text.replace(f"two:\n  {one}", "two:").replace(f"  {one}\n  br label %exit\ntwo", "  br label %exit\ntwo")
    assert ("shared race", ("1", "2")) in lines(faults(apart, [out], 1, 32, 16))


def word(body: str, type: str = "i32") -> str:
    return kernel(f"ptr addrspace(1) %out, {type} %n", f"entry:\n  {{numbers}}\n  {body}\n  ret void")


COUNTER = """%v = load i32, ptr addrspace(1) %out @1
  %w = add i32 %v, 1
  store i32 %w, ptr addrspace(1) %out @2"""
ADD = '%x = atomicrmw add ptr addrspace(1) %out, i32 1 syncscope("device") monotonic, align 4 @3'
WORDS = [
    (COUNTER, {("1", "2"), ("2", "2")}),
    (f"{ADD}\n  store i32 0, ptr addrspace(1) %out @4", {("3", "4"), ("4", "4")}),
    (f"{ADD}\n  %y = load i32, ptr addrspace(1) %out @5", {("3", "5")}),
    (f"{ADD}\n  %y = load atomic i32, ptr addrspace(1) %out monotonic, align 4 @5", set()),
    (f"{ADD}\n  store atomic i32 0, ptr addrspace(1) %out monotonic, align 4 @6", set()),
    ("%y = load i32, ptr addrspace(1) %out @7", set()),
    (ADD, set()),
    (
        f"store i32 1, ptr addrspace(1) %out @8\n  {BARRIER}\n  %y = load i32, ptr addrspace(1) %out @9",
        {("8", "8"), ("8", "9")},
    ),
]


@pytest.mark.parametrize(("body", "wanted"), WORDS)
@pytest.mark.parametrize(("grid", "block"), [(1, 2), (2, 1), (3, 64)])
def test_one_word_of_global_memory(body: str, wanted: set[tuple[str, str]], grid: int, block: int) -> None:
    found = lines(faults(word(body), [np.zeros(1, np.int32), 0], grid, block))
    if (grid, block) == (2, 1) or "@8" not in body:
        assert {pair for _, pair in found} == wanted
    else:  # the barrier orders the threads of a block
        assert ("8", "8") in {pair for _, pair in found}
    assert {kind for kind, _ in found} <= {"global race"}


def test_no_thread_hides_the_access_of_another() -> None:
    """A store conflicts with the read of another block, though its own block read the word in between."""
    body = """%is.late = icmp eq i32 %b32, 2
  %y = load i32, ptr addrspace(1) %out @1
  br i1 %is.late, label %late, label %exit
late:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %is.first = icmp eq i32 %t32, 0
  br i1 %is.first, label %write, label %exit
write:
  store i32 7, ptr addrspace(1) %out @2
  br label %exit
exit:"""
    found = faults(word(body), [np.zeros(1, np.int32), 0], 3, 8)
    assert lines(found) == {("global race", ("1", "2"))}
    assert found[0].places[0].block in (0, 1) and found[0].places[1].block == 2


def test_bytes_of_one_word_are_apart() -> None:
    """Neighbouring bytes by neighbouring threads are clean; one byte by two threads is not."""
    body = """%t1 = {shift} i64 %t, {by}
  %at = getelementptr i8, ptr addrspace(1) %out, i64 %t1
  %v = trunc i64 %t to i8
  store i8 %v, ptr addrspace(1) %at @1"""
    clean = word(body.replace("{shift}", "shl").replace("{by}", "0"))
    assert faults(clean, [np.zeros(64, np.uint8), 0], 1, 64) == []
    shared = word(body.replace("{shift}", "lshr").replace("{by}", "1"))
    (fault,) = faults(shared, [np.zeros(64, np.uint8), 0], 1, 64)
    assert (fault.kind, fault.count, fault.offset, fault.array) == ("global race", 32, 0, "%out")


def test_an_array_next_to_another_is_not_its_end() -> None:
    """An access past the end of one argument is found though it falls into another one, and does no harm."""
    both = np.zeros(8, np.int32)
    body = """%at = getelementptr i32, ptr addrspace(1) %out, i64 4
  store i32 9, ptr addrspace(1) %at @1"""
    text = kernel("ptr addrspace(1) %out, ptr addrspace(1) %other", f"  {body}\n  ret void")
    (fault,) = faults(text, [both[:4], both[4:]], 1, 1)
    assert (fault.kind, fault.array, fault.offset) == ("out of bounds", "%out", 16) and not both.any()
    assert len(fault.places) == 1 and "16 of %out" in str(fault)


def test_extents_narrow_an_array() -> None:
    text = word("%at = getelementptr i32, ptr addrspace(1) %out, i64 %t\n  store i32 1, ptr addrspace(1) %at @1")
    arguments = [np.zeros(8, np.int32), 0]
    assert faults(text, arguments, 1, 8) == []
    assert [fault.kind for fault in faults(text, arguments, 1, 8, extents={0: 28})] == ["out of bounds"]


def test_without_lines_a_place_is_the_site_and_its_text() -> None:
    text = word(COUNTER.replace(" @1", "").replace(" @2", ""))
    report = run_kernel(text, "k", [np.zeros(1, np.int32), 0], 1, 2, mode="strict", races=True)
    told = {place.where for fault in report.faults for place in fault.places}
    assert told == {
        "site 0: %v = load i32, ptr addrspace(1) %out, align 4",
        "site 1: store i32 %w, ptr addrspace(1) %out, align 4",
    }


WARP_FAULTS = {
    "divergent barrier": (
        "%odd = trunc i32 %t32 to i1\n  br i1 %odd, label %a, label %c\na:\n  "
        f"{BARRIER} @1\n  br label %z\nc:\n  {BARRIER} @2\n  br label %z\nz:",
        {("1", "2")},
    ),
    "deadlock": (
        "%odd = trunc i32 %t32 to i1\n  br i1 %odd, label %a, label %c\na:\n"
        "  %x = call i32 @llvm.nvvm.shfl.sync.up.i32(i32 -1, i32 1, i32 1, i32 0) @1\n  br label %z\nc:\n"
        f"  {BARRIER} @2\n  br label %z\nz:",
        {("1", "2")},
    ),
    "warp mask": ("%x = call i1 @llvm.nvvm.vote.any.sync(i32 1, i1 true) @1", {("1",)}),
    "livelock": (
        "br label %spin\nspin:\n  %x = load atomic i32, ptr addrspace(1) %out monotonic, align 4 @1\n"
        "  %unset = icmp eq i32 %x, 0\n  br i1 %unset, label %spin, label %z\nz:",
        None,
    ),
    "endless loop": ("br label %spin\nspin:\n  %x = phi i32 [0, %entry], [%y, %spin]\n  %y = add i32 %x, %n\n  "
                     "%end = icmp eq i32 %y, -1\n  br i1 %end, label %z, label %spin\nz:", None),
}  # fmt: skip


@pytest.mark.parametrize("kind", WARP_FAULTS)
def test_runs_that_have_no_result(kind: str) -> None:
    """They end, and say where; without `races` an error says the same."""
    body, wanted = WARP_FAULTS[kind]
    text, sites = numbered(word(body))
    how: dict[str, Any] = {"mode": "strict", "sites": sites, "patience": 1000}
    arguments = [np.zeros(1, np.int32), 0]
    report = run_kernel(text, "k", arguments, 1, 32, races=True, **how)
    (fault,) = (fault for fault in report.faults if fault.is_fatal)
    assert fault.kind == kind and not report.completed
    if wanted is not None:
        assert {tuple(sorted(place.where.removeprefix(f"{FILE}:") for place in fault.places))} == wanted
    with pytest.raises(KernelError) as caught:
        run_kernel(text, "k", arguments, 1, 32, **how)
    assert all(place.where in str(caught.value) for place in fault.places)


@pytest.mark.parametrize("kind", ["divergent barrier", "deadlock", "warp mask"])
def test_phases_find_them_too(kind: str) -> None:
    text, sites = numbered(word(WARP_FAULTS[kind][0]))
    with pytest.raises(KernelError, match=f"^{kind} in k"):
        run_kernel(text, "k", [np.zeros(1, np.int32), 0], 2, 32, sites=sites)


def test_waiting_loops_end_in_phases() -> None:
    with pytest.raises(KernelError, match="endless loop"):
        run_kernel(
            word(WARP_FAULTS["livelock"][0].replace(" @1", "")), "k", [np.zeros(1, np.int32), 0], 1, 4, patience=1000
        )


def test_a_lock_is_passed_on_in_strict_runs() -> None:
    """Each thread waits for its turn: without letting others go first, nobody would come on."""
    text = kernel(
        "ptr addrspace(1) %turn, ptr addrspace(1) %out",
        """
entry:
  {numbers}
  %last = sub i32 %n32, 1
  %mine = sub i32 %last, %t32
  br label %wait
wait:
  %now = load atomic i32, ptr addrspace(1) %turn acquire, align 4
  %ready = icmp eq i32 %now, %mine
  br i1 %ready, label %go, label %wait
go:
  %at = getelementptr i32, ptr addrspace(1) %out, i64 %t
  store i32 %now, ptr addrspace(1) %at
  %next = add i32 %now, 1
  store atomic i32 %next, ptr addrspace(1) %turn release, align 4
  ret void
""",
    )
    for seed in (0, 9):
        out = np.zeros(70, np.int32)
        run_kernel(text, "k", [np.zeros(1, np.int32), out], 1, 70, mode="strict", seed=seed)
        assert (out == 69 - np.arange(70)).all()


def test_faults_are_counted_and_not_repeated() -> None:
    (write, both) = sorted(faults(word(COUNTER), [np.zeros(1, np.int32), 0], 4, 32), key=lambda f: f.count)
    assert write.count > 1 and both.count > 1


def test_many_faults_do_not_hide_what_ends_a_run() -> None:
    """300 places that race, then a barrier that half of the threads reach: 256 records, the last one tells of it."""
    stores = "\n  ".join(
        f"%at{k} = getelementptr i32, ptr addrspace(1) %out, i64 {k}\n  store i32 1, ptr addrspace(1) %at{k}"
        for k in range(300)
    )
    text = word(
        f"{stores}\n  %odd = trunc i32 %t32 to i1\n  br i1 %odd, label %a, label %z\na:\n  {BARRIER}\n  br label %z\nz:"
    )
    report = run_kernel(text, "k", [np.zeros(300, np.int32), 0], 1, 2, mode="strict", races=True)
    assert len(report.faults) == 256 and not report.completed
    assert [fault.kind for fault in report.faults[-2:]] == ["global race", "divergent barrier"]


def test_races_need_the_strict_mode() -> None:
    with pytest.raises(ArgumentError, match="races needs mode='strict'"):
        run_kernel(
            word(COUNTER.replace(" @1", "").replace(" @2", "")), "k", [np.zeros(1, np.int32), 0], 1, 1, races=True
        )
