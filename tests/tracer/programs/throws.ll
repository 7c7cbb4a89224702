target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

$_ZN7Derived4areaEi = comdat any

$_ZTV7Derived = comdat any

$_ZTI7Derived = comdat any

$_ZTS7Derived = comdat any

$_ZTI4Base = comdat any

$_ZTS4Base = comdat any

@_ZL4mine = internal thread_local unnamed_addr global i32 4, align 4, !dbg !0
@table = local_unnamed_addr global [64 x i32] zeroinitializer, align 16, !dbg !5
@.str = private unnamed_addr constant [10 x i8] c"%d %d %g\0A\00", align 1, !dbg !12
@_ZTIi = external constant ptr
@_ZTV7Derived = linkonce_odr unnamed_addr constant { [3 x ptr] } { [3 x ptr] [ptr null, ptr @_ZTI7Derived, ptr @_ZN7Derived4areaEi] }, comdat, align 8, !dbg !29
@_ZL6global = internal global { ptr } { ptr getelementptr inbounds inrange(-16, 8) ({ [3 x ptr] }, ptr @_ZTV7Derived, i32 0, i32 0, i32 2) }, align 8, !dbg !19
@_ZTI7Derived = linkonce_odr constant { ptr, ptr, ptr } { ptr getelementptr inbounds (ptr, ptr @_ZTVN10__cxxabiv120__si_class_type_infoE, i64 2), ptr @_ZTS7Derived, ptr @_ZTI4Base }, comdat, align 8
@_ZTVN10__cxxabiv120__si_class_type_infoE = external global [0 x ptr]
@_ZTS7Derived = linkonce_odr constant [9 x i8] c"7Derived\00", comdat, align 1
@_ZTI4Base = linkonce_odr constant { ptr, ptr } { ptr getelementptr inbounds (ptr, ptr @_ZTVN10__cxxabiv117__class_type_infoE, i64 2), ptr @_ZTS4Base }, comdat, align 8
@_ZTVN10__cxxabiv117__class_type_infoE = external global [0 x ptr]
@_ZTS4Base = linkonce_odr constant [6 x i8] c"4Base\00", comdat, align 1
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @_ZL5earlyv, ptr null }]

; Function Attrs: mustprogress nofree norecurse nosync nounwind willreturn memory(readwrite, argmem: none, inaccessiblemem: none, target_mem0: none, target_mem1: none) uwtable
define internal void @_ZL5earlyv() #0 !dbg !45 {
  %1 = tail call align 4 ptr @llvm.threadlocal.address.p0(ptr align 4 @_ZL4mine), !dbg !48
  %2 = load i32, ptr %1, align 4, !dbg !49, !tbaa !41
  %3 = add nsw i32 %2, 1, !dbg !50
  store i32 %3, ptr %1, align 4, !dbg !51, !tbaa !41
  ret void, !dbg !52
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare nonnull ptr @llvm.threadlocal.address.p0(ptr nonnull) #1

; Function Attrs: mustprogress norecurse uwtable
define noundef range(i32 0, 8) i32 @main(i32 noundef %0, ptr noundef readnone captures(none) %1) local_unnamed_addr #2 personality ptr @__gxx_personality_v0 !dbg !53 {
  %3 = alloca [8 x double], align 16, !DIAssignID !68
    #dbg_assign(i1 poison, !61, !DIExpression(), !68, ptr %3, !DIExpression(), !69)
    #dbg_value(i32 %0, !59, !DIExpression(), !69)
    #dbg_value(ptr %1, !60, !DIExpression(), !69)
  call void @llvm.lifetime.start.p0(ptr nonnull %3) #8, !dbg !70
    #dbg_value(i32 0, !66, !DIExpression(), !71)
  %4 = sitofp i32 %0 to double
    #dbg_value(i32 0, !66, !DIExpression(), !71)
  br label %6, !dbg !72

