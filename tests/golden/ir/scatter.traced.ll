@held = local_unnamed_addr global [8 x double] zeroinitializer, align 16
define void @scatter(i32 noundef %arg, ptr noundef %arg1, ptr noundef %arg2, ptr noundef %arg3) local_unnamed_addr {
bb:
  %tc.values0 = alloca [5 x i64], align 8
  %i = icmp sgt i32 %arg, 0
  br i1 %i, label %bb4, label %.loopexit
bb4:
  %i5 = zext nneg i32 %arg to i64
  %tc.h0.0 = getelementptr i8, ptr %tc.values0, i64 0
  store i64 %i5, ptr %tc.h0.0, align 8
  %tc.h0.1 = getelementptr i8, ptr %tc.values0, i64 8
  store ptr %arg2, ptr %tc.h0.1, align 8
  %tc.h0.2 = getelementptr i8, ptr %tc.values0, i64 16
  store ptr @held, ptr %tc.h0.2, align 8
  %tc.h0.3 = getelementptr i8, ptr %tc.values0, i64 24
  store ptr %arg1, ptr %tc.h0.3, align 8
  %tc.h0.4 = getelementptr i8, ptr %tc.values0, i64 32
  store ptr %arg3, ptr %tc.h0.4, align 8
  call void @tc_loop(i32 0, ptr %tc.values0)
  br label %bb6
.loopexit.loopexit:
  call void @tc_loop_done(i32 0)
  br label %.loopexit
.loopexit:
  ret void
bb6:
  %i7 = phi i64 [ 0, %bb4 ], [ %i20, %bb6 ]
  %tc.count0.p = getelementptr i64, ptr @tc_counts, i64 0
  %tc.count0.v = load i64, ptr %tc.count0.p, align 8
  %tc.count0.n = add i64 %tc.count0.v, 1
  store i64 %tc.count0.n, ptr %tc.count0.p, align 8
  %i8 = getelementptr inbounds nuw double, ptr %arg2, i64 %i7
  %i9 = load double, ptr %i8, align 8
  %i10 = and i64 %i7, 7
  %i11 = getelementptr inbounds nuw double, ptr @held, i64 %i10
  %i12 = load double, ptr %i11, align 8
  %i13 = tail call double @llvm.fmuladd.f64(double %i9, double 2.000000e+00, double %i12)
  %i14 = getelementptr inbounds nuw i32, ptr %arg1, i64 %i7
  %i15 = load i32, ptr %i14, align 4
  %i16 = sext i32 %i15 to i64
  %i17 = getelementptr inbounds double, ptr %arg3, i64 %i16
  %i18 = load double, ptr %i17, align 8
  %i19 = fadd double %i13, %i18
  store double %i19, ptr %i17, align 8
  %i20 = add nuw nsw i64 %i7, 1
  %i21 = icmp eq i64 %i20, %i5
  br i1 %i21, label %.loopexit.loopexit, label %bb6
}
define noalias noundef ptr @make(i32 noundef %arg) local_unnamed_addr {
bb:
  %i = sext i32 %arg to i64
  %i1 = shl nsw i64 %i, 3
  %i2 = tail call ptr @tc_malloc(i64 noundef %i1)
  ret ptr %i2
}
@tc_counts = global [1 x i64] zeroinitializer, align 8
@tc_globals = constant [1 x { ptr, i64 }] [{ ptr, i64 } { ptr @held, i64 64 }], align 8
