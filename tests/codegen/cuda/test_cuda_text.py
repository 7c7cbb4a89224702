"""The text of kernels in CUDA C: golden files, nvcc, source lines, and what is refused."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tracecut.codegen.cuda.export import cuda_source
from tracecut.codegen.kernels.kernel import Kernel
from tracecut.codegen.kernels.make_region_kernel import make_region_kernel
from tracecut.codegen.ptx.nvptx import wheel_file
from tracecut.support.errors import ArgumentError, UnsupportedError

from ...waiting import HUNG
from ..harness import Inspected
from ..kernels.running import source_of
from .hand_written import kernel_of, text_of
from .on_host import compiled, differences, run_on_host

Catalogue = Callable[[str], dict[str, Inspected | str]]
GOLDEN = [("totals", "smem"), ("products", "smem"), ("totals", "swap-indirect"), ("csr", "smem")]
FILES = {"csr": "rows"}  # of the catalogue, where it is not edges


def made(inspected: Catalogue, mark: str, variant: str) -> Kernel:
    item = inspected(FILES.get(mark, "edges"))[mark]
    assert not isinstance(item, str)
    return make_region_kernel(source_of(item), item.random(1), variant, threads=32, jobs=40)


@pytest.mark.parametrize(("mark", "variant"), GOLDEN)
def test_the_text_is_that_of_the_golden_file(
    inspected: Catalogue, mark: str, variant: str, golden: Callable[[str, str], None]
) -> None:
    kernel = made(inspected, mark, variant)
    golden(f"cuda/{mark}-{variant}.cu", kernel.cuda)
    assert "goto" not in kernel.cuda and kernel.cuda == made(inspected, mark, variant).cuda


@pytest.mark.skipif(shutil.which("gcc") is None, reason="nvcc calls the compiler of the system, and there is none")
@pytest.mark.parametrize(("mark", "variant"), GOLDEN)
def test_nvcc_compiles_it(inspected: Catalogue, mark: str, variant: str, tmp_path: Path) -> None:
    nvcc = wheel_file("nvidia-cuda-nvcc", "nvcc")
    assert nvcc is not None  # it comes with the tests' requirements
    kernel = made(inspected, mark, variant)
    source = tmp_path / "kernel.cu"
    source.write_text(kernel.cuda, encoding="utf-8")
    command = [str(nvcc), "-arch=sm_90", "-fmad=false", "-Werror=all-warnings", "-cubin", "-o", "kernel.cubin"]
    finished = subprocess.run([*command, str(source)], cwd=tmp_path, capture_output=True, text=True, timeout=HUNG)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert (tmp_path / "kernel.cubin").read_bytes()[:4] == b"\x7fELF"


LINES = """!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3}
!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, producer: "", emissionKind: FullDebug)
!1 = !DIFile(filename: "loop.c", directory: "")
!2 = distinct !DISubprogram(name: "f", file: !1, line: 1, unit: !0, spFlags: DISPFlagDefinition)
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = !DILocation(line: 7, column: 3, scope: !2)
"""


def test_source_lines_are_told() -> None:
    lines = ["%y = add i64 %x, 5, !dbg !4", "store i64 %y, ptr addrspace(1) %out.at, align 8, !dbg !4"]
    text = text_of(lines, metadata=LINES).replace("%out) {", "%out) !dbg !2 {")
    assert cuda_source(text, "kernel").text.count("// loop.c:7\n") == 1
    assert "//" not in cuda_source(text_of(["store i64 %x, ptr addrspace(1) %out.at, align 8"]), "kernel").text


WORDS = [  # what C could be taken to say otherwise, and how it is said
    (["%a = sdiv i64 %x, -2", "%y = add i64 %a, -9223372036854775808"], "/ -2ll"),
    (["%d = sitofp i64 %x to double", "%c = fcmp ult double %d, 2.5", "%y = zext i1 %c to i64"], "!("),
    (["%d = sitofp i64 %x to float", "%e = fmul float %d, 0x3FB99999A0000000", "%y = fptosi float %e to i64"], "0.1f"),
    (["%d = bitcast i64 %x to double", "%c = fcmp uno double %d, 0.0", "%y = zext i1 %c to i64"], "!= "),
    (["%n = call i64 @llvm.ctpop.i64(i64 %x)", "%z = call i64 @llvm.ctlz.i64(i64 %x, i1 false)",
      "%y = add i64 %n, %z"], "__clzll"),
    (["%t = trunc i64 %x to i8", "%m = call i8 @llvm.smin.i8(i8 %t, i8 3)", "%y = sext i8 %m to i64"], "min("),
    (["%a = alloca [4 x i64], align 8", "%i = and i64 %x, 3", "%p = getelementptr [4 x i64], ptr %a, i64 0, i64 %i",
      "store i64 %x, ptr %p, align 8", "%q = load i64, ptr %p, align 8", "%y = mul i64 %q, 3"], "a[4]"),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "said"), WORDS)
def test_single_instructions_have_the_same_bits(lines: list[str], said: str, tmp_path: Path) -> None:
    declared = ["declare i64 @llvm.ctpop.i64(i64)", "declare i64 @llvm.ctlz.i64(i64, i1)"]
    declared += ["declare i8 @llvm.smin.i8(i8, i8)"]
    text = text_of([*lines, "store i64 %y, ptr addrspace(1) %out.at, align 8"], declared)
    kernel = kernel_of(text, [0, 1, -1, 5, 2, 3, 127, 128, -200, 9218868437227405313, 1 << 62])
    assert said in kernel.cuda
    library = compiled([kernel], tmp_path)
    assert differences(kernel, run_on_host(library, 0, kernel), kernel.run_cpu().memory, 0.0) == []


REFUSED = [
    (["%v = insertelement <2 x i64> zeroinitializer, i64 %x, i32 0"], [], "<2 x i64>|insertelement"),
    (["%w = zext i64 %x to i128", "%m = mul i128 %w, %w", "%y = trunc i128 %m to i64"], [], "i128"),
    (["%y = call i64 @strange(i64 %x)"], ["declare i64 @strange(i64)"], "a call of strange"),
    (["%y = call i64 @llvm.bswap.i64(i64 %x)"], ["declare i64 @llvm.bswap.i64(i64)"], "bswap"),
    (["%p = inttoptr i64 %x to ptr", "%y = load i64, ptr %p, align 8"], [], "made of a number"),
    (["%y = load i64, ptr addrspace(1) %out.at, align 1"], [], "at multiples of 1"),
    (["%h = sitofp i64 %x to half", "%y = fptosi half %h to i64"], [], "half"),
    (["%r = atomicrmw nand ptr addrspace(1) %out.at, i64 %x monotonic", "%y = add i64 %r, 1"], [], "nand"),
    (["%t = call i32 @llvm.nvvm.read.ptx.sreg.smid()", "%y = zext i32 %t to i64"],
     ["declare i32 @llvm.nvvm.read.ptx.sreg.smid()"], "register smid"),
    (["call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 1)", "%y = add i64 %x, 1"],
     ["declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)"], "another number"),
    (["%c = icmp eq i64 %x, 0", "br i1 %c, label %a, label %b", "a:", "%i = phi i64 [ 0, %entry ], [ %j, %b ]",
      "br label %b", "b:", "%j = phi i64 [ 1, %entry ], [ %i, %a ]", "%d = icmp eq i64 %j, 3",
      "br i1 %d, label %a, label %c2", "c2:", "%y = add i64 %j, 1"], [], "entered in two places"),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "declared", "reason"), REFUSED)
def test_what_has_no_words_is_refused(lines: list[str], declared: list[str], reason: str) -> None:
    used = "%v1" if lines[0].startswith("%v =") else "%y"
    more = ["%v1 = extractelement <2 x i64> %v, i32 0"] if used == "%v1" else []
    text = text_of([*lines, *more, f"store i64 {used}, ptr addrspace(1) %out.at, align 8"], declared)
    with pytest.raises(UnsupportedError, match=reason):
        cuda_source(text, "kernel")


def test_damaged_modules_are_refused() -> None:
    with pytest.raises(ArgumentError, match="not valid LLVM IR"):
        cuda_source("define void", "kernel")
    with pytest.raises(ArgumentError, match="no kernel other"):
        cuda_source(text_of(["%y = add i64 %x, 1"]), "other")


def test_ways_out_of_two_loops_are_jumps(tmp_path: Path) -> None:
    """What `break` cannot say is said by `goto`; declarations stand in front of it."""
    lines = [
        "br label %outer",
        "outer:",
        "%i = phi i64 [ 0, %entry ], [ %i.next, %turn ]",
        "%s = phi i64 [ %x, %entry ], [ %s2, %turn ]",
        "br label %inner",
        "inner:",
        "%j = phi i64 [ 0, %outer ], [ %j.next, %more ]",
        "%s2 = phi i64 [ %s, %outer ], [ %s3, %more ]",
        "%s3 = add i64 %s2, %j",
        "%found = icmp eq i64 %s3, 9",
        "br i1 %found, label %far, label %more",
        "more:",
        "%j.next = add i64 %j, 1",
        "%again = icmp ult i64 %j.next, 5",
        "br i1 %again, label %inner, label %turn",
        "turn:",
        "%i.next = add i64 %i, 1",
        "%on = icmp ult i64 %i.next, 4",
        "br i1 %on, label %outer, label %near",
        "near:",
        "%n = mul i64 %s3, 3",
        "br label %end",
        "far:",
        "%f = add i64 %i, 1000",
        "br label %end",
        "end:",
        "%y = phi i64 [ %n, %near ], [ %f, %far ]",
        "store i64 %y, ptr addrspace(1) %out.at, align 8",
    ]
    kernel = kernel_of(text_of(lines), range(-20, 12))
    assert "goto" in kernel.cuda
    library = compiled([kernel], tmp_path)
    assert differences(kernel, run_on_host(library, 0, kernel), kernel.run_cpu().memory, 0.0) == []
