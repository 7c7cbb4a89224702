"""Kernels as text, for the tests of their emulation: a head with every declaration, and bodies."""

from __future__ import annotations

from tracecut.codegen.ptx.nvptx import LAYOUT, TRIPLE

_REGISTERS = [f"{what}.{axis}" for what in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"]
HEAD = "\n".join(
    [
        f'target datalayout = "{LAYOUT}"',
        f'target triple = "{TRIPLE}"',
        "@tc.shared = external addrspace(3) global [0 x i8], align 16",
        *(f"declare i32 @llvm.nvvm.read.ptx.sreg.{name}()" for name in (*_REGISTERS, "laneid", "warpid", "nwarpid")),
        "declare i32 @llvm.nvvm.read.ptx.sreg.lanemask.lt()",
        "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)",
        "declare void @llvm.nvvm.bar.warp.sync(i32)",
        *(f"declare i32 @llvm.nvvm.shfl.sync.{way}.i32(i32, i32, i32, i32)" for way in ("up", "down", "bfly", "idx")),
        "declare float @llvm.nvvm.shfl.sync.down.f32(i32, float, i32, i32)",
        "declare {i32, i1} @llvm.nvvm.shfl.sync.up.i32p(i32, i32, i32, i32)",
        *(f"declare i1 @llvm.nvvm.vote.{how}.sync(i32, i1)" for how in ("all", "any", "uni")),
        "declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)",
        "declare i32 @llvm.nvvm.match.any.sync.i32(i32, i32)",
        "declare {i32, i1} @llvm.nvvm.match.all.sync.i32p(i32, i32)",
        *(
            f"declare i32 @llvm.nvvm.redux.sync.{how}(i32, i32)"
            for how in ("add", "min", "max", "umin", "umax", "and", "or", "xor")
        ),
        "declare i32 @llvm.nvvm.barrier.cta.red.popc.aligned.all(i32, i1)",
        "declare i1 @llvm.nvvm.barrier.cta.red.and.aligned.all(i32, i1)",
        "declare i1 @llvm.nvvm.barrier.cta.red.or.aligned.all(i32, i1)",
        "",
    ]
)
# %t: number of the thread in its block, %b of the block, %i in the grid; all i64, one dimension.
NUMBERS = """
  %t32 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %n32 = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %b32 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %t = zext i32 %t32 to i64
  %nt = zext i32 %n32 to i64
  %b = zext i32 %b32 to i64
  %first = mul i64 %b, %nt
  %i = add i64 %first, %t
"""
BARRIER = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"


def kernel(parameters: str, body: str, extra: str = "") -> str:
    """The text of a kernel `k`; `{numbers}` and `{barrier}` in the body stand for what every kernel needs."""
    body = body.replace("{numbers}", NUMBERS).replace("{barrier}", BARRIER)
    return f"{HEAD}{extra}\ndefine ptx_kernel void @k({parameters}) {{\n{body}\n}}\n"


# One thread a nonzero, y[row] += value · x[col]: the x of a block are fetched once, by all its threads (SPAC §4.2).
PRELOAD = kernel(
    "i64 %n, ptr addrspace(1) noalias readonly %value, ptr addrspace(1) noalias readonly %col, "
    "ptr addrspace(1) noalias readonly %row, ptr addrspace(1) noalias readonly %from, "
    "ptr addrspace(1) noalias readonly %ids, ptr addrspace(1) noalias readonly %x, ptr addrspace(1) %y",
    """
entry:
  {numbers}
  %from.at = getelementptr i32, ptr addrspace(1) %from, i64 %b
  %from.next = getelementptr i32, ptr addrspace(1) %from.at, i64 1
  %f32 = load i32, ptr addrspace(1) %from.at, align 4, !invariant.load !0
  %l32 = load i32, ptr addrspace(1) %from.next, align 4, !invariant.load !0
  %f = sext i32 %f32 to i64
  %l = sext i32 %l32 to i64
  %start = add i64 %f, %t
  %any = icmp slt i64 %start, %l
  br i1 %any, label %preload, label %loaded
preload:
  %p = phi i64 [ %start, %entry ], [ %p.next, %preload ]
  %id.at = getelementptr i32, ptr addrspace(1) %ids, i64 %p
  %id = load i32, ptr addrspace(1) %id.at, align 4, !invariant.load !0
  %id64 = sext i32 %id to i64
  %x.at = getelementptr float, ptr addrspace(1) %x, i64 %id64
  %xv = load float, ptr addrspace(1) %x.at, align 4, !invariant.load !0
  %place = sub i64 %p, %f
  %s.at = getelementptr float, ptr addrspace(3) @tc.shared, i64 %place
  store float %xv, ptr addrspace(3) %s.at, align 4
  %p.next = add i64 %p, %nt
  %more = icmp slt i64 %p.next, %l
  br i1 %more, label %preload, label %loaded
loaded:
  {barrier}
  %in = icmp slt i64 %i, %n
  br i1 %in, label %run, label %exit
run:
  %v.at = getelementptr float, ptr addrspace(1) %value, i64 %i
  %v = load float, ptr addrspace(1) %v.at, align 4, !invariant.load !0
  %c.at = getelementptr i16, ptr addrspace(1) %col, i64 %i
  %c = load i16, ptr addrspace(1) %c.at, align 2, !invariant.load !0
  %r.at = getelementptr i32, ptr addrspace(1) %row, i64 %i
  %r = load i32, ptr addrspace(1) %r.at, align 4, !invariant.load !0
  %c64 = zext i16 %c to i64
  %u.at = getelementptr float, ptr addrspace(3) @tc.shared, i64 %c64
  %u = load float, ptr addrspace(3) %u.at, align 4
  %made = fmul float %v, %u
  %r64 = sext i32 %r to i64
  %y.at = getelementptr float, ptr addrspace(1) %y, i64 %r64
  %old = atomicrmw fadd ptr addrspace(1) %y.at, float %made syncscope("device") monotonic, align 4
  br label %exit
exit:
  ret void
""",
    "!0 = !{}\n",
)
