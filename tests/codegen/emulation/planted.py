"""Clean kernels whose lines are numbered, and the faults that are planted in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tracecut.ir.gpu.sites import Sites

from .kernels import kernel

FILE = "smem.cu"


def numbered(text: str) -> tuple[str, Sites]:
    """A kernel whose lines end in `@7`, with site numbers instead, and the table that leads back to `smem.cu:7`."""
    where: list[str] = []

    def site(found: re.Match[str]) -> str:
        where.append(f"{FILE}:{found[1]}")
        return f", !tc.site !{{i32 {len(where) - 1}}}"

    made = re.sub(r" @(\d+)$", site, text, flags=re.MULTILINE)
    return made, Sites.of([("global", "load", 4, "", line) for line in where])


# preload | run | flush: inputs and sums of a block in shared memory; its own sums are stored, shared ones added.
SMEM = kernel(
    "i64 %n, ptr addrspace(1) %v, ptr addrspace(1) %col, ptr addrspace(1) %row, ptr addrspace(1) %xfrom, "
    "ptr addrspace(1) %xids, ptr addrspace(1) %x, ptr addrspace(1) %yfrom, ptr addrspace(1) %yids, "
    "ptr addrspace(1) %owned, ptr addrspace(1) %y, ptr addrspace(1) %out",
    """
entry:
  {numbers}
  %xf.at = getelementptr i32, ptr addrspace(1) %xfrom, i64 %b
  %xl.at = getelementptr i32, ptr addrspace(1) %xf.at, i64 1
  %yf.at = getelementptr i32, ptr addrspace(1) %yfrom, i64 %b
  %yl.at = getelementptr i32, ptr addrspace(1) %yf.at, i64 1
  %own.at = getelementptr i32, ptr addrspace(1) %owned, i64 %b
  %xf32 = load i32, ptr addrspace(1) %xf.at @10
  %xl32 = load i32, ptr addrspace(1) %xl.at @11
  %yf32 = load i32, ptr addrspace(1) %yf.at @12
  %yl32 = load i32, ptr addrspace(1) %yl.at @13
  %own32 = load i32, ptr addrspace(1) %own.at @14
  %xf = sext i32 %xf32 to i64
  %xl = sext i32 %xl32 to i64
  %yf = sext i32 %yf32 to i64
  %yl = sext i32 %yl32 to i64
  %own = sext i32 %own32 to i64
  %nx = sub i64 %xl, %xf
  %ny = sub i64 %yl, %yf
  %sy = getelementptr double, ptr addrspace(3) @tc.shared, i64 %nx
  br label %fetch
fetch:
  %p = phi i64 [ %t, %entry ], [ %p.next, %fetch.on ]
  %p.in = icmp slt i64 %p, %nx
  br i1 %p.in, label %fetch.on, label %clear
fetch.on:
  %px = add i64 %p, %xf
  %xid.at = getelementptr i32, ptr addrspace(1) %xids, i64 %px
  %xid = load i32, ptr addrspace(1) %xid.at @20
  %xid64 = sext i32 %xid to i64
  %x.at = getelementptr double, ptr addrspace(1) %x, i64 %xid64
  %xv = load double, ptr addrspace(1) %x.at @21
  %sx.at = getelementptr double, ptr addrspace(3) @tc.shared, i64 %p
  store double %xv, ptr addrspace(3) %sx.at @22
  %p.next = add i64 %p, %nt
  br label %fetch
clear:
  %q = phi i64 [ %t, %fetch ], [ %q.next, %clear.on ]
  %q.in = icmp slt i64 %q, %ny
  br i1 %q.in, label %clear.on, label %loaded
clear.on:
  %sy.at = getelementptr double, ptr addrspace(3) %sy, i64 %q
  store double 0.0, ptr addrspace(3) %sy.at @25
  %q.next = add i64 %q, %nt
  br label %clear
loaded:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0) @30
  %in = icmp slt i64 %i, %n
  br i1 %in, label %run, label %ran
