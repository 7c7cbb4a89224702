define void @rows(i64 noundef %arg, ptr noundef %arg7, ptr noundef %arg8, ptr noundef %arg9, ptr noundef %arg10, ptr noundef %arg11) local_unnamed_addr {
bb:
  %i = icmp sgt i64 %arg, 0
  br i1 %i, label %.preheader.preheader, label %.loopexit3
.preheader.preheader:
  br label %.preheader
.loopexit3.loopexit:
  br label %.loopexit3
.loopexit3:
  ret void
.preheader:
  %i12 = phi i64 [ %i15, %.loopexit ], [ 0, %.preheader.preheader ]
  %i13 = getelementptr inbounds nuw i32, ptr %arg7, i64 %i12
  %i14 = load i32, ptr %i13, align 4
  %i15 = add nuw nsw i64 %i12, 1
  %i16 = getelementptr inbounds nuw i32, ptr %arg7, i64 %i15
  %i17 = load i32, ptr %i16, align 4
  %i18 = icmp slt i32 %i14, %i17
  br i1 %i18, label %bb19, label %.loopexit
bb19:
  %i20 = sext i32 %i14 to i64
  %i21 = sext i32 %i17 to i64
  br label %bb25
.loopexit.loopexit:
  %.lcssa = phi double [ %i35, %bb25 ]
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
