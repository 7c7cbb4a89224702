"""Loops that are written compactly, as runs or by short records: the events are the same as without."""

from __future__ import annotations

import dataclasses
import signal
from bisect import bisect_right
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracecut.codegen.link import executable
from tracecut.tracer.dependence.builder import dependence_graph
from tracecut.tracer.events.build import traced_objects
from tracecut.tracer.events.coding import Coder, Fields
from tracecut.tracer.events.expanding import PIECE, Expander
from tracecut.tracer.events.items import FIRST_MARK, MARK_WORDS, End, Kind, Mark
from tracecut.tracer.events.recording import record
from tracecut.tracer.events.rewrite import instrumented
from tracecut.tracer.events.runs import HEADER_WORDS, RUN_LIMIT, Shape
from tracecut.tracer.events.static import Static, static_of
from tracecut.tracer.events.trace import Trace
from tracecut.tracer.events.tracefile import TraceWriter
from tracecut.tracer.events.walk import OK, SHORT, WILD, Lengths, walk
from tracecut.tracer.frontend import Flags

from ...fuzz.generate import generate
from .recorded import HEAD, LIMITS, Ran, module_text, native, recorded
from .replay import Replay, Words

# One loop with a fixed, a computed and an unknown step, and one without any access.
TEXT = """
@a = global [4096 x i64] zeroinitializer
define i32 @main(i64 %n, i64 %s) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
  %p = getelementptr i64, ptr @a, i64 %i
  %x = load i64, ptr %p
  %j = mul i64 %i, %s
  %q = getelementptr i8, ptr @a, i64 %j
  %y = load i8, ptr %q
  %r = getelementptr i64, ptr @a, i64 %x
  store i64 %x, ptr %r
  %z = trunc i64 %x to i32
  %z.s = sext i32 %z to i64
  %t = getelementptr { i16, [8 x i16] }, ptr @a, i64 1, i32 1, i64 %z.s
  store i16 0, ptr %t
  %z.u = zext i32 %z to i64
  %b = getelementptr i8, ptr @a, i64 %z.u
  store i8 0, ptr %b
  %i.next = add i64 %i, 1
  %c = icmp eq i64 %i.next, %n
  br i1 %c, label %middle, label %loop
middle:
  br label %head
head:
  %k = phi i64 [ 0, %middle ], [ %k.next, %tail ]
  %u = getelementptr [2 x i64], ptr @a, i64 %k
  %f = getelementptr i8, ptr %u, i64 %s
  %v = load i64, ptr %f
  %w = load i64, ptr @a
  %e = icmp eq i64 %v, %w
  br i1 %e, label %odd, label %tail
odd:
  %m = mul i64 %k, %s
  %o = getelementptr i8, ptr @a, i64 %m
  store i8 0, ptr %o
  %g = getelementptr i8, ptr @a, i64 %v
  store i8 1, ptr %g
  call void @llvm.memset.p0.i64(ptr @a, i8 0, i64 %v, i1 false)
  br label %idle
idle:
  %h = phi i64 [ 0, %odd ], [ %h.next, %idle ]
  %h.next = add i64 %h, 3
  %d = icmp ugt i64 %h.next, %n
  br i1 %d, label %tail, label %idle
tail:
  %k.next = add i64 %k, 1
  %l = icmp eq i64 %k.next, %n
  br i1 %l, label %out, label %head
out:
  ret i32 0
}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""
STATIC = static_of(TEXT)
S, FIRST_RUN = STATIC.n_segments, STATIC.first_run
WORD = st.one_of(st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 8, 2**31, 2**32 - 1]))


def test_the_static_tables_of_the_example() -> None:
    assert (STATIC.n_shorts, STATIC.n_regions, STATIC.n_runs) == (3, 1, 2)
    assert STATIC.run_segment.tolist() == [2, 6] and STATIC.short_segment.tolist() == [4, 5, 7]
    assert STATIC.short_opens.tolist() == [1, 0, 0]
    shapes = [Shape.FIXED, Shape.STEPPED, Shape.FREE, Shape.SIGNED, Shape.UNSIGNED]
    shapes += [Shape.FIXED, Shape.FIXED, Shape.STEPPED]
    assert STATIC.field_shape.tolist() == shapes and STATIC.field_step.tolist() == [8, 0, 0, 2, 1, 16, 0, 0]
    assert STATIC.word_source.tolist() == [10, 11, 12, 13, 14, 15, -1, -1, -1, -1, -1, -1]
    STATIC.verify()
    for none in (static_of(TEXT, compact=False), static_of(TEXT, timed=True)):
        assert none.n_runs == none.n_regions == none.n_shorts == 0


@pytest.mark.parametrize(
    ("table", "value"),
    [
        ("run_segment", 99),
        ("run_field", 1),
        ("region_field", 9),
        ("short_segment", 0),
        ("short_region", 1),
        ("short_word", 11),
        ("word_source", 16),
        ("field_shape", 5),
    ],
)
def test_tables_that_contradict_each_other(table: str, value: int) -> None:
    wrong = STATIC.tables()[table].copy()
    wrong[-1] = value
    with pytest.raises(ValueError):
        dataclasses.replace(STATIC, **{table: wrong}).verify()


@st.composite
def streams(draw: st.DrawFn, most: int = 12) -> Words:
    """Records, marks and runs, as a program may write them."""
    lengths = Lengths.of(STATIC)
    words: list[int] = []
    for _ in range(draw(st.integers(0, most))):
        name = draw(st.sampled_from([*range(1, FIRST_RUN + 2), FIRST_RUN, S, S + 1, *Mark]))
        words.append(int(name))
        if name in set(Mark):
            count = MARK_WORDS[Mark(name)]
        elif name >= FIRST_RUN:
            times = draw(st.integers(0, 5))
            words.append(times)
            count = int(lengths.words[name]) - 2 + times * int(lengths.free[name])
        else:
            count = int(lengths.words[name]) - 1
        words += draw(st.lists(WORD, min_size=count, max_size=count))
    return np.array(words, np.uint32)


def slowly_expanded(static: Static, words: Words) -> list[int]:
    """What runs and short records stand for, one word after the other."""
    out: list[int] = []
    place = 0
    values: dict[int, tuple[int, int]] = {}
    turns = [0] * static.n_regions

    def told(fields: range) -> None:
        nonlocal place
        for field in fields:
            shape, step = Shape(int(static.field_shape[field])), int(static.field_step[field])
            found = [int(words[place + k]) | int(words[place + k + 1]) << 32 for k in range(0, HEADER_WORDS[shape], 2)]
            place += HEADER_WORDS[shape]
            if found:
                values[field] = (found[0], found[1] if shape is Shape.STEPPED else step)

    def address(field: int, turn: int) -> list[int]:
        begin, step = values.get(field, (0, 0))
        where = (begin + turn * step) % 2**64
        return [where & 0xFFFFFFFF, where >> 32]

    while place < words.size:
        word = int(words[place])
        place += 1
        if word >= FIRST_MARK or word < static.n_segments:
            size = MARK_WORDS[Mark(word)] if word >= FIRST_MARK else int(static.segment_words[word])
            out += [word, *words[place : place + size].tolist()]
            place += size
        elif word < static.n_segments + static.n_shorts:
            short = word - static.n_segments
            region = int(static.short_region[short])
            turns[region] += int(static.short_opens[short])
            out.append(int(static.short_segment[short]))
            for source in static.word_source[
                int(static.short_word[short]) : int(static.short_word[short + 1])
            ].tolist():
                if source < 0:
                    out.append(int(words[place]))
                    place += 1
                else:
                    out.append(address(source // 2, turns[region])[source % 2])
        elif word < static.first_run:
            region = word - static.n_segments - static.n_shorts
            told(range(int(static.region_field[region]), int(static.region_field[region + 1])))
            turns[region] = -1
        else:
            run = word - static.first_run
            times, place = int(words[place]), place + 1
            fields = range(int(static.run_field[run]), int(static.run_field[run + 1]))
            told(fields)
            for turn in range(times):
                out.append(int(static.run_segment[run]))
                for field in fields:
                    shape = static.field_shape[field]
                    if shape in (Shape.FIXED, Shape.STEPPED):
                        out += address(field, turn)
                    elif shape == Shape.FREE:
                        out += words[place : place + 2].tolist()
                        place += 2
                    else:
                        index = ~int(words[place]) & 0xFFFFFFFF
                        out += address(field, index - 2**32 if shape == Shape.SIGNED and index >> 31 else index)
                        place += 1
    return out


@settings(max_examples=150, deadline=None)
@given(streams())
def test_what_is_compact_is_written_out(words: Words) -> None:
    begun = np.array([S + 3, *[7] * 8], np.uint32)  # a region that was not entered has no addresses yet
    words = np.concatenate([begun, words])
    expected = slowly_expanded(STATIC, words)
    for reuse in (False, True):
        parts = [part.copy() for part in Expander(STATIC, reuse=reuse).pieces(words, 0)]
        assert [word for part in parts for word in part.tolist()] == expected
    cut = walk(words, Lengths.of(STATIC), 40)[0]
    expander = Expander(STATIC)  # what it knows of a region stays
    parts = [part for half in (words[:cut], words[cut:]) for part in expander.pieces(half, 3)]
    assert [word for part in parts for word in part.tolist()] == expected
    lengths = Lengths.of(STATIC)
    end, _, records, instructions, why = walk(words, lengths, 1 << 62)
    assert (end, why) == (words.size, OK)
    plain = walk(np.array(expected, np.uint32), lengths, 1 << 62)
    assert plain[2:] == (records, instructions, OK)


@settings(max_examples=80, deadline=None)
@given(st.lists(streams(), max_size=3))
def test_runs_are_stored(parts: list[Words]) -> None:
    fields = Fields.of(STATIC)
    encoder, decoder = Coder(STATIC, fields), Coder(STATIC, fields)
    for words in parts:
        segments, payloads = encoder.encode(words)
        back = decoder.decode(segments, payloads, words.size)
        assert back is not None and np.array_equal(back, words)


@settings(max_examples=80, deadline=None)
@given(streams(), st.integers(0, 10**6), st.integers(1, 255))
def test_damaged_runs_are_survived(words: Words, place: int, flip: int) -> None:
    segments, payloads = (part.copy() for part in Coder(STATIC, Fields.of(STATIC)).encode(words))
    target = (segments, payloads)[place % 2]
    target[place // 2 % target.size] ^= flip
    back = Coder(STATIC, Fields.of(STATIC)).decode(segments, payloads, words.size)
    if back is not None and walk(back, Lengths.of(STATIC), 1 << 62)[4] == OK:
        assert all(part.size for part in Expander(STATIC).pieces(back, 0))


def test_what_can_not_be() -> None:
    lengths, run = Lengths.of(STATIC), FIRST_RUN
    for words, why in (
        ([run, 1, *[0] * 13], SHORT),  # the last index is missing
        ([run, 1, *[0] * 14], OK),
        ([run, 1, 0], SHORT),
        ([run + 1, RUN_LIMIT + 1], WILD),
        ([run + 1, RUN_LIMIT], OK),
        ([run + 2, 1], WILD),
        ([S + 1, 1], SHORT),
        ([S + 3, *[1] * 8], OK),
        ([S + 3, *[1] * 7], SHORT),
    ):
        assert walk(np.array(words, np.uint32), lengths, 1 << 62)[4] == why
    long = Expander(STATIC).pieces(np.array([run + 1, RUN_LIMIT], np.uint32), 0)
    sizes = [part.size for part in long]
    assert sum(sizes) == RUN_LIMIT and max(sizes) <= PIECE + 1


# --- the same events with and without -----------------------------------------------------------------------------


class Objects:
    """Addresses as (object, offset): what is the same in two runs of a program."""

    def __init__(self, replay: Replay) -> None:
        self._spans: list[tuple[int, int, str]] = []
        for mark, words in replay.marks:
            if mark is Mark.GLOBAL:
                self._add(words[1] | words[2] << 32, words[3] | words[4] << 32, replay.static.globals[words[0]][0])

    def _add(self, begin: int, size: int, name: str) -> None:
        self._spans = [span for span in self._spans if span[0] + span[1] <= begin or span[0] >= begin + size]
        self._spans.append((begin, size, name))
        self._spans.sort()

    def events(self, replay: Replay) -> list[tuple[int, Kind, tuple[object, ...]]]:
        found = []
        for number, access in enumerate(replay.accesses):
            if access.kind in (Kind.ALLOC, Kind.ALLOCA):
                self._add(access.values[0], access.values[1], f"{access.instruction} {number}")
            known = [self._place(value) for value in access.values[:1]]
            found.append((access.instruction, access.kind, (*known, access.bytes, access.access)))
        return found

    def _place(self, address: int) -> tuple[str, int]:
        at = bisect_right(self._spans, (address, 1 << 62, ""))
        if at:
            begin, size, name = self._spans[at - 1]
            if address < begin + size:
                return name, address - begin
        return "elsewhere", 0


def both(source: str, folder: Path, *arguments: str, opt: str = "O1", flags: tuple[str, ...] = ()) -> tuple[Ran, Ran]:
    """Trace with runs and without, and compare everything."""
    compact = recorded(source, folder, *arguments, opt=opt, flags=flags)
    plain = recorded(source, folder, *arguments, opt=opt, flags=flags, compact=False)
    assert compact.stdout == plain.stdout and plain.static.n_runs == 0
    assert compact.main.segments == plain.main.segments
    one, two = compact.recorded.totals, plain.recorded.totals
    assert (
        (one.records, one.instructions) == (two.records, two.instructions) == (one.kept_records, one.kept_instructions)
    )
    assert Objects(compact.main).events(compact.main) == Objects(plain.main).events(plain.main)
    graphs = [dependence_graph(ran.static, [ran.words[0]], weights="unit") for ran in (compact, plain)]
    for name in ("src", "dst", "kind", "instruction"):  # the edges of memory too
        assert np.array_equal(getattr(graphs[0], name), getattr(graphs[1], name))
    return compact, plain


LOOPS = {
    "forwards": ("for (int i = 0; i < n; i++) a[i] = i;", "run"),
    "backwards": ("for (int i = n - 1; i >= 0; i--) a[i] = a[i] + 1;", "run"),
    "by three": ("for (int i = 0; i < n; i += 3) a[i] ^= i;", "run"),
    "computed step": ("for (long i = 0; i < n; i += seven) a[i] += a[i + 1];", "run"),
    "two steps": ("int s = seven; for (int i = 0; i < n / 8; i++) a[i * s] = b[i];", "run"),
    "wraps at a byte": ("unsigned char k = 0; for (int i = 0; i < n; i++, k += 9) a[k] += 1;", "run"),
    "wraps at a short": ("unsigned short k = 65000; for (int i = 0; i < n; i++, k += 9) a[k & 511] += 1;", "run"),
    "wraps at a word": ("unsigned k = -100u; for (int i = 0; i < n; i++, k += 1) a[(k >> 3) & 511] += 1;", "run"),
    "unsigned index": ("for (unsigned i = 5; i < (unsigned)n; i++) a[i] = b[i - 5];", "run"),
    "gather": ("int s = 0; for (int i = 0; i < n; i++) s += b[index_of[i]]; a[0] = s;", "run"),
    "gather by words": (
        "int s = 0; for (int i = 0; i < n; i++) s += b[(unsigned)index_of[i] % 600u]; a[0] = s;",
        "run",
    ),
    "negative indices": ("char *e = b + 600; for (int i = 0; i < n; i++) e[-1 - index_of[i]]++;", "run"),
    "members": ("for (int i = 0; i < n; i++) s[index_of[i] / 30].y[1] += 1;", "run"),
    "scatter": ("for (int i = 0; i < n; i++) b[index_of[i]] = (char)i;", "run"),
    "chase": ("int at = 1; for (int i = 0; i < n; i++) at = index_of[at]; a[0] = at;", "run"),
    "no access": ("unsigned s = 1; for (int i = 0; i < n; i++) s = s * 5 + (s >> 3); a[0] = (int)s;", "run"),
    "one place": ("volatile int *p = &a[3]; for (int i = 0; i < n; i++) *p += i;", "run"),
    "a matrix": ("for (int i = 0; i < 20; i++) for (int k = 0; k < 20; k++) m[k][i] += m[i][k];", "run"),
    "structs": ("for (int i = 0; i < 20; i++) { s[i].z = s[i].x; s[i].y[1] = (short)i; }", "run"),
    "a pointer": ("for (int *p = a; p != a + n; p++) *p = 5;", "run"),
    "once": ("for (int k = 0; k < n; k++) for (int i = 0; i < k % 3 + 1; i++) a[i] += k;", "run"),
    "until found": ("int i = 0; while (a[i] != 77) i++; b[0] = (char)i;", "run"),
    "copies": ("for (int i = 0; i + 7 < n; i++) memcpy(b + i, a + i / 2, 7);", ""),
    "calls": ("int (*volatile f)(int) = other; for (int i = 0; i < n; i++) a[i] = f(i);", ""),
    "branches": ("for (int i = 0; i < n; i++) if (b[i] & 1) a[i] = i;", "region"),
    "a guard": ("for (int i = -5; i < n; i++) if (i >= 0) a[(unsigned)i] += b[(unsigned char)i];", "region"),
    "break": ("for (int i = 0; i < n; i++) { if (a[i] == 77) break; a[i] = b[n - i]; }", "region"),
    "continue": ("for (int i = 0; i < n; i++) { a[i]++; if (i % 3) continue; b[i] = 1; m[1][i % 20] = 2; }", "region"),
    "a switch": (
        "for (int i = 0; i < n; i++) switch (b[i] & 3) { case 0: a[i] = 1; break; case 1: b[i]++; "
        "case 2: a[n - i] = 2; }",
        "region",
    ),
    "rows": (
        "for (int i = 0; i < n; i++) { int t = 0; for (int k = i; k < i + b[i] % 5; k++) t += a[k]; index_of[i] = t; }",
        "run, region",
    ),
    "relaxing": (
        "for (int k = 0; k < 9; k++) for (int i = 0; i < 20; i++) if (m[k][i] + a[i] > b[i]) m[k][i] = b[i];",
        "region",
    ),
    "two steps in a region": (
        "long t = seven; for (long i = 0; i < n / 8; i++) if (b[i] & 1) a[i * t] = b[i * t + 1];",
        "region",
    ),
    "nested guards": (
        "for (int i = 0; i < 20; i++) for (int k = 0; k < 20; k++) if (k > i) { "
        "if (b[k] & 1) m[i][k] = a[k - i]; else m[k][i] = 1; }",
        "region",
    ),
    "a jump inside": ("int i = 0; if (n & 1) goto in; for (; i < n; i++) { a[i] = 1; in: b[i] = 2; }", ""),
    "returns": ("for (int i = 0; i < n; i++) { if (a[i] == 77) return; a[i] = i; }", "region"),
    "until": ("int i = 0; do { if (b[i] > 3) a[i] = 1; i += 2; } while (a[i] != 77 && i < n);", "region"),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops(tmp_path: Path, name: str) -> None:
    body, form = LOOPS[name]
    source = (
        HEAD
        + """
    int a[600], index_of[600], m[20][20]; char b[600];
    struct { int x; short y[3]; double z; } s[20];
    NOINLINE int other(int n) { return n * seven; }
    NOINLINE void work(int n) { """
        + body
        + """ }
    int main(int argc, char **argv) {
      for (int i = 0; i < 600; i++) { index_of[i] = (i * 331) % 600; b[i] = (char)(i * i); }
      a[123] = 77;
      work(argc + 299);
      int sum = 0;
      for (int i = 0; i < 600; i++) sum += a[i] * i + b[i];
      printf("%d\\n", sum);
      return 0;
    }
    """
    )
    ran, plain = both(source, tmp_path)
    assert (ran.stdout, 0) == native(source, tmp_path)
    work = ran.static.functions.index("@work")
    first, end = (int(ran.static.block_segment[ran.static.function_block[work + k]]) for k in (0, 1))
    assert any(first <= segment < end for segment in ran.static.run_segment) == ("run" in form)
    assert any(first <= segment < end for segment in ran.static.short_segment) or "region" not in form
    assert ran.recorded.totals.words < plain.recorded.totals.words


@pytest.mark.parametrize(("seed", "opt"), [(911, "O1"), (912, "seed"), (913, "O1")])
def test_random_kernels(tmp_path: Path, seed: int, opt: str) -> None:
    both(generate(seed, 4).source, tmp_path, opt=opt, flags=("-ffp-contract=off",))


@pytest.mark.long
def test_many_random_kernels(tmp_path: Path) -> None:
    for seed in range(200):
        folder = tmp_path / str(seed)
        folder.mkdir()
        both(generate(20_000 + seed, 3).source, folder, flags=("-ffp-contract=off",))


@pytest.mark.parametrize("form", ["run", "region"])
def test_long_chains_of_operations(form: str) -> None:
    """Deep expressions are given up, not followed until the interpreter's stack ends."""
    chain = "\n".join(f"  %v{k + 1} = add i64 %v{k}, %s" for k in range(5000))
    inner = "" if form == "run" else "  %c = icmp eq i64 %v9, %s\n  br i1 %c, label %more, label %next\nmore:\n"
    end = "" if form == "run" else "  br label %next\nnext:\n"
    text = f"""@a = global [64 x i64] zeroinitializer
define i32 @main(i64 %n, i64 %s) {{
entry:
  br label %loop
loop:
  %v0 = phi i64 [ 0, %entry ], [ %w, %{"loop" if form == "run" else "next"} ]
{chain}
{inner}  %p = getelementptr i64, ptr @a, i64 %v5000
  store i64 %v0, ptr %p
  %q = getelementptr i64, ptr @a, i64 %v40
  store i64 %v0, ptr %q
{end}  %w = add i64 %v0, 1
  %d = icmp eq i64 %w, %n
  br i1 %d, label %out, label %loop
out:
  ret i32 0
}}
"""
    static = static_of(text)
    if form == "run":
        assert static.field_shape.tolist() == [Shape.FREE, Shape.FIXED]
    else:
        assert static.field_shape.tolist() == [Shape.FIXED] and static.n_shorts == 3
    assert "tce_flush" in instrumented(text)


