"""The emitted text, compared with files under tests/golden/ptx; and ptxas on it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from llvmlite import binding
from tracecut.codegen.ptx import ptxas
from tracecut.codegen.ptx.nvptx import ARCHITECTURES, LAYOUT, TRIPLE
from tracecut.codegen.ptx.ptxas import assemble
from tracecut.support.errors import ArgumentError, BackendError, ToolchainError

from .ptx_support import subject

SOURCE = """
#include <math.h>
void edges(long n, const int *ea, const int *eb, const double *w, const double *u, double *r)
{ for (long e = 0; e < n; e++) { int a = ea[e], b = eb[e]; double f = w[e] * (u[b] - u[a]); r[a] += f; r[b] -= f; } }
void rows(long n, const int *rp, const int *col, const double *val, const double *x, double *y)
{
    for (long i = 0; i < n; i++) {
        double s = 0;
        for (int j = rp[i]; j < rp[i + 1]; j++)
            s += val[j] * x[col[j]];
        y[i] = s;
    }
}
void mixed(long n, const int *key, const double *x, float *s) { for (long i = 0; i < n; i++) s[key[i]] += x[i] * i; }
double norm(long n, const double *x) { double s = 0; for (long i = 0; i < n; i++) s += x[i] * x[i]; return s; }
void waves(long n, const double *x, double *y) { for (long i = 0; i < n; i++) y[i] = cbrt(x[i]); }
"""
CASES = [
    ("edges", "swap"),
    ("edges", "swap-indirect"),
    ("rows", "swap"),
    ("mixed", "swap"),
    ("norm", "swap"),
    ("waves", "swap"),
]


def _plain(text: str) -> str:
    """Without comments and the spaces at line ends."""
    return "\n".join(line.rstrip() for line in text.splitlines() if not line.lstrip().startswith("//")).strip() + "\n"


@pytest.mark.parametrize(("function", "variant"), CASES, ids=["-".join(case) for case in CASES])
def test_emitted_text(function: str, variant: str, golden: Callable[[str, str], None]) -> None:
    loop = subject(SOURCE, function)
    kernel = loop.emit(variant=variant, disjoint=loop.reads())
    golden(f"ptx/{function}-{variant}.ll", _plain(kernel.llvm))
    golden(f"ptx/{function}-{variant}.ptx", _plain(kernel.ptx))
    report = assemble(kernel.ptx)
    assert (report.kernel, report.spill_store_bytes, report.spill_load_bytes) == ("kernel", 0, 0)


def test_emission_is_deterministic() -> None:
    loop = subject(SOURCE, "edges")
    assert loop.emit() == loop.emit()


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_ptxas_accepts_every_architecture(arch: str) -> None:
    kernel = subject(SOURCE, "mixed").emit(arch=arch)
    assert f".target {arch}\n" in kernel.ptx
    report = assemble(kernel.ptx, arch)
    assert report.arch == arch and report.cubin_bytes > 0
    assert report.registers > 0 and report.stack_bytes == report.shared_bytes == report.barriers == 0


def test_layout_is_the_one_of_llvm() -> None:
    binding.initialize_all_targets()
    assert str(binding.Target.from_triple(TRIPLE).create_target_machine().target_data) == LAYOUT


def test_launch_geometry_covers_all_jobs() -> None:
    kernel = subject(SOURCE, "waves").emit()
    assert [kernel.blocks(jobs) for jobs in (0, 1, 256, 257)] == [1, 1, 1, 2]


def test_reading_what_is_written_is_not_cached() -> None:
    """Without the caller's word, no array is taken for read-only."""
    kernel = subject(SOURCE, "edges").emit()
    assert "ld.global.nc" not in kernel.ptx and not any(p.read_only for p in kernel.parameters)


def test_parameters_name_what_to_pass() -> None:
    loop = subject(SOURCE, "edges")
    swap = loop.emit(variant="swap-indirect", disjoint=loop.reads())
    found = [(p.kind, loop.names.get(p.name, ""), p.type, p.read_only) for p in swap.parameters]
    assert found == [
        ("jobs", "", "i64", False),
        ("order", "", "ptr", True),
        ("base", "ea", "ptr", True),
        ("base", "eb", "ptr", True),
        ("base", "w", "ptr", True),
        ("base", "u", "ptr", True),
        ("base", "r", "ptr", False),
    ]
    reordered = loop.emit(disjoint=loop.reads())
    assert [loop.names.get(p.name) for p in reordered.parameters].count("r") == 1  # both indices share it


def test_ptxas_refuses_an_unresolved_call() -> None:
    ptx = subject(SOURCE, "edges").emit().ptx
    broken = re.sub(
        r"\n\tret;", "\n\tcall.uni stranger;\n\tret;", ptx.replace(".visible", ".extern .func stranger;\n.visible")
    )
    with pytest.raises(BackendError, match="ptxas does not accept the kernel kernel for sm_90") as caught:
        assemble(broken)
    assert "stranger" in caught.value.detail


def test_ptxas_needs_one_kernel_and_a_known_architecture() -> None:
    with pytest.raises(ArgumentError, match="ptx holds 0 kernels, one was expected"):
        assemble("")
    with pytest.raises(ArgumentError, match="arch is 'sm_1'"):
        assemble("", "sm_1")


def test_without_ptxas_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ptxas, "find_ptxas", lambda: None)
    with pytest.raises(ToolchainError, match="pip install nvidia-cuda-nvcc"):
        assemble(".visible .entry k()")
