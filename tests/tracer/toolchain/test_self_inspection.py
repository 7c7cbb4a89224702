"""Programs that ask of their process what a hosted one cannot answer."""

from __future__ import annotations

import pytest
from tracecut.ir.llvm import parse_module
from tracecut.tracer.toolchain.self_inspection import asks_of_itself

pytestmark = pytest.mark.quick

TELLING = {
    "declare i32 @dl_iterate_phdr(ptr noundef, ptr noundef) #1": "dl_iterate_phdr",
    "declare noundef ptr @dlopen(ptr noundef, i32 noundef) local_unnamed_addr": "dlopen",
    "declare void @malloc_stats() local_unnamed_addr": "malloc_stats",
    "declare i32 @setrlimit(i32, ptr)": "setrlimit",
    "@__executable_start = external global i8, align 1": "__executable_start",
    "define dso_local noalias ptr @malloc(i64 noundef %0) {": "malloc",
    "define dso_local noundef ptr @_Znwm(i64 noundef %0) {": "_Znwm",
    "  %5 = tail call i64 @getauxval(i64 noundef 9) #4": "getauxval for 9",
    "  %5 = tail call i64 @getauxval(i64 noundef %4) #4": "getauxval for %4",
    "  %5 = call i32 (i32, ...) @prctl(i32 noundef 22, i32 noundef 1) #4": "prctl(22)",
    "  %5 = call i64 (i64, ...) @syscall(i64 noundef 56, i64 noundef 256) #4": "syscall(56)",
    "declare i32 @clone(ptr, ptr, i32, ptr, ...)": "clone",
    r'@.str = private constant [15 x i8] c"/proc/self/exe\00", align 1': "/proc/self/exe",
    r'@.str = private constant [15 x i8] c"cat /proc/%d/maps | head\00"': "/proc/%d/maps",
    r'@.str = private constant [10 x i8] c"\2Fproc/self\00"': "/proc/self",
    "@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 1, ptr @f, ptr null }]\n"
    "define internal void @f(i32 noundef %0, ptr noundef %1) #0 {": "its constructor f",
}
HARMLESS = [
    "  %5 = call i32 (i32, ...) @prctl(i32 noundef 4, i32 noundef 22) #4",
    "  %5 = call i64 (i64, ...) @syscall(i64 noundef 186) #4",
    "declare i32 @puts(ptr noundef)",
    "@stdout = external global ptr, align 8",
    "  %5 = tail call i64 @getauxval(i64 noundef 31) #4",
    "define internal ptr @malloc(i64 %0) {",
    "define dso_local ptr @mallocate(i64 %0) {",
    r'@.str = private constant [18 x i8] c"/proc/self/status\00"',
    r'@.str = private constant [18 x i8] c"/proc/cpuinfo\00"',
    r'@.str = private constant [18 x i8] c"/process/self\00"',
    "@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 1, ptr @f, ptr null }]\n"
    "define internal void @f() #0 {",
]


def asked(line: str) -> str:
    """What is found in a module with this line: at its top, or in a function."""
    if line.startswith(" "):
        line = "define void @g(i64 %4) {\n" + line
    body = "\n  ret void\n}\n" if "define" in line else ""
    return asks_of_itself(parse_module(line + body))


@pytest.mark.parametrize("line", TELLING)
def test_what_is_found(line: str) -> None:
    assert TELLING[line] in asked(line)


@pytest.mark.parametrize("line", HARMLESS)
def test_what_is_harmless(line: str) -> None:
    assert asked(line) == ""


def test_machine_code_is_looked_at_by_its_names() -> None:
    module = parse_module("declare i32 @puts(ptr noundef)\n")
    assert asks_of_itself(module, ["main", "mallocate"], ["puts", "free"]) == ""
    assert "it defines _ZdlPv for the libraries" in asks_of_itself(module, ["main", "_ZdlPv"], ["puts"])
    assert "it calls dlsym" in asks_of_itself(module, ["main"], ["puts", "dlsym"])