run:
  %v.at = getelementptr double, ptr addrspace(1) %v, i64 %i
  %vv = load double, ptr addrspace(1) %v.at @40
  %c.at = getelementptr i16, ptr addrspace(1) %col, i64 %i
  %c = load i16, ptr addrspace(1) %c.at @41
  %r.at = getelementptr i16, ptr addrspace(1) %row, i64 %i
  %r = load i16, ptr addrspace(1) %r.at @42
  %c64 = zext i16 %c to i64
  %r64 = zext i16 %r to i64
  %u.at = getelementptr double, ptr addrspace(3) @tc.shared, i64 %c64
  %u = load double, ptr addrspace(3) %u.at @43
  %made = fmul double %vv, %u
  %s.at = getelementptr double, ptr addrspace(3) %sy, i64 %r64
  %s.old = atomicrmw fadd ptr addrspace(3) %s.at, double %made syncscope("block") monotonic, align 8 @44
  %out.at = getelementptr double, ptr addrspace(1) %out, i64 %i
  store double %made, ptr addrspace(1) %out.at @45
  br label %ran
ran:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0) @50
  br label %flush
flush:
  %f = phi i64 [ %t, %ran ], [ %f.next, %flushed ]
  %f.in = icmp slt i64 %f, %ny
  br i1 %f.in, label %flush.on, label %exit
flush.on:
  %py = add i64 %f, %yf
  %yid.at = getelementptr i32, ptr addrspace(1) %yids, i64 %py
  %yid = load i32, ptr addrspace(1) %yid.at @60
  %sum.at = getelementptr double, ptr addrspace(3) %sy, i64 %f
  %sum = load double, ptr addrspace(3) %sum.at @61
  %yid64 = sext i32 %yid to i64
  %y.at = getelementptr double, ptr addrspace(1) %y, i64 %yid64
  %mine = icmp slt i64 %f, %own
  br i1 %mine, label %keep, label %share
keep:
  store double %sum, ptr addrspace(1) %y.at @62
  br label %flushed
share:
  %y.old = atomicrmw fadd ptr addrspace(1) %y.at, double %sum syncscope("device") monotonic, align 8 @63
  br label %flushed
flushed:
  %f.next = add i64 %f, %nt
  br label %flush
exit:
  ret void @70
