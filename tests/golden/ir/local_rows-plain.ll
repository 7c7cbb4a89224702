define void @tc.loop(i64 %tc.k0, i64 %tc.k1, ptr noalias %tc.in, ptr noalias %tc.out) {
entry:
  %i = alloca [4 x double], align 16
  %tc.slot0 = getelementptr i8, ptr %tc.in, i64 0
  %arg = load ptr, ptr %tc.slot0, align 8
  %tc.slot1 = getelementptr i8, ptr %tc.in, i64 8
  %arg8 = load ptr, ptr %tc.slot1, align 8
  %tc.slot2 = getelementptr i8, ptr %tc.in, i64 16
  %arg7 = load ptr, ptr %tc.slot2, align 8
  %tc.slot3 = getelementptr i8, ptr %tc.in, i64 24
  %arg9 = load ptr, ptr %tc.slot3, align 8
  %tc.slot4 = getelementptr i8, ptr %tc.in, i64 32
  %arg10 = load ptr, ptr %tc.slot4, align 8
  %tc.slot5 = getelementptr i8, ptr %tc.in, i64 40
  %tc.order = load ptr, ptr %tc.slot5, align 8
  %tc.slot6 = getelementptr i8, ptr %tc.in, i64 48
  %tc.base1 = load ptr, ptr %tc.slot6, align 8
  %tc.slot7 = getelementptr i8, ptr %tc.in, i64 56
  %tc.base2 = load ptr, ptr %tc.slot7, align 8
  %tc.slot8 = getelementptr i8, ptr %tc.in, i64 64
  %tc.base5 = load ptr, ptr %tc.slot8, align 8
  %tc.slot9 = getelementptr i8, ptr %tc.in, i64 72
  %tc.base6 = load ptr, ptr %tc.slot9, align 8
  %tc.slot10 = getelementptr i8, ptr %tc.in, i64 80
  %tc.data-base2 = load ptr, ptr %tc.slot10, align 8
  %tc.slot11 = getelementptr i8, ptr %tc.in, i64 88
  %tc.base4 = load ptr, ptr %tc.slot11, align 8
  %i18.tc.step = add i64 1, 0
  %i18.tc.start.o = mul i64 %tc.k0, %i18.tc.step
  %i18.tc.start = add i64 0, %i18.tc.start.o
  %tc.any = icmp slt i64 %tc.k0, %tc.k1
  br i1 %tc.any, label %bb17, label %tc.exit
bb17:
  %tc.k = phi i64 [ %tc.k0, %entry ], [ %tc.next, %.loopexit ]
  %i18 = phi i64 [ %i18.tc.start, %entry ], [ %i21, %.loopexit ]
  %tc.order.at = getelementptr i32, ptr %tc.order, i64 %tc.k
  %tc.order.k = load i32, ptr %tc.order.at, align 4
  %tc.old = zext i32 %tc.order.k to i64
  %i18.tc.old.o = mul i64 %tc.old, %i18.tc.step
  %i18.tc.old = add i64 0, %i18.tc.old.o
  call void @llvm.lifetime.start.p0(ptr nonnull %i)
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 16 dereferenceable(32) %i, i8 0, i64 32, i1 false)
  %i19 = getelementptr inbounds nuw i32, ptr %arg, i64 %i18
  %i19.tc.b1 = getelementptr inbounds nuw i32, ptr %tc.base1, i64 %i18
  %i20 = load i32, ptr %i19.tc.b1, align 4
  %i21 = add nuw nsw i64 %i18, 1
  %i22 = getelementptr inbounds nuw i32, ptr %arg, i64 %i21
  %i22.tc.b1 = getelementptr inbounds nuw i32, ptr %tc.base1, i64 %i21
  %i23 = load i32, ptr %i22.tc.b1, align 4
  %i24 = icmp slt i32 %i20, %i23
  br i1 %i24, label %bb25, label %.loopexit
