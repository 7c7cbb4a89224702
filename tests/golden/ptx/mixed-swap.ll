target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define ptx_kernel void @kernel(i64 %tc.n, ptr addrspace(1) noalias readonly %tc.p1, ptr addrspace(1) noalias readonly %tc.p2, ptr addrspace(1) noalias readonly %tc.p3, ptr addrspace(1) %tc.p4) {
entry:
  %tc.order = addrspacecast ptr addrspace(1) %tc.p1 to ptr
  %tc.base0 = addrspacecast ptr addrspace(1) %tc.p2 to ptr
  %tc.base1 = addrspacecast ptr addrspace(1) %tc.p3 to ptr
  %tc.base2 = addrspacecast ptr addrspace(1) %tc.p4 to ptr
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
  %i4.tc.step = add i64 1, 0
  %i4.tc.start.o = mul i64 %tc.k, %i4.tc.step
  %i4.tc.start = add i64 0, %i4.tc.start.o
  br label %.preheader
.preheader:
  %tc.order.at = getelementptr i32, ptr %tc.order, i64 %tc.k
  %tc.order.k = load i32, ptr %tc.order.at, align 4
  %tc.old = zext i32 %tc.order.k to i64
  %i4.tc.old.o = mul i64 %tc.old, %i4.tc.step
  %i4.tc.old = add i64 0, %i4.tc.old.o
  %i5.tc.b0 = getelementptr inbounds nuw double, ptr %tc.base0, i64 %i4.tc.start
  %i6 = load double, ptr %i5.tc.b0, align 8
  %i7 = uitofp nneg i64 %i4.tc.old to double
  %i8.tc.b1 = getelementptr inbounds nuw i32, ptr %tc.base1, i64 %i4.tc.start
  %i9 = load i32, ptr %i8.tc.b1, align 4
  %i10 = sext i32 %i9 to i64
  %i11.tc.b2 = getelementptr inbounds float, ptr %tc.base2, i64 %i10
  %tc.swap0.first = load atomic i32, ptr %i11.tc.b2 syncscope("device") monotonic, align 4
  br label %tc.swap0
tc.swap0:
  %tc.swap0.old = phi i32 [ %tc.swap0.first, %.preheader ], [ %tc.swap0.seen, %tc.swap0 ]
  %tc.swap0.value = bitcast i32 %tc.swap0.old to float
  %i13 = fpext float %tc.swap0.value to double
  %i14.tc.product = fmul double %i6, %i7
  %i14 = fadd double %i14.tc.product, %i13
  %i15 = fptrunc double %i14 to float
  %tc.swap0.new = bitcast float %i15 to i32
  %tc.swap0.pair = cmpxchg ptr %i11.tc.b2, i32 %tc.swap0.old, i32 %tc.swap0.new syncscope("device") monotonic monotonic, align 4
  %tc.swap0.seen = extractvalue { i32, i1 } %tc.swap0.pair, 0
  %tc.swap0.won = extractvalue { i32, i1 } %tc.swap0.pair, 1
  br i1 %tc.swap0.won, label %tc.swap0.done, label %tc.swap0
tc.swap0.done:
  br label %tc.done
tc.done:
  br label %tc.exit
tc.exit:
  ret void
}
