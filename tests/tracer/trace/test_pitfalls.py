"""What a tracer easily misses in memory: intrinsics, atomics, allocation, library calls; each in a small program."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.runtime.link import executable
from tracecut.tracer.toolchain.clang import Flags
from tracecut.tracer.trace.events.event_words import Kind
from tracecut.tracer.trace.file.codec import Coder, Fields
from tracecut.tracer.trace.instrument.compile import traced_objects
from tracecut.tracer.trace.record.record import record
from tracecut.tracer.trace.tables.static_tables import static_of
from tracecut.tracer.trace.tables.verify_tables import verify_tables

from .recorded import HEAD, LIMITS, module_text, recorded
from .replay import Words, joined, records, replay

FORMS = pytest.mark.parametrize("opt", ["O1", "seed"])


def sizes(values: list[tuple[int, ...]]) -> list[int]:
    return [value[-1] for value in values]


def test_memory_intrinsics_are_ranges(tmp_path: Path) -> None:
    source = (
        HEAD
        + """
    char a[100], b[100];
    int main(void) {
      memset(a, 1, (size_t)seven * 3);
      memcpy(b, a, (size_t)seven * 2);
      memmove(b + 1, b, (size_t)seven);
      printf("%d\\n", b[3]);
      return 0;
    }
    """
    )
    ran = recorded(source, tmp_path, opt="O1")
    assert ran.stdout == "1\n"
    assert 21 in sizes(ran.main.of(Kind.RANGE))
    copies = ran.main.of(Kind.COPY)
    assert sizes(copies) == [14, 7]
    (b, a, _), (shifted, from_b, _) = copies
    assert shifted == b + 1 and from_b == b and a != b


def test_masked_and_gathered_lanes(tmp_path: Path) -> None:
    source = """
