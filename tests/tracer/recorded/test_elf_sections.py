"""Sections that are added to objects come back, also from what linkers make of these."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.tracer.recorded.elf_sections import dynamic_symbols, is_elf, section, with_section
from tracecut.tracer.runtime.link import executable
from tracecut.tracer.toolchain.flags import Flags
from tracecut.tracer.toolchain.passes import emit_object

MAIN = "declare i32 @other()\ndefine i32 @main() {\n  %x = call i32 @other()\n  ret i32 %x\n}\n"
OTHER = "define i32 @other() {\n  ret i32 7\n}\n"


@pytest.fixture(scope="module")
def objects() -> tuple[bytes, bytes]:
    return emit_object(MAIN, optimise=False), emit_object(OTHER, optimise=False)


@settings(max_examples=40, deadline=None)
@given(contents=st.lists(st.binary(max_size=300), max_size=4))
def test_what_is_added_is_found(objects: tuple[bytes, bytes], contents: list[bytes]) -> None:
    data = objects[0]
    for content in contents:
        data = with_section(data, ".kept", content)
    assert is_elf(data) and section(data, ".kept") == b"".join(contents)
    assert section(data, ".kep") == section(data, ".kept2") == b""
    assert section(data, ".text") == section(objects[0], ".text") != b""


def test_linkers_join_them(objects: tuple[bytes, bytes], tmp_path: Path) -> None:
    marked = [with_section(data, ".kept", bytes([65 + place]) * 5) for place, data in enumerate(objects)]
    made = executable(marked, Flags(), tmp_path / "program")
    data = made.read_bytes()
    assert section(data, ".kept") == b"AAAAABBBBB"
    made.write_bytes(with_section(data, ".kept", b"C"))
    assert section(made.read_bytes(), ".kept") == b"AAAAABBBBBC"


def test_code_stays(objects: tuple[bytes, bytes], tmp_path: Path) -> None:
    from tracecut.tracer.runtime.link import shared_library

    made = shared_library([with_section(objects[1], ".kept", b"x" * 1000)], Flags(), tmp_path / "other.so")
    made.write_bytes(with_section(made.read_bytes(), ".kept", b"y"))
    assert ctypes.CDLL(str(made)).other() == 7


def test_damaged_files(objects: tuple[bytes, bytes]) -> None:
    data = objects[0]
    for bad in (b"", b"\x7fELF", b"!<arch>\n" + data, data[:-1], data[:70]):
        with pytest.raises(ValueError, match=r"ELF file|outside of the file"):
            with_section(bad, ".kept", b"x")
        with pytest.raises(ValueError, match=r"ELF file|outside of the file"):
            section(bad, ".kept")


def test_names_that_programs_share_with_libraries(objects: tuple[bytes, bytes], tmp_path: Path) -> None:
    made = executable(objects, Flags(), tmp_path / "program").read_bytes()
    offered, expected = dynamic_symbols(made)
    assert {"main", "other"} <= set(offered) and "__libc_start_main" in expected and not set(offered) & set(expected)
    assert dynamic_symbols(objects[0]) == ([], [])
