"""Elements that are updated twice are loaded again for the second update, and nothing else changes."""

from __future__ import annotations

import ctypes

import llvmlite.binding as llvm
import pytest
from tracecut.ir.llvm import parse_module
from tracecut.ir.llvm.passes.reloaded.reload_updates import AGAIN, reload_updates
from tracecut.tracer.toolchain.passes import parse, target_machine

pytestmark = pytest.mark.quick

HEAD = "define i64 @f(ptr %p, ptr %q, i64 %a) {\nentry:\n  %v = load i64, ptr %p, align 8\n"
FIRST = "  %s = add i64 %v, %a\n  store i64 %s, ptr %p, align 8\n"
READ = "  %r = load i64, ptr %q, align 8\n"
LAST = "  store i64 %t, ptr %p, align 8\n"
TWICE = {
    "sum": FIRST + READ + "  %t = sub i64 %s, %r\n" + LAST,
    "nothing between": FIRST + "  %r = add i64 0, 1\n  %t = sub i64 %s, %a\n" + LAST,
    "chain": FIRST + READ + "  %u = add i64 %r, %s\n  %t = add i64 %u, %a\n" + LAST,
    "store elsewhere between": FIRST + READ + "  store i64 7, ptr %q\n  %t = sub i64 %s, %r\n" + LAST,
    "three": FIRST
    + READ
    + "  %u = sub i64 %s, %r\n  store i64 %u, ptr %p, align 8\n  %x = load i64, ptr %q\n  %t = add i64 %u, %x\n"
    + LAST,
}
KEPT = {
    "other place": FIRST + READ + "  %t = sub i64 %s, %r\n  store i64 %t, ptr %q\n",
    "other value": FIRST + READ + "  %t = sub i64 %a, %r\n" + LAST,
    "taken away": FIRST + READ + "  %t = sub i64 %r, %s\n" + LAST,
    "used in another block": FIRST + READ + f"  %t = sub i64 %s, %r\n{LAST}  br label %b\nb:\n  %w = add i64 %s, 1\n",
    "used before": "  %s = add i64 %v, %a\n  %o = mul i64 %s, 3\n  store i64 %s, ptr %p, align 8\n"
    + READ
    + "  %t = sub i64 %s, %o\n"
    + LAST,
    "volatile": "  %s = add i64 %v, %a\n  store volatile i64 %s, ptr %p, align 8\n"
    + READ
    + "  %t = sub i64 %s, %r\n"
    + LAST,
}


def text(body: str) -> str:
    return f"{HEAD}{body}  ret i64 %r\n}}" if "%r =" in body else f"{HEAD}{body}  ret i64 %t\n}}"


def left(module: str, apart: bool) -> list[int]:
    """What the function leaves in two places, which may be one, and returns."""
    with llvm.create_mcjit_compiler(parse(module), target_machine()) as engine:
        engine.finalize_object()
        places = (ctypes.c_int64 * 2)(11, 5)
        call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        first = ctypes.addressof(places)
        given = call(engine.get_function_address("f"))(first, first + 8 * apart, 3)
        return [*places, given]


@pytest.mark.parametrize("body", TWICE.values(), ids=TWICE)
@pytest.mark.parametrize("apart", [True, False])
def test_they_are_loaded_again(body: str, apart: bool) -> None:
    made = str(reload_updates(parse_module(text(body))))
    assert made.count(f"{AGAIN} = load i64, ptr %p, align 8") == body.count("ptr %p, align 8") - 1
    assert left(made, apart) == left(text(body), apart)


@pytest.mark.parametrize("body", KEPT.values(), ids=KEPT)
def test_others_stay(body: str) -> None:
    plain = parse_module(text(body))
    assert str(reload_updates(parse_module(text(body)))) == str(plain)
