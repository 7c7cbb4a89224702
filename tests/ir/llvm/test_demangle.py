"""Names of C++ functions as a program writes them."""

from __future__ import annotations

import pytest
from tracecut.ir.llvm.demangle import demangled, function_name

pytestmark = pytest.mark.quick

SORT = (
    "_ZSt16__introsort_loopIN9__gnu_cxx17__normal_iteratorIPdSt6vectorIdSaIdEEEElNS0_5__ops15_Iter_less_iterEE"
    "vT_S9_T0_T1_"
)


@pytest.mark.skipif(demangled("_ZNSolsEi") == "_ZNSolsEi", reason="there is no C++ library")
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (SORT, "std::__introsort_loop"),
        ("_Z4meanRKSt6vectorIdSaIdEE", "mean"),
        ("_ZN4mesh4stepEi", "mesh::step"),
        ("_ZN12_GLOBAL__N_14stepEi", "step"),
        ("_ZNSolsEi", "std::ostream::operator<<(int)"),
        ("printf", "printf"),
        ("_Znot_mangled", "_Znot_mangled"),
    ],
)
def test_names(name: str, shown: str) -> None:
    assert function_name(name) == shown
