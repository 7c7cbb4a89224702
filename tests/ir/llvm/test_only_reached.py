"""What some functions of a module lead to."""

from __future__ import annotations

import pytest
from tracecut.ir.llvm.module import Function, Module, parse_module
from tracecut.ir.llvm.passes.only_reached import only_reached

pytestmark = pytest.mark.quick

TEXT = """
%pair = type { i32, ptr }
$shared = comdat any
@count = internal global i32 3, align 4
@"a name" = private unnamed_addr constant [2 x i8] c"@x"
@table = internal constant [1 x ptr] [ptr @far], align 8
@unused = internal global ptr @gone, align 8
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 1, ptr @begins, ptr null }]

define i32 @wanted(ptr %p) personality ptr @handler {
  %c = load i32, ptr @count, align 4
  %t = load ptr, ptr @table, align 8
  %s = call i32 @puts(ptr @"a name")
  %r = call i32 @near(i32 %c)
  ret i32 %r
}

define internal i32 @near(i32 %x) {
  ret i32 %x
}

define internal void @far() {
  ret void
}

define internal void @gone() {
  store i32 4, ptr @count, align 4
  ret void
}

define internal void @begins() {
  ret void
}

define i32 @handler(...) {
  ret i32 0
}

declare i32 @puts(ptr)
"""


def kept(module: Module) -> list[str]:
    return [item.name if isinstance(item, Function) else item.split(" = ")[0] for item in module.items if item]


def test_what_is_reached_stays() -> None:
    module = parse_module(TEXT)
    found = only_reached(module, ["@wanted"])
    assert set(kept(module)) - set(kept(found)) == {"@unused", "@gone"}
    text = str(found)
    assert "@count = hidden global i32 3" in text, "what is gone may have written to it"
    assert "@table = internal constant" in text and '@"a name" = private unnamed_addr constant' in text
    assert "@count = internal global" in str(module), "the module itself is as before"


def test_only_what_is_asked_for() -> None:
    assert {"@wanted", "@near", "@handler", "@count"} & set(kept(only_reached(parse_module(TEXT), ["@far"]))) == set()


def test_what_metadata_names_stays() -> None:
    found = only_reached(parse_module(TEXT + "!0 = !{ptr @gone, i64 7}\n"), ["@far"])
    assert "@gone" in kept(found) and "@count" in kept(found)


def test_assembly_may_name_anything() -> None:
    module = parse_module('module asm "call gone"\n' + TEXT)
    assert only_reached(module, ["@far"]) is module
