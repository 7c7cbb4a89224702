"""Programs with an allocator, operators or library functions of their own, which the libraries call back into."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tracecut.ir.llvm import parse_module
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.depgraph.builder import Builder
from tracecut.tracer.toolchain.clang import parse_flags
from tracecut.tracer.trace.events.event_words import CHUNK_BITS
from tracecut.tracer.trace.events.interposed_calls import DELETE, NEW, Interposed
from tracecut.tracer.trace.events.library_effects import EXTERNALS
from tracecut.tracer.trace.record.record import record
from tracecut.tracer.trace.tables.static_tables import static_of

from tracecut.api.trace import BuildSettings, prepare

from ..recorded import recorded

HEAD = r"""
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#define OWN __attribute__((noinline))
static unsigned cells[64];
static long news, deletes, mallocs, frees, copies;
OWN static void touch(unsigned k) { cells[k & 63] += k; }
OWN static void busy() { for (unsigned k = 0; k < TURNS; k++) touch(k); }
"""
OWN = {
    "new": "OWN void *operator new(std::size_t size) { news++; busy(); return std::malloc(size); }\n",
    "delete": "OWN void operator delete(void *memory) noexcept { deletes++; busy(); std::free(memory); }\n",
    "malloc": r"""
    alignas(16) static char room[1 << 20];
    static std::size_t used;
    extern "C" OWN void *malloc(std::size_t size) {
      mallocs++; busy();
      void *found = room + used;
      used += (size + 15) / 16 * 16;
      return used <= sizeof room ? found : nullptr;
    }
    extern "C" OWN void free(void *) { frees++; busy(); }
    """,
    "memcpy": r"""
    extern "C" OWN void *memcpy(void *__restrict to, const void *__restrict from, std::size_t size) {
      copies++; busy();
      for (std::size_t k = 0; k < size; k++) static_cast<volatile char *>(to)[k] = static_cast<const char *>(from)[k];
      return to;
    }
    """,
}
BODY = r"""
static void *volatile kept;  // else clang may leave out what is allocated and freed again
struct Wide { long part[100]; };
static Wide from, to;
OWN static Wide *target() { return &to; }
int main(int count, char **names) {
  news = deletes = mallocs = frees = copies = 0;
  std::printf("%s ", count > 5 ? names[1] : "begin");
  for (int i = 0; i < 30; i++) {
    int *several = new int[i + count];
    kept = several;
    several[i] = i;
    char *copy = strdup(i & 1 ? "odd" : "even");
    kept = copy;
    long *one = new long(i);
    kept = one;
    int *maybe = new (std::nothrow) int[3];
    kept = maybe;
    from.part[i] = *one;
    *target() = from;
    kept = target();
    delete[] several;
    delete one;
    delete[] maybe;
    std::free(copy);
  }
  std::printf("%ld %ld %ld %ld %ld\n", news, deletes, mallocs, frees, copies);
}
"""
COUNTERS = ("news", "deletes", "mallocs", "frees", "copies")


@pytest.mark.parametrize("opt", ["O1", "seed"])
@pytest.mark.parametrize("own", ["new", "delete", "new delete", "malloc", "malloc new delete", "memcpy"])
def test_every_call_from_the_libraries_is_recorded(own: str, opt: str, tmp_path: Path) -> None:
    """They write several chunks, nearly all of it inside of the calls: the caller's chunk is gone behind some."""
    has = own.split()
    numbers = [90 * ("new" in has), 90 * ("delete" in has), 0, 0, 30 * ("memcpy" in has)]
    if "malloc" in has:
        numbers[2:4] = [121, 120]  # one of them by `printf`
    source = tmp_path / "program.cpp"
    turns = f"#define TURNS {200_000 // sum(numbers)}\n"
    source.write_text(turns + HEAD + "".join(OWN[name] for name in has) + BODY)
    names, flags = parse_flags([str(source), "-std=c++17"])
    ready = prepare(names, flags, tmp_path, BuildSettings(opt))
    builder = Builder(ready.static)
    done = record([ready.program], ready.static, lambda _, words: builder.feed(words), folder=tmp_path)
    assert done.finished is not None and done.finished.ok and not done.damaged
    assert done.finished.stdout.read_text() == f"begin {' '.join(map(str, numbers))}\n"
    graph, static = builder.graph(), ready.static
    assert graph.n == done.totals.instructions
    assert builder.records_at > 2 << (CHUNK_BITS - 2)
    times = np.bincount(graph.instruction, minlength=static.n_instructions)
    for name, expected in zip(COUNTERS, numbers, strict=True):  # wherever the function was inlined
        counts = [
            place
            for place, instruction in enumerate(static.instructions)
            if instruction.op == "store" and re.search(rf" i64 %.*, ptr @_ZL\d{name}\b", instruction.text)
        ]
        assert times[counts].sum() == expected, name