5:                                                ; preds = %6
  switch i32 %0, label %23 [
    i32 1, label %15
    i32 5, label %19
    i32 9, label %59
  ], !dbg !73

6:                                                ; preds = %2, %6
  %7 = phi i64 [ 0, %2 ], [ %13, %6 ]
    #dbg_value(i64 %7, !66, !DIExpression(), !71)
  %8 = trunc nuw nsw i64 %7 to i32, !dbg !74
  %9 = uitofp nneg i32 %8 to double, !dbg !74
  %10 = fmul double %9, 5.000000e-01, !dbg !76
  %11 = fmul double %10, %4, !dbg !77
  %12 = getelementptr inbounds nuw double, ptr %3, i64 %7, !dbg !78
  store double %11, ptr %12, align 8, !dbg !79, !tbaa !80
  %13 = add nuw nsw i64 %7, 1, !dbg !82
    #dbg_value(i64 %13, !66, !DIExpression(), !71)
  %14 = icmp eq i64 %13, 8, !dbg !83
  br i1 %14, label %5, label %6, !dbg !84, !llvm.loop !85

15:                                               ; preds = %5
  %16 = tail call align 4 ptr @llvm.threadlocal.address.p0(ptr align 4 @_ZL4mine), !dbg !90
  %17 = load i32, ptr %16, align 4, !dbg !92, !tbaa !41
  %18 = add nsw i32 %17, 2, !dbg !93
  store i32 %18, ptr %16, align 4, !dbg !94, !tbaa !41
  br label %23, !dbg !95

19:                                               ; preds = %5
  %20 = tail call align 4 ptr @llvm.threadlocal.address.p0(ptr align 4 @_ZL4mine), !dbg !96
  %21 = load i32, ptr %20, align 4, !dbg !97, !tbaa !41
  %22 = mul nsw i32 %21, 3, !dbg !98
  store i32 %22, ptr %20, align 4, !dbg !99, !tbaa !41
  br label %23, !dbg !100

23:                                               ; preds = %5, %19, %15
  br label %24, !dbg !101

24:                                               ; preds = %23, %46
  %25 = phi i64 [ %48, %46 ], [ 0, %23 ]
  %26 = phi i32 [ %47, %46 ], [ 0, %23 ]
    #dbg_value(i32 %26, !110, !DIExpression(), !116)
    #dbg_value(i64 %25, !111, !DIExpression(), !117)
  %27 = load ptr, ptr @_ZL6global, align 8, !dbg !118, !tbaa !120
  %28 = load ptr, ptr %27, align 8, !dbg !118
  %29 = trunc nuw nsw i64 %25 to i32, !dbg !118
  %30 = invoke noundef i32 %28(ptr noundef nonnull align 8 dereferenceable(8) @_ZL6global, i32 noundef %29)
          to label %31 unwind label %36, !dbg !118

31:                                               ; preds = %24
  %32 = getelementptr inbounds nuw i32, ptr @table, i64 %25, !dbg !122
  %33 = load i32, ptr %32, align 4, !dbg !122, !tbaa !41
  %34 = add i32 %30, %26, !dbg !123
  %35 = add i32 %34, %33, !dbg !124
    #dbg_value(i32 %35, !110, !DIExpression(), !116)
  br label %46, !dbg !125

36:                                               ; preds = %24
  %37 = landingpad { ptr, i32 }
          cleanup
          catch ptr @_ZTIi, !dbg !126
  %38 = extractvalue { ptr, i32 } %37, 1, !dbg !126
  %39 = tail call i32 @llvm.eh.typeid.for.p0(ptr nonnull @_ZTIi) #8, !dbg !125
  %40 = icmp eq i32 %38, %39, !dbg !125
  br i1 %40, label %41, label %50, !dbg !125

