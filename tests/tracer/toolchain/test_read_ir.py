"""Programs given as LLVM IR: text and bitcode say the same, and files that are not what they seem harm nobody."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from llvmlite import binding
from tracecut.ir.llvm import parse_module
from tracecut.support.errors import SourceError
from tracecut.tracer.toolchain.clang import Flags, to_ir

pytestmark = pytest.mark.quick

NASTY = Path(__file__).parents[1] / "programs" / "nasty.ll"
GOOD = """
define i32 @main() {
  ret i32 3
}
"""


def test_text_and_bitcode_say_the_same(tmp_path: Path) -> None:
    text, bits = tmp_path / "a.ll", tmp_path / "a.bc"
    text.write_text(GOOD)
    bits.write_bytes(binding.parse_assembly(GOOD).as_bitcode())
    found = [to_ir(path, Flags(), tmp_path, canonical=False) for path in (text, bits)]
    for one in found:
        assert parse_module(one).functions["@main"].entry.terminator.text == "ret i32 3"
        assert "target datalayout" in one


ABORTS = """
define void @f() !dbg !1 {
  %p = alloca i32
  br label %end
end:
  %x = phi i32 [ 1, %end ]
  ret void
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!7}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !2, emissionKind: FullDebug)
!1 = distinct !DISubprogram(name: "f", scope: !2, file: !2, line: 1, type: !3, unit: !0)
!2 = !DIFile(filename: "a.c", directory: "/")
!3 = !DISubroutineType(types: !8)
!7 = !{i32 2, !"Debug Info Version", i32 3}
!8 = !{null}
"""


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("cut.ll", GOOD[:-4].encode(), "no LLVM IR that this version can read"),
        ("type.ll", GOOD.replace("i32 3", "float 3").encode(), "no LLVM IR that this version can read"),
        (
            "unknown.ll",
            GOOD.replace("ret i32 3", "ret i32 %x").encode(),
            r"unknown\.ll:3:11: error: use of undefined value",
        ),
        ("bytes.ll", bytes(range(256)), "no LLVM IR that this version can read"),
        (
            "machine.ll",
            b'target triple = "aarch64-unknown-linux-gnu"\ntarget datalayout = "e-m:e-i8:8:32-n32:64-S128"\n',
            "another machine",
        ),
        ("aborts.ll", ABORTS.encode(), "the reader was killed by SIGABRT"),
        ("empty.bc", b"", "no LLVM IR that this version can read"),
        ("text.bc", GOOD.encode(), "no LLVM IR that this version can read"),
        ("head.bc", b"BC\xc0\xde" + b"\x00" * 40, "no LLVM IR that this version can read"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_damaged_ir_is_named_and_harms_nobody(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(SourceError) as caught:
        to_ir(path, Flags(), tmp_path, canonical=False)
    assert str(path) in caught.value.message
    assert re.search(message, str(caught.value)), str(caught.value)


def test_damaged_bitcode_is_named(tmp_path: Path) -> None:
    """A third of such files kill the process that parses them: that has to be another one."""
    whole = bytearray(binding.parse_assembly(NASTY.read_text()).as_bitcode())
    wrong = 0
    for place in range(40, len(whole), len(whole) // 6):
        path = tmp_path / f"{place}.bc"
        damaged = bytearray(whole)
        damaged[place] ^= 0x5A
        path.write_bytes(damaged)
        try:
            assert "define" in to_ir(path, Flags(), tmp_path, canonical=False)
        except SourceError as error:
            assert str(path) in str(error)
            wrong += 1
    assert wrong > 0