bb25:
  %i26 = getelementptr inbounds nuw i32, ptr %arg8, i64 %i18
  %i26.tc.b2 = getelementptr inbounds nuw i32, ptr %tc.base2, i64 %i18
  %i26.tc.d2 = getelementptr inbounds nuw i32, ptr %tc.data-base2, i64 %i18
  %i27 = load i32, ptr %i26.tc.b2, align 4
  %i27.tc.old = load i32, ptr %i26.tc.d2, align 4
  %i28 = sext i32 %i27 to i64
  %i28.tc.old = sext i32 %i27.tc.old to i64
  %i29 = getelementptr inbounds double, ptr %i, i64 %i28
  %i29.tc.b3o = getelementptr inbounds double, ptr %i, i64 %i28.tc.old
  %i30 = sext i32 %i20 to i64
  %i31 = sext i32 %i23 to i64
  br label %bb46
bb46:
  %i47 = phi i64 [ %i30, %bb25 ], [ %i55, %bb46 ]
  %i48 = getelementptr inbounds i32, ptr %arg7, i64 %i47
  %i48.tc.b5 = getelementptr inbounds i32, ptr %tc.base5, i64 %i47
  %i49 = load i32, ptr %i48.tc.b5, align 4
  %i50 = sext i32 %i49 to i64
  %i51 = getelementptr inbounds double, ptr %arg9, i64 %i50
  %i51.tc.b6 = getelementptr inbounds double, ptr %tc.base6, i64 %i50
  %i52 = load double, ptr %i51.tc.b6, align 8
  %i53 = load double, ptr %i29.tc.b3o, align 8
  %i54 = fadd double %i52, %i53
  store double %i54, ptr %i29.tc.b3o, align 8
  %i55 = add nsw i64 %i47, 1
  %i56 = icmp eq i64 %i55, %i31
  br i1 %i56, label %.loopexit.loopexit, label %bb46
.loopexit.loopexit:
  br label %.loopexit
.loopexit:
  %i32 = getelementptr inbounds nuw i32, ptr %arg8, i64 %i18
  %i32.tc.b2 = getelementptr inbounds nuw i32, ptr %tc.base2, i64 %i18
  %i32.tc.d2 = getelementptr inbounds nuw i32, ptr %tc.data-base2, i64 %i18
  %i33 = load i32, ptr %i32.tc.b2, align 4
  %i33.tc.old = load i32, ptr %i32.tc.d2, align 4
  %i34 = xor i32 %i33.tc.old, 1
  %i35 = sext i32 %i34 to i64
  %i36 = getelementptr inbounds double, ptr %i, i64 %i35
  %i36.tc.b3o = getelementptr inbounds double, ptr %i, i64 %i35
  %i37 = load double, ptr %i36.tc.b3o, align 8
  %i38 = sext i32 %i33 to i64
  %i38.tc.old = sext i32 %i33.tc.old to i64
  %i39 = getelementptr inbounds double, ptr %i, i64 %i38
  %i39.tc.b3o = getelementptr inbounds double, ptr %i, i64 %i38.tc.old
  %i40 = load double, ptr %i39.tc.b3o, align 8
  %i41 = trunc nsw i64 %i18 to i32
  %i41.tc.old = trunc nuw nsw i64 %i18.tc.old to i32
  %i42 = uitofp nneg i32 %i41.tc.old to double
  %i43 = tail call double @llvm.fmuladd.f64(double %i40, double %i42, double %i37)
  %i44 = getelementptr inbounds nuw double, ptr %arg10, i64 %i18
  %i44.tc.b4 = getelementptr inbounds nuw double, ptr %tc.base4, i64 %i18
  store double %i43, ptr %i44.tc.b4, align 8
  call void @llvm.lifetime.end.p0(ptr nonnull %i)
  %i45 = icmp eq i64 %i21, 600
  %tc.next = add nsw i64 %tc.k, 1
  %tc.more = icmp slt i64 %tc.next, %tc.k1
  br i1 %tc.more, label %bb17, label %tc.exit
tc.exit:
  ret void
}