def test_a_sum_is_one_record(tmp_path: Path) -> None:
    source = HEAD + "int a[4000]; int main(void) { int s = 0; for (int i = 0; i < 4000; i++) s += a[i]; return s; }"
    ran, plain = both(source, tmp_path)
    assert plain.recorded.totals.words > 12_000 and ran.recorded.totals.words < 60


# --- where a run is interrupted ------------------------------------------------------------------------------------


LONG = (
    HEAD
    + """
int a[1024];
int main(int argc, char **argv) {
  long n = atol(argv[1]);
  unsigned at = 1;
  if (argc > 2) for (long i = 0; i < n; i++) { at = at * 1103515245u + 12345u; a[at >> 22] += (int)i; }
  else for (long i = 0; i < n; i++) *(volatile int *)(a + 5) += (int)i;
  return 0;
}
"""
)


@pytest.mark.parametrize("form", ["fixed", "free"])
def test_more_iterations_than_a_record_holds(tmp_path: Path, form: str) -> None:
    text = module_text(LONG, tmp_path)
    static = static_of(text)
    program = executable(traced_objects(text), Flags(), tmp_path / "traced-program")
    count = 5 * RUN_LIMIT // 2 if form == "fixed" else 300_000
    seen: list[tuple[int, int]] = []
    lengths = Lengths.of(static)

    def sink(stream: int, words: Words) -> None:
        _, _, records, instructions, why = walk(words, lengths, 1 << 62)
        assert why == OK
        seen.append((records, instructions))

    for runs in (False, True):
        seen.clear()
        done = record(
            [program, str(count), *(["free"] if form == "free" else [])],
            static,
            sink,
            folder=tmp_path,
            limits=LIMITS,
            memory=1,
            runs=runs,
        )
        assert done.finished is not None and done.finished.ok
        assert count < done.totals.records < count + 20
        assert sum(records for records, _ in seen) == done.totals.records
        assert sum(instructions for _, instructions in seen) == done.totals.instructions
        assert done.totals.words < (200 if form == "fixed" else 2 * count + 200)
        assert len(seen) >= (3 if runs else 4)


