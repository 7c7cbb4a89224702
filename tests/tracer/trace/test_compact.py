"""Loops that are written compactly, as runs or by short records: the events are the same as without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tracecut.ir.llvm import parse_module
from tracecut.tracer.toolchain.passes import parse
from tracecut.tracer.trace.compact.loop_runs import Shape
from tracecut.tracer.trace.instrument import compile
from tracecut.tracer.trace.instrument.fast_codegen import choose_quickly
from tracecut.tracer.trace.instrument.rewrite import instrumented
from tracecut.tracer.trace.tables.static_tables import static_of

from ...fuzz.generate import generate
from .compact_records import both
from .recorded import HEAD, native

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


@pytest.mark.parametrize(
    ("large", "how"), [(1 << 30, {"level": 3, "registers": True}), (0, {"level": 0, "registers": False})]
)
def test_code_of_large_modules(
    tmp_path: Path, large: int, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Generated in less time, and what the program does and what is recorded stays."""
    source = generate(914, 3).source
    usual, _ = both(source, tmp_path, flags=("-ffp-contract=off",))
    monkeypatch.setattr(compile, "MANY", 0)
    monkeypatch.setattr(compile, "LARGE", large)
    asked: list[dict[str, Any]] = []
    emit = compile.emit_object

    def emitted(text: str, **options: Any) -> bytes:
        asked.append(options)
        return emit(text, **options)

    monkeypatch.setattr(compile, "emit_object", emitted)
    ran, _ = both(source, tmp_path, flags=("-ffp-contract=off",))
    assert asked == [{"optimise": False, **how}] * len(asked) and asked
    assert (ran.stdout, 0) == native(source, tmp_path) and ran.stdout == usual.stdout
    assert ran.recorded.totals == usual.recorded.totals


def test_instructions_are_chosen_quickly_where_that_takes_no_more_stack() -> None:
    slots = "  %a = alloca [200 x i8]\n  %b = alloca [100 x i8]\n"
    heads = {
        "@plain": ("() unnamed_addr addrspace(0) #0", ""),
        "@quiet": ("()", slots.replace("200", "20")),
        "@one": ("()", slots[: slots.index("\n") + 1]),
        "@roomy": ("()", slots),
        "@small": ("() optsize", ""),
        "@kept": ("() noinline", ""),
    }
    text = "\n".join(f"define void {name}{head} {{\n{body}  ret void\n}}" for name, (head, body) in heads.items())
    module = parse_module(text + "\nattributes #0 = { nounwind }\n")
    choose_quickly(module)
    marked = {name for name, function in module.functions.items() if "optnone" in function.header}
    assert marked == {"@plain", "@quiet", "@one", "@kept"}
    parse(str(module))


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
