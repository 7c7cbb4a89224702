"""Code that is generated quickly: what the quick way cannot choose stays out of it, and what is recorded stays."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llvmlite.binding.module import ModuleRef
from tracecut.ir.llvm import Module, parse_module
from tracecut.tracer.runtime import link
from tracecut.tracer.toolchain import passes
from tracecut.tracer.toolchain.flags import Flags
from tracecut.tracer.toolchain.passes import canonical, parse
from tracecut.tracer.trace.compact import segments
from tracecut.tracer.trace.compact.segments import plan_of
from tracecut.tracer.trace.instrument import compile
from tracecut.tracer.trace.instrument.recorder_instructions import PLAIN
from tracecut.tracer.trace.instrument.rewrite import instrumented, rewritten

from tracecut.api import trace

from ..recorded import HEAD, module_text, native, recorded

# A thread of its own, a jump out of a call, and recursion: the write position goes through memory in all of them.
SOURCE = (
    HEAD
    + """
static jmp_buf back;
static int table[64];
NOINLINE int deep(int n) { return n ? table[n & 63]++ + deep(n - 1) : seven; }
NOINLINE void leave(int n) { table[0] = n; longjmp(back, n); }
static void *work(void *p) { for (int i = 0; i < 9; i++) table[i + 9] += deep(i); return p; }
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    volatile int rounds = 0;
    if (setjmp(back) < 5) leave(++rounds);
    for (int i = 0; i < 64; i++) table[i] ^= i;
    printf("%d %d %d\\n", deep(200), table[3], rounds);
    return 0;
}
"""
)


def test_what_is_recorded_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = recorded(SOURCE, tmp_path, flags=("-pthread",))
    monkeypatch.setattr(compile, "MANY", 0)
    quick = recorded(SOURCE, tmp_path, flags=("-pthread",))
    assert (quick.stdout, 0) == native(SOURCE, tmp_path, flags=("-pthread",))
    assert quick.recorded.totals == usual.recorded.totals
    assert quick.recorded.threads == usual.recorded.threads == 2


def test_a_function_asks_once_where_the_write_position_lies(tmp_path: Path) -> None:
    text = module_text(SOURCE, tmp_path, "-pthread")
    quick = rewritten(plan_of(text), spelling=PLAIN)
    parse(quick)
    for function in parse_module(quick).functions.values():
        asking = [item for _, item in function.instructions() if "@tc_cursor" in item.globals]
        assert [item.word for item in asking] == ["@llvm.threadlocal.address.p0"], function.name
    assert "preserve_mostcc" not in quick and "call preserve_mostcc ptr @tce_flush" in instrumented(text)
    # All else is as it is for the slow way.
    plain = re.sub(r".*(?:threadlocal\.address|declare.*@tce_flush).*\n", "", quick).replace("%tc.cursor", "@tc_cursor")
    short = re.sub(r".*declare.*@tce_flush.*\n", "", instrumented(text)).replace("call preserve_mostcc", "call")
    assert plain == short


def test_a_module_that_is_handed_over_is_what_its_text_says(tmp_path: Path) -> None:
    module = canonical([module_text(SOURCE, tmp_path, "-pthread")])
    text = str(module)
    static, objects = compile.traced_program(text)
    again, same = compile.traced_program(text, module=module)
    assert objects == same and not module.items
    assert all(np.array_equal(table, again.tables()[name]) for name, table in static.tables().items())
    assert (static.text, static.functions, static.globals) == (again.text, again.functions, again.globals)


def test_how_often_a_module_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reading and each print of a large program takes seconds: LLVM reads each source and the result."""
    counts: Counter[str] = Counter()

    def counted(where: Any, name: str, what: str) -> None:
        call = getattr(where, name)

        def counting(*arguments: Any, **options: Any) -> Any:
            counts[what] += 1
            return call(*arguments, **options)

        monkeypatch.setattr(where, name, counting)

    for place in (passes, segments, trace):
        counted(place, "parse_module", "read by us")
    counted(passes, "parse", "read by LLVM")
    counted(ModuleRef, "__str__", "printed by LLVM")
    counted(Module, "__str__", "printed by us")
    for name in ("one", "two"):
        (tmp_path / f"{name}.c").write_text(f"int {name}(int x) {{ return x + 1; }}\n")
    (tmp_path / "main.c").write_text("int one(int), two(int); int main(void) { return one(two(-2)); }\n")
    compile.runtime_object()
    link.compat_object()
    counts.clear()
    ready = trace.prepare([str(tmp_path / f"{name}.c") for name in ("one", "two", "main")], Flags(), tmp_path)
    assert ready.static.functions == ("@one", "@two", "@main")
    # The linked program for what to inline, and the canonical form; that as it is kept, and the instrumented form. LLVM
    # also reads the start of a program, and the form that is instrumented.
    assert counts == {"read by us": 2, "printed by LLVM": 2, "printed by us": 2, "read by LLVM": 3 + 2}
