"""One run of the main job parses each module once and outlines each region once, all of its processes together.

Python imports `sitecustomize` in each of them at its start: there the parser and the outliner are made to write down
what they are called with.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tracecut.support.progress import Progress

from tracecut.pipeline.stages.settings import Settings
from tracecut.pipeline.supervise import optimize_program

COUNTING = """
import hashlib, os, sys

def counted(module, name, what):
    made = getattr(module, name)
    def call(*words, **options):
        with open({log!r}, "a") as file:  # one write of a line is whole, whoever else writes
            file.write(what(*words) + "\\\\n")
        return made(*words, **options)
    setattr(module, name, call)

if any(word.startswith("tracecut.") for word in sys.orig_argv):
    import tracecut.ir.llvm, tracecut.ir.llvm.module
    def digest(text):
        return "parse " + hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()
    counted(tracecut.ir.llvm.module, "parse_module", digest)
    tracecut.ir.llvm.parse_module = tracecut.ir.llvm.module.parse_module
    from tracecut.codegen.host.outline_loop import _Outliner
    counted(_Outliner, "run", lambda self: f"outline {{self.name}}")
"""

# Two hot loops, each with a scope around it, so that there are two workers.
PROGRAM = r"""
#include <stdio.h>
static int from[3000], to[3000];
static double x[3000], y[3000], z[3000];
int main(void)
{
    for (int i = 0; i < 3000; i++) from[i] = (int)(i * 7919LL % 3000), to[i] = (int)(i * 31LL % 3000), x[i] = i;
    for (int step = 0; step < 20; step++) {
        for (int i = 0; i < 3000; i++) y[i] += x[from[i]];
        for (int i = 0; i < 3000; i++) x[i] = 0.5 * y[i];
    }
    for (int step = 0; step < 20; step++)
        for (int i = 0; i < 3000; i++) z[to[i]] += y[i];
    printf("%.3f %.3f\n", y[1], z[1]);
    return 0;
}
"""


def test_each_module_is_parsed_once_and_each_region_outlined_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, hooks, source = tmp_path / "walks", tmp_path / "hooks", tmp_path / "program.c"
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text(COUNTING.format(log=str(log)).replace("\\\\", "\\"))
    source.write_text(PROGRAM)
    monkeypatch.setenv("PYTHONPATH", str(hooks))
    settings = Settings((str(source),), output=tmp_path / "out", method="rcm", force=True, loop_budget=0.1)
    result = optimize_program(settings, Progress())
    assert len([region for region in result.regions if region["decision"] == "optimized"]) == 2
    kernels = [kernel["target"] for region in result.manifest["regions"] for kernel in region["kernels"]]
    assert "host" in kernels and "sm_90" in kernels
    walks = Counter(log.read_text().splitlines())
    assert max(walks.values()) == 1, walks
    # The program before functions are inlined, which decides on that, and its canonical form after it.
    assert sum(line.startswith("parse ") for line in walks) == 2, walks
    assert sum(line.startswith("outline ") for line in walks) == 2, walks
