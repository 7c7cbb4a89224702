"""Processes of our own: what they leave is not looked through at their end, and Numba comes without SciPy."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tracecut.support.garbage_collection import SELDOM
from tracecut.support.process.workers import run_hosted

MODULE = """
import gc, json, sys

class Ring:
    def __init__(self): self.me = self
    def __del__(self): print("looked through", flush=True)

if __name__ == "__main__":
    print(json.dumps([sys.argv, gc.get_threshold()]), flush=True)
    Ring()
    sys.exit(3)
"""

KERNEL = """
import sys
import numpy as np
from numba import njit

@njit
def total(values):
    return values.sum()

if __name__ == "__main__":
    print(total(np.arange(4.0)), "scipy.linalg" in sys.modules)
    import scipy.linalg
    print(scipy.linalg.det(np.eye(2)))
"""


def test_kernels_load_no_linear_algebra(tmp_path: Path) -> None:
    """Which others may import all the same."""
    (tmp_path / "summing.py").write_text(KERNEL)
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = {**os.environ, "PYTHONPATH": paths}
    done = run_hosted("summing", [], stdin=None, folder=tmp_path, name="summing", timeout=None, env=env)
    assert done.returncode == 0, done.stderr.read_text()
    assert done.stdout.read_text().split() == ["6.0", "False", "1.0"]


def test_a_module_is_run_as_its_own_program(tmp_path: Path) -> None:
    """With its arguments and its status; garbage is collected seldom from the start, and not at the end."""
    (tmp_path / "ringed.py").write_text(MODULE)
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = run_hosted(
        "ringed",
        ["a", tmp_path],
        stdin=None,
        folder=tmp_path,
        name="ringed",
        timeout=None,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert done.returncode == 3, done.stderr.read_text()
    [words, thresholds] = json.loads(done.stdout.read_text())
    assert words == [str(tmp_path / "ringed.py"), "a", str(tmp_path)] and tuple(thresholds) == SELDOM