@data = global [8 x i32] [i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8]
declare <4 x i32> @llvm.masked.load.v4i32.p0(ptr, <4 x i1>, <4 x i32>)
declare void @llvm.masked.store.v4i32.p0(<4 x i32>, ptr, <4 x i1>)
declare <4 x i32> @llvm.masked.gather.v4i32.v4p0(<4 x ptr>, <4 x i1>, <4 x i32>)
define i32 @main(i32 %n, ptr %v) {
  %c = icmp sgt i32 %n, 0
  %m0 = insertelement <4 x i1> zeroinitializer, i1 %c, i64 1
  %m = insertelement <4 x i1> %m0, i1 %c, i64 3
  %x = call <4 x i32> @llvm.masked.load.v4i32.p0(ptr align 4 @data, <4 x i1> %m, <4 x i32> zeroinitializer)
  %p = getelementptr i32, ptr @data, <4 x i64> <i64 7, i64 1, i64 5, i64 2>
  %y = call <4 x i32> @llvm.masked.gather.v4i32.v4p0(<4 x ptr> align 4 %p, <4 x i1> %m, <4 x i32> zeroinitializer)
  %z = add <4 x i32> %x, %y
  call void @llvm.masked.store.v4i32.p0(<4 x i32> %z, ptr align 4 @data, <4 x i1> %m)
  %a = load i32, ptr getelementptr (i8, ptr @data, i64 4)
  %b = load i32, ptr getelementptr (i8, ptr @data, i64 12)
  %s = add i32 %a, %b
  ret i32 %s
}
"""
    ran = recorded(source, tmp_path, opt="seed")
    assert ran.recorded.finished is not None and ran.recorded.finished.returncode == 2 + 2 + 4 + 3
    base = ran.main.accesses[0].values[0]
    assert ran.main.read()[:4] == [(base + 4, 4), (base + 12, 4), (base + 4, 4), (base + 8, 4)]
    assert ran.main.written() == [(base + 4, 4), (base + 12, 4)]


def test_atomics_read_and_write(tmp_path: Path) -> None:
    source = (
        HEAD
        + """
    long cell = 5;
    int main(void) {
      long seen = 5;
      __atomic_fetch_add(&cell, 2, __ATOMIC_SEQ_CST);
      int done = __atomic_compare_exchange_n(&cell, &seen, 9, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
      return done + (int)__atomic_load_n(&cell, __ATOMIC_ACQUIRE);
    }
    """
    )
    ran = recorded(source, tmp_path, opt="seed")
    assert ran.recorded.finished is not None and ran.recorded.finished.returncode == 7
    atomic = [
        access.values[0]
        for access in ran.main.accesses
        if ran.static.instructions[access.instruction].op in ("atomicrmw", "cmpxchg")
    ]
    assert len(atomic) == 2 and len(set(atomic)) == 1
    assert (atomic[0], 8) in ran.main.read() and (atomic[0], 8) in ran.main.written()


def test_variable_arguments(tmp_path: Path) -> None:
    source = (
        HEAD
        + """
    NOINLINE static int sum(int n, ...) {
      va_list list;
      int total = 0;
      va_start(list, n);
      for (int i = 0; i < n; i++) total += va_arg(list, int);
      va_end(list);
      return total;
    }
    int main(void) { return sum(seven, 1, 2, 3, 4, 5, 6, 7); }
    """
    )
    ran = recorded(source, tmp_path, opt="seed")
    assert ran.recorded.finished is not None and ran.recorded.finished.returncode == 28
    assert [size for _, size in ran.main.written() if size == 24] == [24]


def test_unknown_memory_intrinsics_are_listed(tmp_path: Path) -> None:
    source = """
declare void @llvm.masked.compressstore.v4i32(<4 x i32>, ptr, <4 x i1>)
declare void @llvm.x86.avx.maskstore.ps.256(ptr, <8 x i32>, <8 x float>)
declare double @llvm.sqrt.f64(double)
define void @other(ptr %p) {
  call void @llvm.x86.avx.maskstore.ps.256(ptr %p, <8 x i32> zeroinitializer, <8 x float> zeroinitializer)
  ret void
}
define i32 @main(i32 %n, ptr %p) {
  call void @llvm.masked.compressstore.v4i32(<4 x i32> zeroinitializer, ptr %p, <4 x i1> zeroinitializer)
  %x = call double @llvm.sqrt.f64(double 2.0)
  ret i32 0
}
"""
    with pytest.raises(UnsupportedError) as caught:
        static_of(source)
    assert "llvm.masked.compressstore.v4i32 (in @main)" in str(caught.value)
    assert "llvm.x86.avx.maskstore.ps.256 (in @other)" in str(caught.value)
    assert "sqrt" not in str(caught.value)
    with pytest.raises(UnsupportedError, match="compressstore") as chosen:
        static_of(source, ["main"])
    assert "maskstore" not in str(chosen.value)


def test_allocations(tmp_path: Path) -> None:
    source = (
        HEAD
        + """
    void *volatile kept;
    int main(void) {
      char *a = malloc((size_t)seven), *b = calloc((size_t)seven, 3), *c = NULL;
      kept = a; kept = b;
      a = realloc(a, (size_t)seven * 9);
      char *d = aligned_alloc(64, 128), *e = strdup("four");
      kept = a; kept = d;
      if (posix_memalign((void **)&c, 64, 200)) return 1;
      printf("%s %d\\n", e, a && b && c && d);
      free(a); free(b); free(c); free(d); free(e); free(NULL);
      return 0;
    }
    """
    )
    ran = recorded(source, tmp_path, opt="seed")
    assert ran.stdout == "four 1\n"
    blocks = {size: address for address, size in ran.main.of(Kind.ALLOC)}
    assert set(blocks) == {7, 21, 128, 5, 200}
    ((old, new, size),) = ran.main.of(Kind.REALLOC)
    assert old == blocks[7] and size == 63
    freed = {address for (address,) in ran.main.of(Kind.FREE)} - {0}  # the optimiser drops free(NULL)
    assert freed == {new, blocks[21], blocks[200], blocks[128], blocks[5]}


def test_stack_slots_and_their_lifetime(tmp_path: Path) -> None:
    source = (
        HEAD
        + """
    NOINLINE static void fill(int *p, int n) { for (int i = 0; i < n; i++) p[i] = i; }
    int main(void) {
      int n = seven, total = 0;
      { int fixed[10]; fill(fixed, 10); total += fixed[3]; }
      for (int k = 1; k < 3; k++) { int open[n * k]; fill(open, n * k); total += open[n * k - 1]; }
      return total;
    }
    """
    )
    ran = recorded(source, tmp_path)
    assert ran.recorded.finished is not None and ran.recorded.finished.returncode == 3 + 6 + 13
    assert sorted(sizes(ran.main.of(Kind.ALLOCA))) == [28, 40, 56]
    slot = next(address for address, size in ran.main.of(Kind.ALLOCA) if size == 40)
    assert ran.main.of(Kind.LIFETIME) == [(slot,), (slot,)]


def test_lengths_of_library_calls(tmp_path: Path) -> None:
    source = (
        HEAD
        + """
    char text[40] = "hello", other[40];
    int main(int argc, char **argv) {
      size_t n = strlen(text + (argc > 5));
      int written = snprintf(other, (size_t)argc + 3, "%s-%.*s-%d", text, argc, text, argc);
      FILE *file = fopen(argv[0], "r");
      char head[16];
      size_t got = fread(head, 1, 4, file);
      fclose(file);
      printf("%zu %d %zu %s %d\\n", n, written, got, other, strncmp(text, other, (size_t)argc + 1));
      return 0;
    }
    """
    )
    ran = recorded(source, tmp_path)
    assert ran.stdout == "5 9 4 hel 0\n" and not ran.static.unknown
    by_call: dict[str, list[int]] = {}
    for access in ran.main.accesses:
        if access.kind is Kind.RANGE:
            by_call.setdefault(ran.static.instructions[access.instruction].word, []).append(access.values[1])
    assert by_call["@strlen"] == [6]
    assert by_call["@snprintf"] == [11, 6, 1, 4]
    assert by_call["@fread"] == [4]
    assert by_call["@strncmp"] == [2, 2]
    assert by_call["@printf"] == [18, 4]


def test_a_format_that_is_not_known_is_not_trusted(tmp_path: Path) -> None:
    source = (
        HEAD
        + """
    int main(int argc, char **argv) { char *format = argc > 1 ? argv[1] : "%d\\n"; printf(format, argc); return 0; }
    """
    )
    ran = recorded(source, tmp_path)
    assert ran.stdout == "1\n" and [name for _, name in ran.static.unknown] == ["printf"]


def test_wide_and_narrow_values(tmp_path: Path) -> None:
    source = (
        HEAD
        + """
    __int128 wide = 5; long double extended = 2; _Bool flag = 1; struct { char c[3]; short s; } odd;
    int main(void) {
      wide *= seven; extended *= seven; flag = !flag; odd.s = (short)seven;
      return (int)wide + (int)extended + flag + odd.s;
    }
    """
    )
    ran = recorded(source, tmp_path)
    assert ran.recorded.finished is not None and ran.recorded.finished.returncode == 35 + 14 + 7
    assert {16, 10, 1, 2} <= {size for _, size in ran.main.written()}


def test_assembly(tmp_path: Path) -> None:
    source = (
        HEAD
        + """
    int cell = 3;
    int main(void) {
      int out;
      __asm__ volatile("" ::: "memory");
      __asm__ volatile("movl (%1), %0" : "=r"(out) : "r"(&cell) : "memory");
      __asm__("addl %1, %0" : "+r"(out) : "r"(4));
      return out;
    }
    """
    )
    ran = recorded(source, tmp_path)
    assert ran.recorded.finished is not None and ran.recorded.finished.returncode == 7
    assert [name for _, name in ran.static.unknown] == ["inline assembly"] * 2
    assert len(ran.main.of(Kind.OPAQUE)) == 1


@FORMS
def test_structures_by_value(tmp_path: Path, opt: str) -> None:
    source = (
        HEAD
        + """
    struct big { long values[6]; } given = {{1, 2, 3, 4, 5, 6}};
    NOINLINE static long sum(struct big copy, int n) { copy.values[0] = n; return copy.values[0] + copy.values[5]; }
    int main(void) { return (int)(sum(given, seven) + given.values[0]); }
    """
    )
    ran = recorded(source, tmp_path, opt=opt)
    assert ran.recorded.finished is not None and ran.recorded.finished.returncode == 7 + 6 + 1
    copies = ran.main.of(Kind.BYVAL)
    if opt == "seed":  # else only the members that are used are handed over
        assert len(copies) == 1
        assert sum(size == 48 for _, size in ran.main.read()) == 1


def test_times_of_accesses(tmp_path: Path) -> None:
    source = (
        HEAD
        + """
    int cells[64];
    int main(void) {
      int sum = 0;
      __atomic_fetch_add(&cells[1], 1, __ATOMIC_SEQ_CST);
      memset(cells + 8, 0, (size_t)seven);
      for (int i = 0; i < 500; i++) { cells[i & 63] += i; sum += cells[i & 7]; }
      return sum < 0;
    }
    """
    )
    text = module_text(source, tmp_path)
    static = static_of(text, timed=True)
    verify_tables(static)
    program = executable(traced_objects(text, timed=True), Flags(), tmp_path / "timed")
    chunks: list[tuple[int, Words]] = []
    result = record(
        [program], static, lambda stream, words: chunks.append((stream, words.copy())), folder=tmp_path, limits=LIMITS
    )
    assert result.finished is not None and result.finished.ok
    words = joined(chunks)[0]
    assert replay(static, words).segments == recorded(source, tmp_path).main.segments
    cycles = []
    for line in records(static, words):
        if line[0] < static.n_segments:
            for item in range(static.segment_item[line[0]], static.segment_item[line[0] + 1]):
                if static.item_kind[item] == Kind.ADDR:
                    cycles.append(int(line[1 + static.item_word[item] + 2]))
    assert len(cycles) >= 1000 and min(cycles) > 0
    fields = Fields.of(static)
    back = Coder(fields).decode(*Coder(fields).encode(words), words.size)
    assert back is not None and np.array_equal(back, words)