41:                                               ; preds = %36
  %42 = extractvalue { ptr, i32 } %37, 0, !dbg !126
  %43 = tail call ptr @__cxa_begin_catch(ptr %42) #8, !dbg !125
  %44 = load i32, ptr %43, align 4, !dbg !127, !tbaa !41
    #dbg_value(i32 %44, !112, !DIExpression(), !128)
  %45 = sub nsw i32 %26, %44, !dbg !129
    #dbg_value(i32 %45, !110, !DIExpression(), !116)
  tail call void @__cxa_end_catch() #8, !dbg !131
  br label %46, !dbg !131

46:                                               ; preds = %41, %31
  %47 = phi i32 [ %35, %31 ], [ %45, %41 ], !dbg !132
    #dbg_value(i32 %47, !110, !DIExpression(), !116)
  %48 = add nuw nsw i64 %25, 1, !dbg !133
    #dbg_value(i64 %48, !111, !DIExpression(), !117)
  %49 = icmp eq i64 %48, 10, !dbg !134
  br i1 %49, label %51, label %24, !dbg !135, !llvm.loop !136

50:                                               ; preds = %36
  resume { ptr, i32 } %37, !dbg !138

51:                                               ; preds = %46
  %52 = tail call align 4 ptr @llvm.threadlocal.address.p0(ptr align 4 @_ZL4mine), !dbg !139
  %53 = load i32, ptr %52, align 4, !dbg !139, !tbaa !41
  %54 = and i32 %0, 7, !dbg !140
  %55 = zext nneg i32 %54 to i64, !dbg !141
  %56 = getelementptr inbounds nuw double, ptr %3, i64 %55, !dbg !141
  %57 = load double, ptr %56, align 8, !dbg !141, !tbaa !80
  %58 = tail call i32 (ptr, ...) @printf(ptr noundef nonnull dereferenceable(1) @.str, i32 noundef %47, i32 noundef %53, double noundef %57), !dbg !142
  br label %59, !dbg !143

59:                                               ; preds = %5, %51
  %60 = phi i32 [ 0, %51 ], [ 7, %5 ]
  call void @llvm.lifetime.end.p0(ptr nonnull %3) #8, !dbg !143
  ret i32 %60, !dbg !144
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(ptr captures(none)) #3

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(ptr captures(none)) #3

; Function Attrs: nofree nounwind
declare !dbg !145 noundef i32 @printf(ptr noundef readonly captures(none), ...) local_unnamed_addr #4

declare i32 @__gxx_personality_v0(...)

; Function Attrs: nofree nosync nounwind memory(none)
declare i32 @llvm.eh.typeid.for.p0(ptr) #5

declare ptr @__cxa_begin_catch(ptr) local_unnamed_addr

declare void @__cxa_end_catch() local_unnamed_addr

; Function Attrs: mustprogress uwtable
define linkonce_odr noundef i32 @_ZN7Derived4areaEi(ptr noundef nonnull align 8 dereferenceable(8) %0, i32 noundef %1) unnamed_addr #6 comdat align 2 !dbg !149 {
    #dbg_value(ptr %0, !151, !DIExpression(), !154)
    #dbg_value(i32 %1, !153, !DIExpression(), !154)
  %3 = icmp eq i32 %1, 3, !dbg !155
  br i1 %3, label %4, label %6, !dbg !157

4:                                                ; preds = %2
  %5 = tail call ptr @__cxa_allocate_exception(i64 4) #8, !dbg !158
  store i32 3, ptr %5, align 16, !dbg !158, !tbaa !41
  tail call void @__cxa_throw(ptr nonnull %5, ptr nonnull @_ZTIi, ptr null) #9, !dbg !158
  unreachable, !dbg !158

6:                                                ; preds = %2
  %7 = shl nsw i32 %1, 1, !dbg !159
  ret i32 %7, !dbg !160
}

declare ptr @__cxa_allocate_exception(i64) local_unnamed_addr

; Function Attrs: cold noreturn
declare void @__cxa_throw(ptr, ptr, ptr) local_unnamed_addr #7

