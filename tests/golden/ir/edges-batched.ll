define void @tc.batch(i64 %tc.k0, i64 %tc.k1, ptr noalias %tc.in, ptr noalias %tc.out) {
entry:
  %tc.room0 = alloca [128 x double], align 64
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
  br i1 %tc.any, label %tc.batch, label %tc.exit
tc.batch:
  %tc.b0 = phi i64 [ %tc.k0, %entry ], [ %tc.b1, %tc.late.done ]
  %tc.b.end = add nsw i64 %tc.b0, 128
  %tc.b.cut = icmp slt i64 %tc.b.end, %tc.k1
  %tc.b1 = select i1 %tc.b.cut, i64 %tc.b.end, i64 %tc.k1
  br label %tc.ahead
tc.ahead:
  %tc.k = phi i64 [ %tc.b0, %tc.batch ], [ %tc.next, %tc.ahead ]
  %tc.gone = sub nsw i64 %tc.k, %tc.k0
  %i11.tc.o = mul i64 %tc.gone, %i11.tc.step
  %i11 = add i64 %i11.tc.start, %i11.tc.o
  %i12.tc.b0 = getelementptr inbounds nuw double, ptr %tc.base0, i64 %i11
  %i13 = load double, ptr %i12.tc.b0, align 8
  %i14.tc.b1 = getelementptr inbounds nuw i32, ptr %tc.base1, i64 %i11
  %i15 = load i32, ptr %i14.tc.b1, align 4
  %i16 = sext i32 %i15 to i64
  %i17.tc.b2 = getelementptr inbounds double, ptr %tc.base2, i64 %i16
  %i18 = load double, ptr %i17.tc.b2, align 8
  %i19.tc.b3 = getelementptr inbounds nuw i32, ptr %tc.base3, i64 %i11
  %i20 = load i32, ptr %i19.tc.b3, align 4
  %i21 = sext i32 %i20 to i64
  %i22.tc.b2 = getelementptr inbounds double, ptr %tc.base2, i64 %i21
  %i23 = load double, ptr %i22.tc.b2, align 8
  %i24 = fsub double %i18, %i23
  %i25 = fmul double %i13, %i24
  %i26.tc.b4 = getelementptr inbounds double, ptr %tc.base4, i64 %i21
  %i29.tc.b4 = getelementptr inbounds double, ptr %tc.base4, i64 %i16
  %i32 = add nuw nsw i64 %i11, 1
  %tc.at = sub nsw i64 %tc.k, %tc.b0
  %tc.put0 = getelementptr double, ptr %tc.room0, i64 %tc.at
  store double %i25, ptr %tc.put0
  %tc.next = add nsw i64 %tc.k, 1
  %tc.more = icmp slt i64 %tc.next, %tc.b1
  br i1 %tc.more, label %tc.ahead, label %tc.late.entry
tc.late.entry:
  br label %tc.late
tc.late:
  %tc.k.b = phi i64 [ %tc.b0, %tc.late.entry ], [ %tc.next.b, %tc.late ]
  %tc.gone.b = sub nsw i64 %tc.k.b, %tc.k0
  %i11.b.tc.o = mul i64 %tc.gone.b, %i11.tc.step
  %i11.b = add i64 %i11.tc.start, %i11.b.tc.o
  %tc.at.b = sub nsw i64 %tc.k.b, %tc.b0
  %tc.get0 = getelementptr double, ptr %tc.room0, i64 %tc.at.b
  %i25.b = load double, ptr %tc.get0
  %i14.tc.b1.b = getelementptr inbounds nuw i32, ptr %tc.base1, i64 %i11.b
  %i15.b = load i32, ptr %i14.tc.b1.b, align 4
  %i16.b = sext i32 %i15.b to i64
  %i19.tc.b3.b = getelementptr inbounds nuw i32, ptr %tc.base3, i64 %i11.b
  %i20.b = load i32, ptr %i19.tc.b3.b, align 4
  %i21.b = sext i32 %i20.b to i64
  %i26.tc.b4.b = getelementptr inbounds double, ptr %tc.base4, i64 %i21.b
  %i27 = load double, ptr %i26.tc.b4.b, align 8
  %i28 = fadd double %i27, %i25.b
  store double %i28, ptr %i26.tc.b4.b, align 8
  %i29.tc.b4.b = getelementptr inbounds double, ptr %tc.base4, i64 %i16.b
  %i30 = load double, ptr %i29.tc.b4.b, align 8
  %i31 = fsub double %i30, %i25.b
  store double %i31, ptr %i29.tc.b4.b, align 8
  %tc.next.b = add nsw i64 %tc.k.b, 1
  %tc.more.b = icmp slt i64 %tc.next.b, %tc.b1
  br i1 %tc.more.b, label %tc.late, label %tc.late.done
tc.late.done:
  %tc.left = icmp slt i64 %tc.b1, %tc.k1
  br i1 %tc.left, label %tc.batch, label %tc.exit
tc.exit:
  ret void
}
