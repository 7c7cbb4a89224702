"""The examples of docs/extending.md on legality rules and targets do what the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tracecut.codegen.host.outline_loop import outline
from tracecut.codegen.host.target import RegionCode
from tracecut.codegen.ptx.target import all_targets
from tracecut.codegen.schedule.plan.base_pointer_groups import group_sites
from tracecut.ir.loops import refusals

from tracecut.pipeline.stages.publish import _kernel

from .ptx.ptx_support import subject

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
SOURCE = """
#include <stdlib.h>
double least(long n, const double *x) { double s = 0; for (long i = 0; i < n; i++) s = x[i] < s ? x[i] : s; return s; }
double sum(long n, const double *x) { double s = 0; for (long i = 0; i < n; i++) s += x[i]; return s; }
void scale(long n, const int *key, double *x) { for (long i = 0; i < n; i++) x[key[i]] *= 2; }
void sizes(long n, int *x) { for (long i = 0; i < n; i++) x[i] = abs(x[i]) + rand(); }
"""


def example(section: str) -> dict[str, Any]:
    """The names that the example of a section of the page defines."""
    text = PAGE.read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(code, str(PAGE), "exec", dont_inherit=True), names)
    return names


def region(function: str) -> RegionCode:
    view, nest, loop = subject(SOURCE, function).parts
    groups = group_sites(view, nest, loop)
    return RegionCode(7, view, nest, loop, outline(view, nest, loop, "tc.loop.7", groups))


def test_a_legality_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    _, nest, _ = subject(SOURCE, "least").parts
    assert refusals.refusal(nest, nest.root) is None
    monkeypatch.setattr(refusals, "RULES", list(refusals.RULES))
    example("A legality rule")
    found = refusals.refusal(nest, nest.root)
    assert found is not None and found.says == "keeps the sign of the last zero" and found.ordered
    assert [place.line for place in found.places] == [3, 3]
    _, other, _ = subject(SOURCE, "sum").parts
    assert refusals.refusal(other, other.root) is None
    (kernel,) = [_kernel(target, region("least"), Path()) for target in all_targets(["sm_90"])[1:]]
    assert kernel["path"] == "" and "keeps the sign of the last zero" in kernel["note"]


def test_a_target(tmp_path: Path) -> None:
    target = example("A target")["CpuTarget"]("x86-64-v4")
    entry = _kernel(target, region("scale"), tmp_path)
    path = "kernels/loop7-x86-64-v4.ll"
    assert entry == {"target": "x86-64-v4", "path": path, "variant": "tc.loop.7", "entry": "tc.loop.7"}
    assert '"target-cpu"="x86-64-v4" #' in (tmp_path / "loop7-x86-64-v4.ll").read_text()
    refused = _kernel(target, region("sizes"), tmp_path)
    assert refused["path"] == "" and refused["note"] == "it calls @rand, which is not there on x86-64-v4"