attributes #0 = { mustprogress nofree norecurse nosync nounwind willreturn memory(readwrite, argmem: none, inaccessiblemem: none, target_mem0: none, target_mem1: none) uwtable }
attributes #1 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { mustprogress norecurse uwtable }
attributes #3 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #4 = { nofree nounwind }
attributes #5 = { nofree nosync nounwind memory(none) }
attributes #6 = { mustprogress uwtable }
attributes #7 = { cold noreturn }
attributes #8 = { nounwind }
attributes #9 = { noreturn }

!llvm.dbg.cu = !{!2}
!llvm.module.flags = !{!33, !34, !35, !36, !37, !38, !39}
!llvm.ident = !{!40}
!llvm.errno.tbaa = !{!41}

!0 = !DIGlobalVariableExpression(var: !1, expr: !DIExpression())
!1 = distinct !DIGlobalVariable(name: "mine", linkageName: "_ZL4mine", scope: !2, file: !7, line: 4, type: !9, isLocal: true, isDefinition: true)
!2 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !3, producer: "clang version 22.1.8", isOptimized: true, runtimeVersion: 0, emissionKind: FullDebug, globals: !4, splitDebugInlining: false, nameTableKind: None)
!3 = !DIFile(filename: "throws.cpp", directory: "/src")
!4 = !{!5, !12, !0, !19, !29}
!5 = !DIGlobalVariableExpression(var: !6, expr: !DIExpression())
!6 = distinct !DIGlobalVariable(name: "table", scope: !2, file: !7, line: 7, type: !8, isLocal: false, isDefinition: true)
!7 = !DIFile(filename: "throws.cpp", directory: "")
!8 = !DICompositeType(tag: DW_TAG_array_type, baseType: !9, size: 2048, elements: !10)
!9 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!10 = !{!11}
!11 = !DISubrange(count: 64)
!12 = !DIGlobalVariableExpression(var: !13, expr: !DIExpression())
!13 = distinct !DIGlobalVariable(scope: null, file: !7, line: 19, type: !14, isLocal: true, isDefinition: true)
!14 = !DICompositeType(tag: DW_TAG_array_type, baseType: !15, size: 80, elements: !17)
!15 = !DIDerivedType(tag: DW_TAG_const_type, baseType: !16)
!16 = !DIBasicType(name: "char", size: 8, encoding: DW_ATE_signed_char)
!17 = !{!18}
!18 = !DISubrange(count: 10)
!19 = !DIGlobalVariableExpression(var: !20, expr: !DIExpression())
!20 = distinct !DIGlobalVariable(name: "global", linkageName: "_ZL6global", scope: !2, file: !7, line: 5, type: !21, isLocal: true, isDefinition: true)
!21 = distinct !DICompositeType(tag: DW_TAG_structure_type, name: "Derived", file: !7, line: 2, size: 64, flags: DIFlagTypePassByReference | DIFlagNonTrivial, elements: !22, vtableHolder: !24, identifier: "_ZTS7Derived")
!22 = !{!23, !25}
!23 = !DIDerivedType(tag: DW_TAG_inheritance, scope: !21, baseType: !24, extraData: i32 0)
!24 = !DICompositeType(tag: DW_TAG_structure_type, name: "Base", file: !7, line: 1, size: 64, flags: DIFlagFwdDecl | DIFlagNonTrivial, identifier: "_ZTS4Base")
!25 = !DISubprogram(name: "area", linkageName: "_ZN7Derived4areaEi", scope: !21, file: !7, line: 2, type: !26, scopeLine: 2, containingType: !21, virtualIndex: 0, flags: DIFlagPrototyped, spFlags: DISPFlagVirtual | DISPFlagOptimized)
!26 = !DISubroutineType(types: !27)
!27 = !{!9, !28, !9}
!28 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !21, size: 64, flags: DIFlagArtificial | DIFlagObjectPointer)
!29 = !DIGlobalVariableExpression(var: !30, expr: !DIExpression())
!30 = distinct !DIGlobalVariable(name: "_vtable$", linkageName: "_ZTV7Derived", scope: !2, file: !7, type: !31, isLocal: false, isDefinition: true, declaration: !32, align: 64)
!31 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: null, size: 64)
!32 = !DIDerivedType(tag: DW_TAG_member, name: "_vtable$", scope: !21, file: !7, baseType: !31, flags: DIFlagPrivate | DIFlagArtificial | DIFlagStaticMember)
!33 = !{i32 7, !"Dwarf Version", i32 4}
!34 = !{i32 2, !"Debug Info Version", i32 3}
!35 = !{i32 1, !"wchar_size", i32 4}
!36 = !{i32 8, !"PIC Level", i32 2}
!37 = !{i32 7, !"uwtable", i32 2}
!38 = !{i32 7, !"frame-pointer", i32 2}
!39 = !{i32 7, !"debug-info-assignment-tracking", i1 true}
!40 = !{!"clang version 22.1.8"}
!41 = !{!42, !42, i64 0}
!42 = !{!"int", !43, i64 0}
!43 = !{!"omnipotent char", !44, i64 0}
!44 = !{!"Simple C++ TBAA"}
!45 = distinct !DISubprogram(name: "early", linkageName: "_ZL5earlyv", scope: !7, file: !7, line: 6, type: !46, scopeLine: 6, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !2, keyInstructions: true)
!46 = !DISubroutineType(types: !47)
!47 = !{null}
!48 = !DILocation(line: 6, column: 52, scope: !45)
!49 = !DILocation(line: 6, column: 56, scope: !45)
!50 = !DILocation(line: 6, column: 56, scope: !45, atomGroup: 1, atomRank: 2)
!51 = !DILocation(line: 6, column: 56, scope: !45, atomGroup: 1, atomRank: 1)
!52 = !DILocation(line: 6, column: 60, scope: !45, atomGroup: 2, atomRank: 1)
!53 = distinct !DISubprogram(name: "main", scope: !7, file: !7, line: 15, type: !54, scopeLine: 15, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !2, retainedNodes: !58, keyInstructions: true)
!54 = !DISubroutineType(types: !55)
!55 = !{!9, !9, !56}
!56 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !57, size: 64)
!57 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !16, size: 64)
!58 = !{!59, !60, !61, !66}
!59 = !DILocalVariable(name: "argc", arg: 1, scope: !53, file: !7, line: 15, type: !9)
!60 = !DILocalVariable(arg: 2, scope: !53, file: !7, line: 15, type: !56)
!61 = !DILocalVariable(name: "x", scope: !53, file: !7, line: 16, type: !62)
!62 = !DICompositeType(tag: DW_TAG_array_type, baseType: !63, size: 512, elements: !64)
!63 = !DIBasicType(name: "double", size: 64, encoding: DW_ATE_float)
!64 = !{!65}
!65 = !DISubrange(count: 8)
!66 = !DILocalVariable(name: "i", scope: !67, file: !7, line: 17, type: !9)
!67 = distinct !DILexicalBlock(scope: !53, file: !7, line: 17, column: 5)
!68 = distinct !DIAssignID()
!69 = !DILocation(line: 0, scope: !53)
!70 = !DILocation(line: 16, column: 5, scope: !53)
!71 = !DILocation(line: 0, scope: !67)
!72 = !DILocation(line: 17, column: 5, scope: !67, atomGroup: 18, atomRank: 1)
!73 = !DILocation(line: 18, column: 5, scope: !53, atomGroup: 7, atomRank: 1)
!74 = !DILocation(line: 17, column: 40, scope: !75)
!75 = distinct !DILexicalBlock(scope: !67, file: !7, line: 17, column: 5)
!76 = !DILocation(line: 17, column: 42, scope: !75)
!77 = !DILocation(line: 17, column: 48, scope: !75, atomGroup: 4, atomRank: 2)
!78 = !DILocation(line: 17, column: 33, scope: !75)
!79 = !DILocation(line: 17, column: 38, scope: !75, atomGroup: 4, atomRank: 1)
!80 = !{!81, !81, i64 0}
!81 = !{!"double", !43, i64 0}
!82 = !DILocation(line: 17, column: 29, scope: !75, atomGroup: 5, atomRank: 2)
!83 = !DILocation(line: 17, column: 23, scope: !75, atomGroup: 2, atomRank: 1)
!84 = !DILocation(line: 17, column: 5, scope: !67, atomGroup: 3, atomRank: 1)
!85 = distinct !{!85, !86, !87, !88, !89}
!86 = !DILocation(line: 17, column: 5, scope: !67)
!87 = !DILocation(line: 17, column: 50, scope: !67)
!88 = !{!"llvm.loop.mustprogress"}
!89 = !{!"llvm.loop.unroll.disable"}
!90 = !DILocation(line: 18, column: 29, scope: !91)
!91 = distinct !DILexicalBlock(scope: !53, file: !7, line: 18, column: 19)
!92 = !DILocation(line: 18, column: 34, scope: !91)
!93 = !DILocation(line: 18, column: 34, scope: !91, atomGroup: 8, atomRank: 2)
!94 = !DILocation(line: 18, column: 34, scope: !91, atomGroup: 8, atomRank: 1)
!95 = !DILocation(line: 18, column: 40, scope: !91, atomGroup: 9, atomRank: 1)
!96 = !DILocation(line: 18, column: 55, scope: !91)
!97 = !DILocation(line: 18, column: 60, scope: !91)
!98 = !DILocation(line: 18, column: 60, scope: !91, atomGroup: 10, atomRank: 2)
!99 = !DILocation(line: 18, column: 60, scope: !91, atomGroup: 10, atomRank: 1)
!100 = !DILocation(line: 18, column: 66, scope: !91, atomGroup: 11, atomRank: 1)
!101 = !DILocation(line: 10, column: 5, scope: !102, inlinedAt: !115)
!102 = distinct !DILexicalBlock(scope: !103, file: !7, line: 10, column: 5)
!103 = distinct !DISubprogram(name: "sum", linkageName: "_ZL3sumR4Basei", scope: !7, file: !7, line: 8, type: !104, scopeLine: 8, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !2, retainedNodes: !107, keyInstructions: true)
!104 = !DISubroutineType(types: !105)
!105 = !{!9, !106, !9}
!106 = !DIDerivedType(tag: DW_TAG_reference_type, baseType: !24, size: 64)
!107 = !{!108, !109, !110, !111, !112}
!108 = !DILocalVariable(name: "b", arg: 1, scope: !103, file: !7, line: 8, type: !106)
!109 = !DILocalVariable(name: "n", arg: 2, scope: !103, file: !7, line: 8, type: !9)
!110 = !DILocalVariable(name: "s", scope: !103, file: !7, line: 9, type: !9)
!111 = !DILocalVariable(name: "i", scope: !102, file: !7, line: 10, type: !9)
!112 = !DILocalVariable(name: "value", scope: !113, file: !7, line: 11, type: !9)
!113 = distinct !DILexicalBlock(scope: !114, file: !7, line: 10, column: 33)
!114 = distinct !DILexicalBlock(scope: !102, file: !7, line: 10, column: 5)
!115 = distinct !DILocation(line: 19, column: 26, scope: !53)
!116 = !DILocation(line: 0, scope: !103, inlinedAt: !115)
!117 = !DILocation(line: 0, scope: !102, inlinedAt: !115)
!118 = !DILocation(line: 11, column: 22, scope: !119, inlinedAt: !115)
!119 = distinct !DILexicalBlock(scope: !113, file: !7, line: 11, column: 13)
!120 = !{!121, !121, i64 0}
!121 = !{!"vtable pointer", !44, i64 0}
!122 = !DILocation(line: 11, column: 32, scope: !119, inlinedAt: !115)
!123 = !DILocation(line: 11, column: 30, scope: !119, inlinedAt: !115)
!124 = !DILocation(line: 11, column: 17, scope: !119, inlinedAt: !115, atomGroup: 5, atomRank: 2)
!125 = !DILocation(line: 11, column: 47, scope: !119, inlinedAt: !115)
!126 = !DILocation(line: 14, column: 1, scope: !119, inlinedAt: !115)
!127 = !DILocation(line: 11, column: 47, scope: !119, inlinedAt: !115, atomGroup: 6, atomRank: 2)
!128 = !DILocation(line: 0, scope: !113, inlinedAt: !115)
!129 = !DILocation(line: 11, column: 71, scope: !130, inlinedAt: !115, atomGroup: 7, atomRank: 2)
!130 = distinct !DILexicalBlock(scope: !113, file: !7, line: 11, column: 67)
!131 = !DILocation(line: 11, column: 81, scope: !130, inlinedAt: !115)
!132 = !DILocation(line: 11, scope: !113, inlinedAt: !115, atomGroup: 5, atomRank: 1)
!133 = !DILocation(line: 10, column: 29, scope: !114, inlinedAt: !115, atomGroup: 8, atomRank: 2)
!134 = !DILocation(line: 10, column: 23, scope: !114, inlinedAt: !115, atomGroup: 3, atomRank: 1)
!135 = !DILocation(line: 10, column: 5, scope: !102, inlinedAt: !115, atomGroup: 4, atomRank: 1)
!136 = distinct !{!136, !101, !137, !88, !89}
!137 = !DILocation(line: 12, column: 5, scope: !102, inlinedAt: !115)
!138 = !DILocation(line: 14, column: 1, scope: !103, inlinedAt: !115)
!139 = !DILocation(line: 19, column: 43, scope: !53)
!140 = !DILocation(line: 19, column: 56, scope: !53)
!141 = !DILocation(line: 19, column: 49, scope: !53)
!142 = !DILocation(line: 19, column: 5, scope: !53)
!143 = !DILocation(line: 20, column: 1, scope: !53)
!144 = !DILocation(line: 20, column: 1, scope: !53, atomGroup: 14, atomRank: 1)
!145 = !DISubprogram(name: "printf", scope: !7, file: !7, line: 3, type: !146, flags: DIFlagPrototyped, spFlags: DISPFlagOptimized)
!146 = !DISubroutineType(types: !147)
!147 = !{!9, !148, null}
!148 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !15, size: 64)
!149 = distinct !DISubprogram(name: "area", linkageName: "_ZN7Derived4areaEi", scope: !21, file: !7, line: 2, type: !26, scopeLine: 2, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !2, declaration: !25, retainedNodes: !150, keyInstructions: true)
!150 = !{!151, !153}
!151 = !DILocalVariable(name: "this", arg: 1, scope: !149, type: !152, flags: DIFlagArtificial | DIFlagObjectPointer)
!152 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !21, size: 64)
!153 = !DILocalVariable(name: "n", arg: 2, scope: !149, file: !7, line: 2, type: !9)
!154 = !DILocation(line: 0, scope: !149)
!155 = !DILocation(line: 2, column: 58, scope: !156, atomGroup: 1, atomRank: 2)
!156 = distinct !DILexicalBlock(scope: !149, file: !7, line: 2, column: 56)
!157 = !DILocation(line: 2, column: 58, scope: !156, atomGroup: 1, atomRank: 1)
!158 = !DILocation(line: 2, column: 64, scope: !156)
!159 = !DILocation(line: 2, column: 82, scope: !149, atomGroup: 2, atomRank: 2)
!160 = !DILocation(line: 2, column: 73, scope: !149, atomGroup: 2, atomRank: 1)
