define void @rows(i64 noundef %arg, ptr noundef %arg7, ptr noundef %arg8, ptr noundef %arg9, ptr noundef %arg10, ptr noundef %arg11) local_unnamed_addr {
bb:
  %tc.values1 = alloca [5 x i64], align 8
  %tc.values0 = alloca [6 x i64], align 8
  %i = icmp sgt i64 %arg, 0
  br i1 %i, label %.preheader.preheader, label %.loopexit3
.preheader.preheader:
  %tc.h0.0 = getelementptr i8, ptr %tc.values0, i64 0
  store i64 %arg, ptr %tc.h0.0, align 8
  %tc.h0.1 = getelementptr i8, ptr %tc.values0, i64 8
  store ptr %arg7, ptr %tc.h0.1, align 8
  %tc.h0.2 = getelementptr i8, ptr %tc.values0, i64 16
  store ptr %arg11, ptr %tc.h0.2, align 8
  %tc.h0.3 = getelementptr i8, ptr %tc.values0, i64 24
  store ptr %arg9, ptr %tc.h0.3, align 8
  %tc.h0.4 = getelementptr i8, ptr %tc.values0, i64 32
  store ptr %arg8, ptr %tc.h0.4, align 8
  %tc.h0.5 = getelementptr i8, ptr %tc.values0, i64 40
  store ptr %arg10, ptr %tc.h0.5, align 8
  call void @tc_loop(i32 0, ptr %tc.values0)
  br label %.preheader
.loopexit3.loopexit:
  call void @tc_loop_done(i32 0)
  br label %.loopexit3
.loopexit3:
  ret void
.preheader:
  %i12 = phi i64 [ %i15, %.loopexit ], [ 0, %.preheader.preheader ]
  %tc.count0.p = getelementptr i64, ptr @tc_counts, i64 0
  %tc.count0.v = load i64, ptr %tc.count0.p, align 8
  %tc.count0.n = add i64 %tc.count0.v, 1
  store i64 %tc.count0.n, ptr %tc.count0.p, align 8
  %i13 = getelementptr inbounds nuw i32, ptr %arg7, i64 %i12
  %i14 = load i32, ptr %i13, align 4
  %i15 = add nuw nsw i64 %i12, 1
  %i16 = getelementptr inbounds nuw i32, ptr %arg7, i64 %i15
  %i17 = load i32, ptr %i16, align 4
  %i18 = icmp slt i32 %i14, %i17
  br i1 %i18, label %bb19, label %.loopexit
bb19:
  %tc.passed0.p = getelementptr i64, ptr @tc_counts, i64 2
  %tc.passed0.v = load i64, ptr %tc.passed0.p, align 8
  %tc.passed0.n = add i64 %tc.passed0.v, 1
  store i64 %tc.passed0.n, ptr %tc.passed0.p, align 8
  %i20 = sext i32 %i14 to i64
  %i21 = sext i32 %i17 to i64
  %tc.h1.0 = getelementptr i8, ptr %tc.values1, i64 0
  store i64 %i20, ptr %tc.h1.0, align 8
  %tc.h1.1 = getelementptr i8, ptr %tc.values1, i64 8
  store i64 %i21, ptr %tc.h1.1, align 8
  %tc.h1.2 = getelementptr i8, ptr %tc.values1, i64 16
  store ptr %arg9, ptr %tc.h1.2, align 8
  %tc.h1.3 = getelementptr i8, ptr %tc.values1, i64 24
  store ptr %arg8, ptr %tc.h1.3, align 8
  %tc.h1.4 = getelementptr i8, ptr %tc.values1, i64 32
  store ptr %arg10, ptr %tc.h1.4, align 8
  call void @tc_loop(i32 1, ptr %tc.values1)
  br label %bb25
.loopexit.loopexit:
  %.lcssa = phi double [ %i35, %bb25 ]
  call void @tc_loop_done(i32 1)
  %tc.passed1.p = getelementptr i64, ptr @tc_counts, i64 3
  %tc.passed1.v = load i64, ptr %tc.passed1.p, align 8
  %tc.passed1.n = add i64 %tc.passed1.v, 1
  store i64 %tc.passed1.n, ptr %tc.passed1.p, align 8
  br label %.loopexit
.loopexit:
  %i22 = phi double [ 0.000000e+00, %.preheader ], [ %.lcssa, %.loopexit.loopexit ]
  %i23 = getelementptr inbounds nuw double, ptr %arg11, i64 %i12
  store double %i22, ptr %i23, align 8
  %i24 = icmp eq i64 %i15, %arg
  br i1 %i24, label %.loopexit3.loopexit, label %.preheader
bb25:
  %i26 = phi i64 [ %i20, %bb19 ], [ %i36, %bb25 ]
  %i27 = phi double [ 0.000000e+00, %bb19 ], [ %i35, %bb25 ]
  %tc.count1.p = getelementptr i64, ptr @tc_counts, i64 1
  %tc.count1.v = load i64, ptr %tc.count1.p, align 8
  %tc.count1.n = add i64 %tc.count1.v, 1
  store i64 %tc.count1.n, ptr %tc.count1.p, align 8
  %i28 = getelementptr inbounds double, ptr %arg9, i64 %i26
  %i29 = load double, ptr %i28, align 8
  %i30 = getelementptr inbounds i32, ptr %arg8, i64 %i26
  %i31 = load i32, ptr %i30, align 4
  %i32 = sext i32 %i31 to i64
  %i33 = getelementptr inbounds double, ptr %arg10, i64 %i32
  %i34 = load double, ptr %i33, align 8
  %i35 = tail call double @llvm.fmuladd.f64(double %i29, double %i34, double %i27)
  %i36 = add nsw i64 %i26, 1
  %i37 = icmp eq i64 %i36, %i21
  br i1 %i37, label %.loopexit.loopexit, label %bb25
}
@tc_counts = global [4 x i64] zeroinitializer, align 8
@tc_globals = constant [0 x { ptr, i64 }] zeroinitializer, align 8
