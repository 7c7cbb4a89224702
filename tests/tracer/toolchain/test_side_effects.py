"""Whether a program may change files, by its code."""

from __future__ import annotations

import pytest
from tracecut.ir.llvm import parse_module
from tracecut.tracer.toolchain.side_effects import changes_files

pytestmark = pytest.mark.quick

FOPEN = """
@mode = private unnamed_addr constant [{n} x i8] c"{mode}\\00", align 1
define i32 @main() {{
  %file = call ptr @fopen(ptr null, ptr @mode)
  ret i32 0
}}
declare ptr @fopen(ptr, ptr)
"""
OPEN = """
define i32 @main(i32 %flags) {{
  %file = call i32 (ptr, i32, ...) @open(ptr null, i32 {flags})
  ret i32 0
}}
declare i32 @open(ptr, i32, ...)
"""
OTHER = """
define i32 @main() {{
  ret i32 0
}}
declare void @{name}()
"""


@pytest.mark.parametrize(
    ("mode", "found"), [("r", ""), ("rb", ""), ("re", ""), ("r+", "fopen"), ("w", "fopen"), ("a", "fopen")]
)
def test_how_a_stream_is_opened(mode: str, found: str) -> None:
    assert changes_files(parse_module(FOPEN.format(mode=mode, n=len(mode) + 1))) == found


@pytest.mark.parametrize(
    ("flags", "found"), [("0", ""), ("524288", ""), ("65", "open"), ("2", "open"), ("%flags", "open")]
)
def test_how_a_file_is_opened(flags: str, found: str) -> None:
    assert changes_files(parse_module(OPEN.format(flags=flags))) == found


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("printf", ""),
        ("unlink", "unlink"),
        ("system", "system"),
        ("_ZNSt14basic_ofstreamIcSt11char_traitsIcEEC1EPKcSt13_Ios_Openmode", "std::ofstream"),
        ("_ZNSt14basic_ifstreamIcSt11char_traitsIcEEC1EPKcSt13_Ios_Openmode", ""),
        ("_ZNSt10filesystem16create_directoryERKNS_7__cxx114pathE", "std::filesystem"),
        ("_ZNSt10filesystem6statusERKNS_7__cxx114pathE", ""),
    ],
)
def test_what_is_called(name: str, found: str) -> None:
    assert changes_files(parse_module(OTHER.format(name=name))) == found
