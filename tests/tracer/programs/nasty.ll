; Odd but valid text: everything that a careless reader of IR would trip over.
source_filename = "a \22quoted\22 name; with = signs { and }"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
module asm "nop # }{ \22"

%"struct.with space" = type { i8, i32, <{ i8, i64 }> }
%later = type { %"struct.with space", [3 x { i16, ptr }], <4 x float> }
%opaque = type opaque
$group = comdat any

@"a global, {quoted}" = global i32 7, align 4
@text = private unnamed_addr constant [9 x i8] c"}\0A%x @y\00\22"
@table = constant [2 x ptr] [ptr @odd, ptr @"a global, {quoted}"], section "x,\22y\22", align 8
@tls = thread_local(initialexec) global i64 0
@outside = external global [0 x i8]
@weak = extern_weak global i8
@closed = external global %opaque
@packed = global <{ i8, i64, [2 x i8] }> zeroinitializer, comdat($group), align 1
@alias = alias i32, ptr @"a global, {quoted}"

declare void @"odd callee"(ptr byval({ i32, i64 }) align 8, ...) #0
declare i32 @printf(ptr, ...)
declare i32 @__gxx_personality_v0(...)
declare void @llvm.dbg.value(metadata, metadata, metadata)
declare i32 @llvm.smax.i32(i32, i32)
declare void @llvm.assume(i1)

define internal fastcc noundef i32 @odd(i32 noundef range(i32 0, 10) %0, ptr noalias captures(none) dereferenceable(16) align 8 %"an argument", <4 x i32> %v) unnamed_addr #1 personality ptr @__gxx_personality_v0 !dbg !5 {
  %2 = alloca %later, i64 3, align 16
  %3 = alloca i32, align 4
    #dbg_declare(ptr %3, !9, !DIExpression(), !23)
  %"an address" = getelementptr inbounds nuw %later, ptr %2, i64 1, i32 1, i64 2, i32 1, !dbg !10
  store ptr %"an argument", ptr %"an address", align 8, !dbg !10, !tbaa !11, !noalias !14
  %4 = load volatile i32, ptr %3, align 4, !range !15
  %5 = load atomic i32, ptr %3 syncscope("singlethread") acquire, align 4
  store atomic i32 %5, ptr %3 seq_cst, align 4
  %6 = atomicrmw add ptr %3, i32 1 syncscope("agent") monotonic, align 4
  %7 = cmpxchg weak volatile ptr %3, i32 %6, i32 0 acq_rel monotonic, align 4
  %8 = extractvalue { i32, i1 } %7, 0
  fence syncscope("singlethread") release
  %9 = tail call i32 asm sideeffect "mov $1, $0 # } label %10 \22", "=r,r,~{memory}"(i32 %8) #2, !srcloc !16
  %10 = call i32 (ptr, ...) @printf(ptr noundef nonnull @text, i32 noundef %9, double 0x7FF8000000000000) [ "deopt"(i32 1, ptr %3) ]
  call void (ptr, ...) @"odd callee"(ptr byval({ i32, i64 }) align 8 %2, i32 signext -1), !dbg !10
  %11 = musttail call fastcc noundef i32 @odd(i32 %0, ptr %"an argument", <4 x i32> %v), !dbg !23
  ret i32 %11

"a, label":                                       ; No predecessors!
  %12 = phi i32 [ 1, %"a, label" ], [ 2, %13 ], [ %wide, %16 ]
  switch i32 %12, label %13 [
    i32 -1, label %"a, label"
    i32 7, label %14
  ], !prof !17

13:                                               ; preds = %"a, label"
  br i1 true, label %"a, label", label %14, !llvm.loop !18

14:                                               ; preds = %13, %"a, label"
  %15 = invoke i32 @odd(i32 range(i32 0, 3) 1, ptr null, <4 x i32> <i32 1, i32 2, i32 3, i32 4>)
          to label %16 unwind label %17, !dbg !23

16:                                               ; preds = %14
  %shuffled = shufflevector <4 x i32> %v, <4 x i32> poison, <4 x i32> <i32 3, i32 2, i32 1, i32 0>
  %picked = extractelement <4 x i32> %shuffled, i64 0
  %sum = add nuw nsw i32 %picked, %15
  %frozen = freeze i32 %sum
  %mixed = select nnan ninf i1 true, float 1.0, float 2.0
  %cast = fptosi float %mixed to i32
  %pointer = inttoptr i64 ptrtoint (ptr @packed to i64) to ptr
  %vectors = getelementptr i32, <2 x ptr> zeroinitializer, <2 x i64> <i64 0, i64 1>
  %less = icmp samesign ult i32 %cast, %frozen
  %most = call i32 @llvm.smax.i32(i32 %cast, i32 %frozen)
  call void @llvm.assume(i1 true) [ "align"(ptr %pointer, i64 8) ]
  %wide = or disjoint i32 %most, 4
  indirectbr ptr blockaddress(@odd, %"a, label"), [label %"a, label", label %18]

17:                                               ; preds = %14
  %pad = landingpad { ptr, i32 }
          cleanup
          catch ptr null
          filter [1 x ptr] [ptr @tls]
  resume { ptr, i32 } %pad

18:                                               ; preds = %16
  unreachable
}

define void @plain(i64, ptr %p) {
  %2 = getelementptr [4 x <{ i8, i32 }>], ptr %p, i64 %0, i64 1, i32 1
  store i32 trunc (i64 ptrtoint (ptr @outside to i64) to i32), ptr %2, align 1
  ret void
}

attributes #0 = { nounwind "a{b"="c}d" memory(argmem: readwrite) }
attributes #1 = { noinline "frame-pointer"="all" }
attributes #2 = { nounwind memory(none) }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!1, !2}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !3, producer: "p, !7 \22", isOptimized: false, runtimeVersion: 0, emissionKind: FullDebug)
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = !{i32 7, !"Dwarf Version", i32 4}
!3 = !DIFile(filename: "a \22name\22, scope: !0.c", directory: "/")
!4 = !DISubroutineType(types: !6)
!5 = distinct !DISubprogram(name: "odd", scope: !3, file: !3, line: 1, type: !4, scopeLine: 1, unit: !0)
!6 = !{null}
!7 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!8 = distinct !DISubprogram(name: "inner \22one\22", scope: !3, file: !3, line: 30, type: !4, scopeLine: 30, unit: !0)
!9 = !DILocalVariable(name: "x", scope: !5, file: !3, line: 4, type: !7)
!10 = !DILocation(line: 31, column: 5, scope: !8, inlinedAt: !20)
!11 = !{!12, !12, i64 0}
!12 = !{!"any pointer", !13}
!13 = !{!"root"}
!14 = !{!21}
!15 = !{i32 0, i32 5}
!16 = !{i64 3}
!17 = !{!"branch_weights", i32 1, i32 2, i32 3}
!18 = distinct !{!18, !19, !10}
!19 = !{!"llvm.loop.mustprogress"}
!20 = distinct !DILocation(line: 8, column: 2, scope: !5)
!21 = distinct !{!21, !22, !"scope"}
!22 = distinct !{!22, !"domain"}
!23 = !DILocation(line: 9, column: 1, scope: !5)
