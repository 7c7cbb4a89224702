define void @tc.loop(i64 %tc.k0, i64 %tc.k1, ptr noalias %tc.in, ptr noalias %tc.out) {
entry:
  %tc.slot0 = getelementptr i8, ptr %tc.in, i64 0
  %arg2 = load ptr, ptr %tc.slot0, align 8
  %tc.slot1 = getelementptr i8, ptr %tc.in, i64 8
  %arg1 = load ptr, ptr %tc.slot1, align 8
  %tc.slot2 = getelementptr i8, ptr %tc.in, i64 16
  %arg3 = load ptr, ptr %tc.slot2, align 8
  %tc.slot3 = getelementptr i8, ptr %tc.in, i64 24
  %arg = load ptr, ptr %tc.slot3, align 8
  %tc.slot4 = getelementptr i8, ptr %tc.in, i64 32
  %arg4 = load ptr, ptr %tc.slot4, align 8
  %tc.slot5 = getelementptr i8, ptr %tc.in, i64 40
  %tc.order = load ptr, ptr %tc.slot5, align 8
  %tc.slot6 = getelementptr i8, ptr %tc.in, i64 48
  %tc.base0 = load ptr, ptr %tc.slot6, align 8
  %tc.slot7 = getelementptr i8, ptr %tc.in, i64 56
  %tc.base1 = load ptr, ptr %tc.slot7, align 8
  %tc.slot8 = getelementptr i8, ptr %tc.in, i64 64
  %tc.base2 = load ptr, ptr %tc.slot8, align 8
  %tc.slot9 = getelementptr i8, ptr %tc.in, i64 72
  %tc.base3 = load ptr, ptr %tc.slot9, align 8
  %tc.slot10 = getelementptr i8, ptr %tc.in, i64 80
  %tc.base4 = load ptr, ptr %tc.slot10, align 8
  %i11.tc.step = add i64 1, 0
  %i11.tc.start.o = mul i64 %tc.k0, %i11.tc.step
  %i11.tc.start = add i64 0, %i11.tc.start.o
  %tc.any = icmp slt i64 %tc.k0, %tc.k1
  br i1 %tc.any, label %bb10, label %tc.exit
bb10:
  %tc.k = phi i64 [ %tc.k0, %entry ], [ %tc.next, %bb10 ]
  %i11 = phi i64 [ %i11.tc.start, %entry ], [ %i32, %bb10 ]
  %i12 = getelementptr inbounds nuw double, ptr %arg2, i64 %i11
  %i12.tc.b0 = getelementptr inbounds nuw double, ptr %tc.base0, i64 %i11
  %i13 = load double, ptr %i12.tc.b0, align 8
  %i14 = getelementptr inbounds nuw i32, ptr %arg1, i64 %i11
  %i14.tc.b1 = getelementptr inbounds nuw i32, ptr %tc.base1, i64 %i11
  %i15 = load i32, ptr %i14.tc.b1, align 4
  %i16 = sext i32 %i15 to i64
  %i17 = getelementptr inbounds double, ptr %arg3, i64 %i16
  %i17.tc.b2 = getelementptr inbounds double, ptr %tc.base2, i64 %i16
  %i18 = load double, ptr %i17.tc.b2, align 8
  %i19 = getelementptr inbounds nuw i32, ptr %arg, i64 %i11
  %i19.tc.b3 = getelementptr inbounds nuw i32, ptr %tc.base3, i64 %i11
  %i20 = load i32, ptr %i19.tc.b3, align 4
  %i21 = sext i32 %i20 to i64
  %i22 = getelementptr inbounds double, ptr %arg3, i64 %i21
  %i22.tc.b2 = getelementptr inbounds double, ptr %tc.base2, i64 %i21
  %i23 = load double, ptr %i22.tc.b2, align 8
  %i24 = fsub double %i18, %i23
  %i25 = fmul double %i13, %i24
  %i26 = getelementptr inbounds double, ptr %arg4, i64 %i21
  %i26.tc.b4 = getelementptr inbounds double, ptr %tc.base4, i64 %i21
  %i27 = load double, ptr %i26.tc.b4, align 8
  %i28 = fadd double %i27, %i25
  store double %i28, ptr %i26.tc.b4, align 8
  %i29 = getelementptr inbounds double, ptr %arg4, i64 %i16
  %i29.tc.b4 = getelementptr inbounds double, ptr %tc.base4, i64 %i16
  %i30 = load double, ptr %i29.tc.b4, align 8
  %i31 = fsub double %i30, %i25
  store double %i31, ptr %i29.tc.b4, align 8
  %i32 = add nuw nsw i64 %i11, 1
  %i33 = icmp eq i64 %i32, 600
  %tc.next = add nsw i64 %tc.k, 1
  %tc.more = icmp slt i64 %tc.next, %tc.k1
  br i1 %tc.more, label %bb10, label %tc.exit
tc.exit:
  ret void
}
