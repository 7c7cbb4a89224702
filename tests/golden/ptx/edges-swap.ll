target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define ptx_kernel void @kernel(i64 %tc.n, ptr addrspace(1) noalias readonly %tc.p1, ptr addrspace(1) noalias readonly %tc.p2, ptr addrspace(1) noalias readonly %tc.p3, ptr addrspace(1) noalias readonly %tc.p4, ptr addrspace(1) %tc.p5) {
entry:
  %tc.base0 = addrspacecast ptr addrspace(1) %tc.p1 to ptr
  %tc.base1 = addrspacecast ptr addrspace(1) %tc.p2 to ptr
  %tc.base2 = addrspacecast ptr addrspace(1) %tc.p3 to ptr
  %tc.base3 = addrspacecast ptr addrspace(1) %tc.p4 to ptr
  %tc.base4 = addrspacecast ptr addrspace(1) %tc.p5 to ptr
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
  %i6.tc.step = add i64 1, 0
  %i6.tc.start.o = mul i64 %tc.k, %i6.tc.step
  %i6.tc.start = add i64 0, %i6.tc.start.o
  br label %.preheader
.preheader:
  %i7.tc.b0 = getelementptr inbounds nuw i32, ptr %tc.base0, i64 %i6.tc.start
  %i8 = load i32, ptr %i7.tc.b0, align 4
  %i9.tc.b1 = getelementptr inbounds nuw i32, ptr %tc.base1, i64 %i6.tc.start
  %i10 = load i32, ptr %i9.tc.b1, align 4
  %i11.tc.b2 = getelementptr inbounds nuw double, ptr %tc.base2, i64 %i6.tc.start
  %i12 = load double, ptr %i11.tc.b2, align 8
  %i13 = sext i32 %i10 to i64
  %i14.tc.b3 = getelementptr inbounds double, ptr %tc.base3, i64 %i13
  %i15 = load double, ptr %i14.tc.b3, align 8
  %i16 = sext i32 %i8 to i64
  %i17.tc.b3 = getelementptr inbounds double, ptr %tc.base3, i64 %i16
  %i18 = load double, ptr %i17.tc.b3, align 8
  %i19 = fsub double %i15, %i18
  %i20 = fmul double %i12, %i19
  %i21.tc.b4 = getelementptr inbounds double, ptr %tc.base4, i64 %i16
  %i23 = fadd double -0.000000e+00, %i20
  atomicrmw fadd ptr %i21.tc.b4, double %i23 syncscope("device") monotonic, align 8
  %i24.tc.b4 = getelementptr inbounds double, ptr %tc.base4, i64 %i13
  %i26 = fsub double -0.000000e+00, %i20
  atomicrmw fadd ptr %i24.tc.b4, double %i26 syncscope("device") monotonic, align 8
  br label %tc.done
tc.done:
  br label %tc.exit
tc.exit:
  ret void
}