def test_an_endless_loop_is_stopped_when_enough_is_kept(tmp_path: Path) -> None:
    text = module_text(LONG, tmp_path)
    program = executable(traced_objects(text), Flags(), tmp_path / "traced-program")
    kept: list[int] = []
    done = record(
        [program, str(10**13)],
        static_of(text),
        lambda stream, words: kept.append(words.size),
        folder=tmp_path,
        limits=LIMITS,
        max_instructions=1000,
        stop_when_full=True,
    )
    assert done.finished is None and done.truncated and 1000 <= done.totals.kept_instructions < 1020
    assert done.totals.instructions >= RUN_LIMIT and sum(kept) < 2000


def test_windows_that_begin_and_end_in_runs(tmp_path: Path) -> None:
    source = (
        HEAD
        + """
    int a[64];
    int main(void) {
      for (int k = 0; k < 9; k++) for (int i = 0; i < 64; i++) a[i] += a[(i * 7 + k) & 63];
      return 0;
    }
    """
    )
    whole = recorded(source, tmp_path)
    static = whole.static
    assert static.n_runs
    lengths = (static.segment_end - static.segment_first)[np.array(whole.main.segments)]
    before = np.concatenate([[0], np.cumsum(lengths)])
    for start, most in ((0, 100), (333, 700), (1000, 1), (2001, 10**6)):
        part = recorded(source, tmp_path, start=start, most=most)
        first = int(np.searchsorted(before, start))
        last = int(np.searchsorted(before, before[first] + most))
        assert part.main.segments == whole.main.segments[first:last]
        assert part.recorded.totals.records == len(whole.main.segments)
        assert part.recorded.totals.kept_records == len(part.main.segments)


