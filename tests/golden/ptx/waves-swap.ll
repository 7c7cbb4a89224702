target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

declare double @__nv_cbrt(double)
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define ptx_kernel void @kernel(i64 %tc.n, ptr addrspace(1) noalias readonly %tc.p1, ptr addrspace(1) %tc.p2) {
entry:
  %tc.base0 = addrspacecast ptr addrspace(1) %tc.p1 to ptr
  %tc.base1 = addrspacecast ptr addrspace(1) %tc.p2 to ptr
  %tc.ctaid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %tc.ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %tc.tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %tc.ctaid.wide = zext i32 %tc.ctaid to i64
  %tc.ntid.wide = zext i32 %tc.ntid to i64
  %tc.tid.wide = zext i32 %tc.tid to i64
  %tc.first = mul nuw nsw i64 %tc.ctaid.wide, %tc.ntid.wide
  %tc.k = add nuw nsw i64 %tc.first, %tc.tid.wide
  %tc.any = icmp ult i64 %tc.k, %tc.n
  br i1 %tc.any, label %tc.job, label %tc.exit
tc.job:
  %i3.tc.step = add i64 1, 0
  %i3.tc.start.o = mul i64 %tc.k, %i3.tc.step
  %i3.tc.start = add i64 0, %i3.tc.start.o
  br label %.preheader
.preheader:
  %i4.tc.b0 = getelementptr inbounds nuw double, ptr %tc.base0, i64 %i3.tc.start
  %i5 = load double, ptr %i4.tc.b0, align 8
  %i6 = call double @__nv_cbrt(double noundef %i5)
  %i7.tc.b1 = getelementptr inbounds nuw double, ptr %tc.base1, i64 %i3.tc.start
  store double %i6, ptr %i7.tc.b1, align 8
  br label %tc.done
tc.done:
  br label %tc.exit
tc.exit:
  ret void
}

!llvm.module.flags = !{!0}
!0 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
