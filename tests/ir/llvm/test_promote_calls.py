"""Which calls through pointers are made by name, and of which functions."""

from __future__ import annotations

import pytest
from tracecut.ir.llvm import Module, parse_module
from tracecut.ir.llvm.passes.promote_calls import MOST_TARGETS, promote_calls

pytestmark = pytest.mark.quick


def promoted(calls: str, more: str = "", tables: str = "") -> Module:
    text = f"""{tables}
declare double @sin(double)
define double @one(double %x) {{
  ret double %x
}}
define void @seen(ptr %p) {{
  ret void
}}
{more}
define double @f(ptr %o, i1 %c) {{
entry:
  br label %loop
loop:
  {calls}
  br i1 %c, label %loop, label %end
end:
  ret double 0.0
}}"""
    module = parse_module(text)
    promote_calls(module)
    return module


def called(module: Module) -> list[str]:
    """What a function calls, apart from what else a pointer may mean."""
    found = module.functions["@f"].instructions()
    return [
        item.word
        for block, item in found
        if item.op in ("call", "invoke") and not block.name.startswith("tracecut.other")
    ]


LOADED = "%p = load ptr, ptr %o\n  %r = call double %p(double 1.0)"
TAKEN = "define ptr @take(i1 %c) {\n  %s = select i1 %c, ptr @one, ptr @sin\n  ret ptr %s\n}"


def test_what_a_pointer_may_mean() -> None:
    """Functions of the same types whose address is taken, those of libraries among them."""
    assert called(promoted(LOADED)) == ["%p"]  # nobody takes an address
    assert called(promoted(LOADED, TAKEN)) == ["@one", "@sin"]
    assert called(promoted(LOADED.replace("double 1.0", "float 1.0"), TAKEN)) == ["%p"]
    assert called(promoted(LOADED.replace("call double", "call float"), TAKEN)) == ["%p"]
    assert called(promoted(LOADED.replace("double 1.0", "double inreg 1.0"), TAKEN)) == ["%p"]


def test_a_declaration_with_debug_information_has_its_type() -> None:
    told = "declare !dbg !7 double @told(double)\n" + TAKEN.replace("@sin", "@told")
    assert called(promoted(LOADED, told)) == ["@one", "@told"]


def test_too_many_functions_stay_a_pointer() -> None:
    def same(count: int) -> str:
        body = "(double %x) {\n  ret double %x\n}\n"
        table = ", ".join(f"ptr @same{n}" for n in range(count))
        return (
            "".join(f"define double @same{n}{body}" for n in range(count)) + f"@all = global [{count} x ptr] [{table}]"
        )

    assert len(called(promoted(LOADED, same(MOST_TARGETS)))) == MOST_TARGETS
    assert called(promoted(LOADED, same(MOST_TARGETS + 1))) == ["%p"]


def test_a_virtual_call_means_what_stands_at_its_place() -> None:
    table = "@_ZTV1A = constant { [4 x ptr] } { [4 x ptr] [ptr null, ptr @_ZTI1A, ptr @first, ptr @second] }\n"
    table += "@_ZTI1A = external constant ptr"
    more = "".join(f"define void @{name}(ptr %x) {{\n  ret void\n}}\n" for name in ("first", "second"))
    call = "%t = load ptr, ptr %o\n  %q = getelementptr inbounds i8, ptr %t, i64 {}\n"
    call += "  %p = load ptr, ptr %q\n  call void %p(ptr %o)"
    assert called(promoted(call.format(0), more, table)) == ["@first"]
    assert called(promoted(call.format(8), more, table)) == ["@second"]
    assert called(promoted(call.format(16), more, table)) == ["%p"]
    assert called(promoted("call void %o(ptr %o)", more, table)) == ["%o"]  # a pointer that lies in no table


def test_only_where_a_loop_is_around() -> None:
    alone = parse_module(
        TAKEN + "\ndeclare double @sin(double)\ndeclare double @one(double)\n"
        "define double @f(ptr %o) {\n  " + LOADED + "\n  ret double %r\n}"
    )
    before = str(alone)
    assert not promote_calls(alone) and str(alone) == before
    looped = parse_module(
        before + "\ndefine void @g(ptr %o, i1 %c) {\nentry:\n  br label %loop\nloop:\n  call double @f(ptr %o)\n"
        "  br i1 %c, label %loop, label %end\nend:\n  ret void\n}"
    )
    assert promote_calls(looped)
    assert "tracecut.other" in str(looped.functions["@f"])


def test_a_volatile_pointer_means_something_else_each_time() -> None:
    assert called(promoted(LOADED.replace("load", "load volatile"), TAKEN)) == ["%p"]