CRASHES = {
    # body of work(n), iterations that have to be there, whether the last one was begun but is not whole
    "last access of a free run": ("for (int i = 0;; i++) { int k = index_of[i]; a[k] = i; }", 100, False),
    "first access of two": ("for (long i = 0;; i++) { g[i] = 1; a[i & 63] = 2; }", None, True),
    "only access": ("for (long i = 0;; i++) g[i] = 1;", None, False),
    "stored last in a region": ("for (int i = 0;; i++) if (a[i] == 0) { int k = index_of[i]; a[k] = i; }", 100, False),
    "linear in a region": ("for (long i = 0;; i++) if (a[i & 63] == 0) { g[i] = 1; g[0] = 2; }", None, True),
    "division": ("for (int i = 0;; i++) a[i] = 1000 / (100 - i);", 100, False),
}


@pytest.mark.parametrize("name", CRASHES)
def test_a_crash_inside_of_a_run(tmp_path: Path, name: str) -> None:
    body, expected, begun = CRASHES[name]
    source = (
        HEAD
        + """
    #include <sys/mman.h>
    int a[4096], index_of[4096]; volatile char *g;
    NOINLINE void work(void) { """
        + body
        + """ }
    int main(void) {
      g = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      munmap((char *)g + 4096, 4096);
      index_of[100] = 1 << 29;
      work();
      return 0;
    }
    """
    )
    ran = recorded(source, tmp_path)
    work = ran.static.functions.index("@work")
    end = int(ran.static.block_segment[ran.static.function_block[work + 1]])
    compact = ran.static.run_segment.tolist() + ran.static.short_segment.tolist()
    segment = max(segment for segment in compact if segment < end and ran.static.segment_words[segment] >= 2)
    ended = (Mark.END, (End.SIGNAL, signal.SIGFPE if name == "division" else signal.SIGSEGV))
    assert ran.main.marks[-1] == ended
    times = ran.main.segments.count(segment)
    whole = 4096 if expected is None else expected
    assert times == (whole if begun else whole + 1)
    assert ran.recorded.crashed == (((0, segment),) if begun else ())
    assert ran.main.instructions == ran.recorded.totals.instructions
    accesses = [access.values[0] for access in ran.main.accesses if access.kind is Kind.ADDR and access.access == 2]
    if name in ("last access of a free run", "stored last in a region"):
        assert accesses[-1] - accesses[-2] == 4 * 2**29
    if name == "only access":
        assert accesses[-1] - accesses[-4096] == 4095


