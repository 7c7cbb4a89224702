target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.shfl.sync.down.i32(i32, i32, i32, i32)

define internal double @tc_down_fadd_double(double %value, i32 %by) convergent alwaysinline {
  %bits = bitcast double %value to i64
  %low = trunc i64 %bits to i32
  %shifted = lshr i64 %bits, 32
  %high = trunc i64 %shifted to i32
  %low.moved = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %low, i32 %by, i32 31)
  %high.moved = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %high, i32 %by, i32 31)
  %low.wide = zext i32 %low.moved to i64
  %high.wide = zext i32 %high.moved to i64
  %high.part = shl i64 %high.wide, 32
  %moved = or i64 %high.part, %low.wide
  %theirs = bitcast i64 %moved to double
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %from = add i32 %tid, %by
  %there = icmp ult i32 %from, %ntid
  %result = select i1 %there, double %theirs, double -0.000000e+00
  ret double %result
}

define ptx_kernel void @kernel(i64 %tc.n, ptr addrspace(1) noalias readonly %tc.p1, ptr addrspace(1) %tc.p2) {
entry:
  %tc.base0 = addrspacecast ptr addrspace(1) %tc.p1 to ptr
  %tc.cell0 = addrspacecast ptr addrspace(1) %tc.p2 to ptr
  %tc.ctaid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %tc.ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %tc.tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %tc.ctaid.wide = zext i32 %tc.ctaid to i64
  %tc.ntid.wide = zext i32 %tc.ntid to i64
  %tc.tid.wide = zext i32 %tc.tid to i64
  %tc.first = mul nuw nsw i64 %tc.ctaid.wide, %tc.ntid.wide
  %tc.k = add nuw nsw i64 %tc.first, %tc.tid.wide
  %tc.any = icmp ult i64 %tc.k, %tc.n
  br i1 %tc.any, label %tc.job, label %tc.done
tc.job:
  %i3.tc.step = add i64 1, 0
  %i3.tc.start.o = mul i64 %tc.k, %i3.tc.step
  %i3.tc.start = add i64 0, %i3.tc.start.o
  br label %.preheader
.preheader:
  %i5.tc.b0 = getelementptr inbounds nuw double, ptr %tc.base0, i64 %i3.tc.start
  %i6 = load double, ptr %i5.tc.b0, align 8
  %i7.tc.product = fmul double %i6, %i6
  %i7 = fadd double %i7.tc.product, -0.000000e+00
  br label %tc.done
tc.done:
  %tc.left0 = phi double [ %i7, %.preheader ], [ -0.000000e+00, %entry ]
  %tc.moved0.16 = call double @tc_down_fadd_double(double %tc.left0, i32 16)
  %tc.sum0.16 = fadd double %tc.left0, %tc.moved0.16
  %tc.moved0.8 = call double @tc_down_fadd_double(double %tc.sum0.16, i32 8)
  %tc.sum0.8 = fadd double %tc.sum0.16, %tc.moved0.8
  %tc.moved0.4 = call double @tc_down_fadd_double(double %tc.sum0.8, i32 4)
  %tc.sum0.4 = fadd double %tc.sum0.8, %tc.moved0.4
  %tc.moved0.2 = call double @tc_down_fadd_double(double %tc.sum0.4, i32 2)
  %tc.sum0.2 = fadd double %tc.sum0.4, %tc.moved0.2
  %tc.moved0.1 = call double @tc_down_fadd_double(double %tc.sum0.2, i32 1)
  %tc.sum0.1 = fadd double %tc.sum0.2, %tc.moved0.1
  %tc.lane = and i32 %tc.tid, 31
  %tc.leads = icmp eq i32 %tc.lane, 0
  br i1 %tc.leads, label %tc.lead, label %tc.exit
tc.lead:
  atomicrmw fadd ptr %tc.cell0, double %tc.sum0.1 syncscope("device") monotonic, align 8
  br label %tc.exit
tc.exit:
  ret void
}