def test_a_string_is_not_measured_by_code_of_the_program(tmp_path: Path) -> None:
    source = """
    #include <stdio.h>
    #include <string.h>
    static int asked;
    __attribute__((noinline)) size_t strlen(const char *text) {
      size_t length = 0;
      asked++;
      for (const volatile char *at = text; *at; at++) length++;
      return length;
    }
    int main(int count, char **names) {
      printf("%d ", (int)strlen(names[0]) > count);
      puts(names[0]);
      return asked;
    }
    """
    ran = recorded(source, tmp_path)
    assert ran.recorded.finished is not None and ran.recorded.finished.returncode == 1
    assert ran.main.calls("strlen") == 1 and {name for _, name in ran.static.unknown} == {"printf", "puts"}


def interposed(*lines: str) -> Interposed:
    return Interposed.of(parse_module("".join(f"{line}\n" for line in lines)))


def function(name: str) -> str:
    return f"define ptr @{name}(i64 %n) {{\n  ret ptr null\n}}"


def test_who_may_be_called_back() -> None:
    assert interposed(function("main"), function("mallocs")).calling_back == frozenset()
    assert interposed(function("_Znwm")).calling_back == NEW
    assert interposed(function("_ZdaPvm")).calling_back == DELETE
    assert interposed("declare ptr @_ZSt15set_new_handlerPFvvE(ptr)").calling_back == NEW
    assert interposed(function("_ZnwmR5Arena"), "declare ptr @_Znwm(i64)").calling_back == frozenset()
    own = interposed(function("free")).calling_back
    assert {"strdup", "printf", "_ZdlPv", "_Znwm", "getline", "fclose", "__cxa_allocate_exception"} <= own
    assert own.isdisjoint(("memcpy", "strlen", "strtol", "rand"))
    assert interposed(function("mine"), "@malloc = weak alias ptr (i64), ptr @mine").calling_back == own


def test_every_allocator_may_be_called_back() -> None:
    """Whatever has a part that allocates or frees, and both lists of operators are those that are known."""
    own = interposed(function("malloc")).calling_back
    assert own >= {
        name
        for name, known in EXTERNALS.items()
        if any(part.what in ("alloc", "allocat", "realloc", "free") for part in known.parts)
    }
    assert {name for name in EXTERNALS if name.startswith("_Zn")} == NEW
    assert {name for name in EXTERNALS if name.startswith("_Zd")} <= DELETE


def test_what_is_seen_of_a_call_that_comes_back() -> None:
    own = interposed(function("malloc"), "@strtol = weak alias ptr (i64), ptr @malloc")
    assert own.seen("strlen", EXTERNALS["strlen"]) is EXTERNALS["strlen"]
    assert own.seen("strdup", EXTERNALS["strdup"]) is None  # what it returns is known too late
    assert own.seen("strtol", EXTERNALS["strtol"]) is None  # another function of this name
    printed = own.seen("puts", EXTERNALS["puts"])
    assert printed is not None and printed.callback and printed.parts == EXTERNALS["puts"].parts
    freed = own.seen("_ZdlPv", EXTERNALS["_ZdlPv"])
    assert freed is not None and freed.callback and not freed.parts
    plain = interposed(function("main"))
    assert all(plain.seen(name, known) is known for name, known in EXTERNALS.items())


@pytest.mark.parametrize(
    ("defined", "intrinsic", "called"),
    [
        ("memcpy", "memcpy.p0.p0.i64", True),
        ("memset", "memcpy.p0.p0.i64", False),
        ("sinf", "sin.f32", True),
        ("fmax", "maxnum.f64", True),
        ("main", "lifetime.start.p0", False),
    ],
)
def test_intrinsics_that_become_calls(defined: str, intrinsic: str, called: bool) -> None:
    assert interposed(function(defined)).lowered(intrinsic) is called


def test_a_remainder_by_code_of_the_program_is_refused() -> None:
    text = "define double @f(double %a) {\n  %r = frem double %a, 3.0\n  ret double %r\n}\n"
    assert not static_of(text).unknown
    with pytest.raises(UnsupportedError, match=r"frem by a function `fmod` of its own \(in @f\)"):
        static_of(f"{text}{function('fmod')}\n")
