@held = local_unnamed_addr global [8 x double] zeroinitializer, align 16
define void @scatter(i32 noundef %arg, ptr noundef %arg1, ptr noundef %arg2, ptr noundef %arg3) local_unnamed_addr {
bb:
  %i = icmp sgt i32 %arg, 0
  br i1 %i, label %bb4, label %.loopexit
bb4:
  %i5 = zext nneg i32 %arg to i64
  br label %bb6
.loopexit.loopexit:
  br label %.loopexit
.loopexit:
  ret void
bb6:
  %i7 = phi i64 [ 0, %bb4 ], [ %i20, %bb6 ]
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
  %i2 = tail call ptr @malloc(i64 noundef %i1)
  ret ptr %i2
}
