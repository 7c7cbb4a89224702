"""Loops that do not become kernels, each with its reason; the process lives on."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from tracecut.codegen.ptx import nvptx
from tracecut.codegen.ptx.emit import emit_kernel
from tracecut.codegen.ptx.nvptx import compile_ptx
from tracecut.codegen.schedule.plan.base_pointer_groups import group_sites
from tracecut.support.errors import ArgumentError, UnsupportedError
from tracecut.support.process.runner import Limits

from ...waiting import HUNG
from .ptx_support import subject

pytestmark = pytest.mark.quick

SOURCE = """
#include <stdio.h>
#include <stdlib.h>
struct node { struct node *next; double value; };
struct rows { double *row; };
void prints(long n, const double *x) { for (long i = 0; i < n; i++) printf("%g\\n", x[i]); }
void prefix(long n, double *x) { double s = 0; for (long i = 0; i < n; i++) { s += x[i]; x[i] = s; } }
long search(long n, const double *x) { long i = 0; while (i < n && x[i] < 0.5) i++; return i; }
void allocates(long n, double **x) { for (long i = 0; i < n; i++) x[i] = malloc(8); }
void chases(long n, struct node **x, double *y)
{ for (long i = 0; i < n; i++) { double s = 0; for (struct node *p = x[i]; p; p = p->next) s += p->value; y[i] = s; } }
void jagged(long n, const struct rows *x, double *y) { for (long i = 0; i < n; i++) y[i] = x[i].row[3]; }
void links(long n, struct node *x, const int *key) { for (long i = 0; i < n; i++) x[i].next = &x[key[i]]; }
void numbers(long n, double *x, long *y) { for (long i = 0; i < n; i++) y[i] = (long)(x[i] > 0 ? &x[i] : x); }
void precise(long n, const double *x, double *y) { for (long i = 0; i < n; i++) y[i] = (double)(3.0L * x[i] + x[i]); }
void digits(long n, const __int128 *x, double *y) { for (long i = 0; i < n; i++) y[i] = (double)x[i]; }
double last(long n, const double *x, double *y)
{ double s = 0; for (long i = 0; i < n; i++) { s = x[i] * 3; y[i] = s; } return s; }
void quads(long n, const double *x, double *y) { for (long i = 0; i < n; i++) y[i] = x[i] > 0 ? strtod("7", NULL) : 1; }
static double table[100];
void address(long n, double **x) { for (long i = 0; i < n; i++) if (x[i] == &table[3]) x[i] = NULL; }
void fine(long n, const int *key, const double *x, double *y) { for (long i = 0; i < n; i++) y[key[i]] += x[i]; }
"""
REASONS = {
    "prints": "contains a call to printf",
    "prefix": "carries a value across iterations",
    "search": "left in several places",
    "allocates": "a call to malloc",
    "chases": "stored in memory, and device addresses differ|changes in every iteration",
    "jagged": "stored in memory, and device addresses differ|changes in every iteration",
    "links": "it stores a pointer",
    "numbers": "converts between pointers and integers",
    "precise": "long double",
    "digits": "integers wider than 64 bits",
    "last": "leaves a value of its last iteration to later code",
    "quads": "a call to strtod",
    "address": "pointer",
}


@pytest.mark.parametrize("function", sorted(REASONS))
def test_refused_with_a_reason(function: str) -> None:
    with pytest.raises(UnsupportedError, match=REASONS[function]) as caught:
        subject(SOURCE, function).emit()
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arch": "sm_35"}, "arch is 'sm_35', one of sm_75, .* was expected"),
        ({"arch": "sm_90; rm"}, "arch is"),
        ({"variant": "fast"}, "variant is 'fast', one of original, swap-indirect, swap was expected"),
        ({"disjoint": frozenset({9})}, "disjoint names group 9, groups are numbered 0 to 2"),
        ({"exclusive": frozenset({-1})}, "exclusive names group -1"),
    ],
)
def test_arguments_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        subject(SOURCE, "fine").emit(**options)


def test_a_written_group_is_not_disjoint() -> None:
    loop = subject(SOURCE, "fine")
    (written,) = {group.id for group in loop.groups()} - loop.reads()
    with pytest.raises(ArgumentError, match=f"disjoint names group {written}, which the loop writes to"):
        loop.emit(disjoint=frozenset({written}))


def test_the_name_is_checked() -> None:
    parts = subject(SOURCE, "fine").parts
    with pytest.raises(ArgumentError, match="letters, digits and _ were expected"):
        emit_kernel(*parts, "tc.loop", group_sites(*parts))


def _module(body: str, declared: str = "") -> str:
    return (
        f'target datalayout = "{nvptx.LAYOUT}"\ntarget triple = "{nvptx.TRIPLE}"\n{declared}\n'
        f"define ptx_kernel void @k(ptr %p, ptr %q) {{\n  {body}\n  ret void\n}}\n"
    )


def test_a_backend_that_dies_is_a_refusal() -> None:
    """LLVM has no libcall for fp128 on this target and aborts; nothing scans for that here."""
    text = _module("%a = load fp128, ptr %p\n  %b = fadd fp128 %a, %a\n  store fp128 %b, ptr %p")
    with pytest.raises(UnsupportedError, match="LLVM cannot emit the kernel k for sm_90: its code generator") as caught:
        compile_ptx(text, "k", "sm_90", libdevice=False)
    assert "runs on the host" in caught.value.hint


def test_an_unlowerable_intrinsic_does_not_reach_the_backend() -> None:
    text = _module("%a = load float, ptr %p\n  %b = call float @llvm.sin.f32(float %a)\n  store float %b, ptr %p")
    with pytest.raises(UnsupportedError, match=r"llvm\.sin\.f32 is not known on the device"):
        compile_ptx(text, "k", "sm_90", libdevice=False)


def test_an_unresolved_call_is_a_refusal() -> None:
    text = _module("call void @stranger(ptr %p)", "declare void @stranger(ptr)")
    with pytest.raises(UnsupportedError, match="stranger is not known on the device"):
        compile_ptx(text, "k", "sm_90", libdevice=False)


def test_text_that_is_not_valid_is_a_refusal() -> None:
    with pytest.raises(UnsupportedError, match=r"LLVM cannot emit the kernel k for sm_90: .*error"):
        compile_ptx(_module("%a = lod float, ptr %p"), "k", "sm_90", libdevice=False)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import os; os.abort()", "killed by SIGABRT"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "killed by SIGSEGV"),
        ("print('gone', file=__import__('sys').stderr); raise SystemExit(9)", "left with status 9\ngone"),
        ("pass", "left with status 0"),
        ("while True: pass", "ran longer than 0.3 s and was stopped"),
    ],
)
def test_a_worker_that_dies_is_a_refusal(monkeypatch: pytest.MonkeyPatch, code: str, reason: str) -> None:
    monkeypatch.setattr(nvptx, "COMMAND", (sys.executable, "-P", "-c", code))
    monkeypatch.setattr(nvptx, "LIMITS", Limits(seconds=0.3 if "while" in code else HUNG))
    with pytest.raises(UnsupportedError) as caught:
        subject(SOURCE, "fine").emit()
    assert reason in str(caught.value)


def test_a_call_that_the_backend_adds_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import sys; open(sys.argv[2], 'w').write('.extern .func  (.param .b64 r) frob \\n(\\n)\\n;')"
    monkeypatch.setattr(nvptx, "COMMAND", (sys.executable, "-P", "-c", code))
    with pytest.raises(UnsupportedError, match="the kernel kernel calls frob, which the device does not have"):
        subject(SOURCE, "fine").emit()
