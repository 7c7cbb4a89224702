target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define ptx_kernel void @kernel(i64 %tc.n, ptr addrspace(1) noalias readonly %tc.p1, ptr addrspace(1) noalias readonly %tc.p2, ptr addrspace(1) noalias readonly %tc.p3, ptr addrspace(1) noalias readonly %tc.p4, ptr addrspace(1) %tc.p5) {
entry:
  %tc.base0 = addrspacecast ptr addrspace(1) %tc.p1 to ptr
  %tc.base2 = addrspacecast ptr addrspace(1) %tc.p2 to ptr
  %tc.base3 = addrspacecast ptr addrspace(1) %tc.p3 to ptr
  %tc.base4 = addrspacecast ptr addrspace(1) %tc.p4 to ptr
  %tc.base1 = addrspacecast ptr addrspace(1) %tc.p5 to ptr
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
  %i12.tc.step = add i64 1, 0
  %i12.tc.start.o = mul i64 %tc.k, %i12.tc.step
  %i12.tc.start = add i64 0, %i12.tc.start.o
  br label %.preheader
.preheader:
  %i13.tc.b0 = getelementptr inbounds nuw i32, ptr %tc.base0, i64 %i12.tc.start
  %i14 = load i32, ptr %i13.tc.b0, align 4
  %i15 = add nuw nsw i64 %i12.tc.start, 1
  %i16.tc.b0 = getelementptr inbounds nuw i32, ptr %tc.base0, i64 %i15
  %i17 = load i32, ptr %i16.tc.b0, align 4
  %i18 = icmp slt i32 %i14, %i17
  br i1 %i18, label %bb19, label %.loopexit
bb19:
  %i20 = sext i32 %i14 to i64
  %i21 = sext i32 %i17 to i64
  br label %bb25
bb25:
  %i26 = phi i64 [ %i20, %bb19 ], [ %i36, %bb25 ]
  %i27 = phi double [ 0.000000e+00, %bb19 ], [ %i35, %bb25 ]
  %i28.tc.b2 = getelementptr inbounds double, ptr %tc.base2, i64 %i26
  %i29 = load double, ptr %i28.tc.b2, align 8
  %i30.tc.b3 = getelementptr inbounds i32, ptr %tc.base3, i64 %i26
  %i31 = load i32, ptr %i30.tc.b3, align 4
  %i32 = sext i32 %i31 to i64
  %i33.tc.b4 = getelementptr inbounds double, ptr %tc.base4, i64 %i32
  %i34 = load double, ptr %i33.tc.b4, align 8
  %i35.tc.product = fmul double %i29, %i34
  %i35 = fadd double %i35.tc.product, %i27
  %i36 = add nsw i64 %i26, 1
  %i37 = icmp eq i64 %i36, %i21
  br i1 %i37, label %.loopexit.loopexit, label %bb25
.loopexit.loopexit:
  %.lcssa = phi double [ %i35, %bb25 ]
  br label %.loopexit
.loopexit:
  %i22 = phi double [ 0.000000e+00, %.preheader ], [ %.lcssa, %.loopexit.loopexit ]
  %i23.tc.b1 = getelementptr inbounds nuw double, ptr %tc.base1, i64 %i12.tc.start
  store double %i22, ptr %i23.tc.b1, align 8
  br label %tc.done
tc.done:
  br label %tc.exit
tc.exit:
  ret void
}