""",
)

BLOCK, BLOCKS = 64, 4


def smem_data() -> dict[str, Any]:
    """Arguments of SMEM by name, in their order, with `shared` behind them. Each block owns most of its sums."""
    rng = np.random.default_rng(4)
    n, rows, cols = BLOCK * BLOCKS - 5, 60, 50
    block = np.arange(n) // BLOCK
    row = np.minimum(block * 15 + rng.integers(0, 18, n), rows - 1)
    col = rng.integers(0, cols, n)
    owners = [set(block[row == one].tolist()) for one in range(rows)]
    found: dict[str, Any] = {"n": n, "v": rng.random(n)}
    local = {"col": np.zeros(n, np.uint16), "row": np.zeros(n, np.uint16)}
    lists: dict[str, list[Any]] = {"xids": [], "yids": []}
    starts: dict[str, list[int]] = {"xfrom": [0], "yfrom": [0]}
    owned = []
    for b in range(BLOCKS):
        part = block == b
        xs, local["col"][part] = np.unique(col[part], return_inverse=True)
        ys = sorted(set(row[part].tolist()), key=lambda one: (len(owners[one]) > 1, one))
        local["row"][part] = [ys.index(one) for one in row[part]]
        owned.append(sum(len(owners[one]) == 1 for one in ys))
        lists["xids"].append(xs)
        lists["yids"].append(ys)
        starts["xfrom"].append(starts["xfrom"][-1] + len(xs))
        starts["yfrom"].append(starts["yfrom"][-1] + len(ys))
    found |= local
    for name, ids in (("xfrom", "xids"), ("yfrom", "yids")):
        found[name] = np.array(starts[name], np.int32)
        found[ids] = np.concatenate(lists[ids]).astype(np.int32)
        if name == "xfrom":
            found["x"] = rng.random(cols)
    found |= {"owned": np.array(owned, np.int32), "y": np.zeros(rows), "out": np.zeros(n)}
    found["shared"] = 8 * int((np.diff(starts["xfrom"]) + np.diff(starts["yfrom"])).max())
    found["expected"] = np.bincount(row, found["v"] * found["x"][col], rows)
    return found


@dataclass(frozen=True)
class Case:
    """A fault: what is changed in a clean kernel or in its data, and what has to be found.

    Attributes:
        edits: text of the kernel → what takes its place. data: changes the arguments.
        kind: of the fault. lines: of its two places, or the one that there is.
    """

    name: str
    kind: str
    lines: tuple[int, ...]
    edits: Mapping[str, str] = field(default_factory=dict)
    data: Callable[[dict[str, Any]], Any] = lambda data: None


def _set(name: str, place: Any, value: Any) -> Callable[[dict[str, Any]], Any]:
    def change(data: dict[str, Any]) -> None:
        if place is None:
            data[name] = value(data[name])
        else:
            data[name][place] = value(data) if callable(value) else value

    return change


def _same_owner(data: dict[str, Any]) -> None:
    """Blocks 0 and 1 both own the first sum of block 0."""
    data["yids"][data["yfrom"][1]] = data["yids"][0]


_BARRIER = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"
_ADD = """%s.was = load double, ptr addrspace(3) %s.at @44
  %s.now = fadd double %s.was, %made
  store double %s.now, ptr addrspace(3) %s.at @46"""
_ATOMIC = '%s.old = atomicrmw fadd ptr addrspace(3) %s.at, double %made syncscope("block") monotonic, align 8 @44'
_SHARE = '%y.old = atomicrmw fadd ptr addrspace(1) %y.at, double %sum syncscope("device") monotonic, align 8 @63'
_OUTPUT = "store double %made, ptr addrspace(1) %out.at @45"
_GUARD = "%in = icmp slt i64 %i, %n"
_FETCHES = "%p.in = icmp slt i64 %p, %nx"
_LAST = BLOCK * BLOCKS - 6

SMEM_FAULTS = [
    Case("no barrier behind preload", "shared race", (22, 43), {f"{_BARRIER} @30": ""}),
    Case("no barrier between clearing and sums", "shared race", (25, 44), {f"{_BARRIER} @30": ""}),
    Case("no barrier in front of flush", "shared race", (44, 61), {f"{_BARRIER} @50": ""}),
    Case("sum in shared memory without atomics", "shared race", (46, 44), {_ATOMIC: _ADD}),
    Case(
        "store for an atomic in shared memory",
        "shared race",
        (44, 44),
        {_ATOMIC: "store double %made, ptr addrspace(3) %s.at @44"},
    ),
    Case(
        "store for an atomic on data of several blocks",
        "global race",
        (63, 63),
        {_SHARE: "store double %sum, ptr addrspace(1) %y.at @63"},
    ),
    Case(
        "sum of several blocks without atomics",
        "global race",
        (64, 63),
        {
            _SHARE: "%y.was = load double, ptr addrspace(1) %y.at @63\n  %y.now = fadd double %y.was, %sum\n"
            "  store double %y.now, ptr addrspace(1) %y.at @64"
        },
    ),
    Case("a block takes shared data for its own", "global race", (62, 63), data=_set("owned", 0, lambda d: 99)),
    Case("the last block takes shared data for its own", "global race", (63, 62), data=_set("owned", 3, lambda d: 99)),
    Case("two owners", "global race", (62, 62), data=_same_owner),
    Case("stale local id of an input, never loaded", "out of bounds", (43,), data=_set("col", 3, 60000)),
    Case(
        "stale local id of an input, not written in this block",
        "uninitialised read",
        (43,),
        {
            "%sy = getelementptr double, ptr addrspace(3) @tc.shared, i64 %nx": "%sy0 = add i64 %nx, 1\n"
            "  %sy = getelementptr double, ptr addrspace(3) @tc.shared, i64 %sy0"
        },
        lambda d: (_set("col", 0, int(d["xfrom"][1]))(d), d.update(shared=d["shared"] + 8)),
    ),
    Case("stale local id of a sum", "out of bounds", (44,), data=_set("row", 70, 50000)),
    Case(
        "stale local id of a sum that was not cleared",
        "uninitialised read",
        (44,),
        data=lambda d: (_set("row", 5, int(d["yfrom"][1]))(d), d.update(shared=d["shared"] + 800)),
    ),
    Case("preload one too many", "out of bounds", (20,), {_FETCHES: "%p.in = icmp sle i64 %p, %nx"}),
    Case(
        "preload one too many writes over the sums", "shared race", (22, 25), {_FETCHES: "%p.in = icmp sle i64 %p, %nx"}
    ),
    Case(
        "preload one too few",
        "uninitialised read",
        (43,),
        {_FETCHES: "%nx1 = sub i64 %nx, 1\n  %p.in = icmp slt i64 %p, %nx1"},
    ),
    Case(
        "preload by one thread a warp only",
        "uninitialised read",
        (43,),
        {"phi i64 [ %t, %entry ]": "phi i64 [ %first, %entry ]"},
    ),
    Case("one job too many", "out of bounds", (40,), {_GUARD: "%in = icmp sle i64 %i, %n"}),
    Case("no guard of the last block", "out of bounds", (40,), {_GUARD: "%in = icmp sge i64 %i, 0"}),
    Case("no guard: the output", "out of bounds", (45,), {_GUARD: "%in = icmp sge i64 %i, 0"}),
    Case(
        "sums that are never cleared",
        "uninitialised read",
        (44,),
        {"store double 0.0, ptr addrspace(3) %sy.at @25": ""},
    ),
    Case(
        "only the first sums are cleared",
        "uninitialised read",
        (44,),
        {"%q.in = icmp slt i64 %q, %ny": "%ny1 = sub i64 %ny, 4\n  %q.in = icmp slt i64 %q, %ny1"},
    ),
    Case(
        "blocks overlap by one job",
        "global race",
        (45, 45),
        {"%first = mul i64 %b, %nt": "%nt1 = sub i64 %nt, 1\n  %first = mul i64 %b, %nt1"},
    ),
    Case(
        "all blocks run the same jobs", "global race", (45, 45), {"%first = mul i64 %b, %nt": "%first = mul i64 0, %nt"}
    ),
    Case(
        "all threads of a warp run one job",
        "global race",
        (45, 45),
        {"%i = add i64 %first, %t": "%tw = lshr i64 %t, 5\n  %i = add i64 %first, %tw"},
    ),
    Case("too little shared memory", "out of bounds", (25,), data=lambda d: d.update(shared=d["shared"] - 8)),
    Case("no shared memory", "out of bounds", (22,), data=lambda d: d.update(shared=0)),
    Case(
        "the sums lie upon the inputs",
        "shared race",
        (22, 25),
        {"ptr addrspace(3) @tc.shared, i64 %nx": "ptr addrspace(3) @tc.shared, i64 1"},
    ),
    Case("an id past the end", "out of bounds", (21,), data=_set("xids", 7, 50)),
    Case("a negative id", "out of bounds", (21,), data=_set("xids", 7, -1)),
    Case("an id of a sum past the end, owned", "out of bounds", (62,), data=_set("yids", 0, 60)),
    Case("an id of a sum past the end, shared", "out of bounds", (63,), data=_set("yids", -1, 60)),
    Case(
        "a list of ids that is too short", "out of bounds", (20,), data=_set("xids", None, lambda old: old[:-1].copy())
    ),
    Case(
        "an offset in bytes",
        "misaligned access",
        (21,),
        {
            "%x.at = getelementptr double, ptr addrspace(1) %x, i64 %xid64": "%x.by = mul i64 %xid64, 8\n  "
            "%x.odd = xor i64 %x.by, 4\n  %x.at = getelementptr i8, ptr addrspace(1) %x, i64 %x.odd"
        },
    ),
    Case(
        "threads without a job leave before the second barrier",
        "divergent barrier",
        (50, 70),
        {"br i1 %in, label %run, label %ran\n": "br i1 %in, label %run, label %exit\n"},
    ),
    Case(
        "a barrier in each branch",
        "divergent barrier",
        (47, 48),
        {
            "br i1 %in, label %run, label %ran\n": "br i1 %in, label %run, label %apart\napart:\n"
            f"  {_BARRIER} @48\n  br label %ran\n",
            _OUTPUT: f"{_OUTPUT}\n  {_BARRIER} @47",
        },
    ),
    Case(
        "the first barrier is passed by threads with an input only",
        "divergent barrier",
        (30, 50),
        {
            "br i1 %q.in, label %clear.on, label %loaded": "br i1 %q.in, label %clear.on, label %asked\n"
            "asked:\n  %has = icmp slt i64 %t, %nx\n  br i1 %has, label %loaded, label %ran",
        },
    ),
    Case(
        "flush reads the sum of a neighbour",
        "out of bounds",
        (61,),
        {
            "%sum.at = getelementptr double, ptr addrspace(3) %sy, i64 %f": "%f1 = add i64 %f, 500\n  "
            "%sum.at = getelementptr double, ptr addrspace(3) %sy, i64 %f1"
        },
    ),
    Case(
        "an input is changed while others read it",
        "global race",
        (45, 40),
        {
            "%out.at = getelementptr double, ptr addrspace(1) %out, i64 %i": "%i1 = xor i64 %i, 1\n  "
            "%out.at = getelementptr double, ptr addrspace(1) %v, i64 %i1"
        },
    ),
]
