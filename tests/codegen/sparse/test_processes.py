"""Products in children of `fork`, from several threads, and in a second process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from tracecut.codegen.sparse.csr_kernels import csr_times

import tracecut

from .matrices import large


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_forked_children_and_many_callers() -> None:
    matrix, x = large(), np.ones(5000)
    expected = csr_times(matrix, x, threads=2)
    child = os.fork()
    if child == 0:
        same = np.array_equal(csr_times(matrix, x, threads=2), expected)
        os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0
    found: list[bool] = []
    callers = [
        threading.Thread(target=lambda: found.append(np.array_equal(csr_times(matrix, x, threads=2), expected)))
        for _ in range(4)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert found == [True] * 4


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("background", [False, True])
def test_operators_in_children_of_fork(background: bool) -> None:
    matrix, x = large().to_scipy(), np.ones(5000)
    operator = tracecut.spmv(matrix, method="sliced", order="degree", threads=2, background=background)
    if not background:
        operator @ x
    child = os.fork()
    if child == 0:
        operator.wait()
        os._exit(0 if np.allclose(operator @ x, matrix @ x) else 1)
    assert os.waitpid(child, 0)[1] == 0
    operator.wait()
    assert operator.plan.format == "sliced"
    np.testing.assert_allclose(operator @ x, matrix @ x)


def test_a_second_process_compiles_nothing() -> None:
    csr_times(large(), np.ones(5000))
    code = """
from tracecut.tracer.runtime import compile_support
def refuse(*arguments): raise SystemExit("compiled again")
compile_support._compiled = refuse
import numpy as np, scipy.sparse as sp, sys
from tracecut.codegen.sparse.csr import Csr
from tracecut.codegen.sparse.csr_kernels import csr_times
assert csr_times(Csr.of(sp.eye_array(3, format="csr")), np.ones(3)).sum() == 3
assert "numba" not in sys.modules
"""
    subprocess.run([sys.executable, "-P", "-c", code], check=True)