@pytest.mark.parametrize("how", ["killed", "handler", "longjmp"])
def test_a_signal_inside_of_a_run(tmp_path: Path, how: str) -> None:
    """The iterations until then are there; what the handler does is a stream of its own."""
    source = (
        HEAD
        + """
    #include <sys/time.h>
    int a[64]; volatile int hits; volatile long turns; jmp_buf place;
    static void on_alarm(int number) { hits++; HANDLER }
    NOINLINE void work(long n) { for (long i = 0; i < n; i++) turns = i; }
    int main(void) {
      signal(SIGALRM, ACTION);
      struct itimerval often = {{0, 3000}, {0, 3000}};
      setitimer(ITIMER_REAL, &often, 0);
      if (!setjmp(place)) for (int k = 0; hits < 3; k++) work(10000000);
      printf("%ld\\n", turns);
      return 0;
    }
    """
    )
    source = source.replace("ACTION", "SIG_DFL" if how == "killed" else "on_alarm")
    source = source.replace("HANDLER", "if (hits == 3) longjmp(place, 1);" if how == "longjmp" else "")
    text = module_text(source, tmp_path)
    static = static_of(text)
    program = executable(traced_objects(text), Flags(), tmp_path / "traced-program")
    segments: dict[int, int] = {}
    marks: list[tuple[int, int]] = []
    expander = Expander(static)
    lengths = Lengths.of(static)
    work = int(static.run_segment[0])

    def sink(stream: int, words: Words) -> None:
        for part in expander.pieces(words, stream):
            _, _, records, _, why = walk(part, lengths, 1 << 62)
            assert why == OK
            segments[stream] = segments.get(stream, 0) + records
        marks.append((stream, int(words[0])))

    done = record([program], static, sink, folder=tmp_path, limits=LIMITS, runs=True)
    assert done.finished is not None and not done.damaged and static.n_runs == 1
    if how == "killed":
        assert done.finished.returncode == -signal.SIGALRM and segments[0] > 10_000 and list(segments) == [0]
    else:
        assert done.finished.ok and segments[1] >= 3
        turns = int((tmp_path / "traced.stdout").read_text())
        assert segments[0] > turns
    assert done.crashed in ((), ((0, work),))
    assert marks[-1][1] == Mark.END


def test_runs_are_kept_in_files(tmp_path: Path) -> None:
    source = HEAD + "int a[9000]; int main(void) { int s = 0; for (int i = 0; i < 9000; i++) s += a[i]; return s; }"
    text = module_text(source, tmp_path)
    static = static_of(text)
    program = executable(traced_objects(text), Flags(), tmp_path / "traced-program")
    seen: list[Words] = []
    with_runs = TraceWriter(tmp_path / "runs.tct", static, {})
    expander = Expander(static)
    plain = TraceWriter(tmp_path / "plain.tct", static, {})

    def sink(stream: int, words: Words) -> None:
        with_runs.add(stream, words)
        for part in expander.pieces(words, stream):
            plain.add(stream, part)
            seen.append(part.copy())

    record([program], static, sink, folder=tmp_path, limits=LIMITS, runs=True)
    with_runs.close({})
    plain.close({})
    expected = np.concatenate(seen)
    for writer in (with_runs, plain):
        assert np.array_equal(np.concatenate([words for _, words in Trace.load(writer.path).chunks()]), expected)
    stored = np.concatenate([words for _, words in Trace.load(with_runs.path).chunks(runs=True)])
    assert stored.size < expected.size // 100 and slowly_expanded(static, stored) == expected.tolist()
