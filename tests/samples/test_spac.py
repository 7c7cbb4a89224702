"""The six applications of SPAC are plain C without a warning, and with their remedies they compute the same."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ..waiting import HUNG
from .test_programs import TOOL_SPECIFIC
from .test_vertexcut import build

FOLDER = Path(__file__).resolve().parents[2] / "samples" / "spac"
PROGRAMS = {
    "cfd_edges": ("10", "4"),
    "cfd_elements": ("10", "4"),
    "btree": ("700", "2"),
    "gaussian": ("20", "2"),
    "particlefilter": ("60", "5"),
    "spmv_nonzeros": ("90", "3"),
    "spmv_rows": ("90", "3"),
    "cg": ("8", "60"),
}
HEADERS = {"math.h", "stdint.h", "stdio.h", "stdlib.h", "time.h"}
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")


def printed(program: Path, *words: str) -> list[float]:
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=HUNG, check=True)
    assert re.fullmatch(r"time steps [\d.]+ s\n", done.stderr)
    return [float(word) for word in NUMBER.findall(done.stdout)]


def test_every_program_is_listed() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.c")) == sorted(PROGRAMS)
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert all(f"| `{name}.c` |" in readme for name in PROGRAMS)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.[ch]")), ids=lambda path: path.name)
def test_is_plain_c(path: Path) -> None:
    source = path.read_text(encoding="ascii")
    assert TOOL_SPECIFIC.search(source) is None
    assert set(re.findall(r"#include\s*<([^>]+)>", source)) <= HEADERS


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_remedy_computes_the_same(name: str, tmp_path: Path) -> None:
    """Another numbering, another order, another search: of the same problem, to the digits that are printed."""
    (tmp_path / "fixed").mkdir()
    plain = build(FOLDER / f"{name}.c", tmp_path)
    fixed = build(FOLDER / f"{name}.c", tmp_path / "fixed", "-DFIXED")
    found, other = printed(plain, *PROGRAMS[name]), printed(fixed, *PROGRAMS[name])
    assert len(found) > 1
    if name == "cg":  # each unknown has its own right-hand side, wherever it lies: both are solved
        assert found[0] < 1e-6 and other[0] < 1e-6
    else:
        np.testing.assert_allclose(found, other, rtol=2e-5)
    if not name.startswith("cfd"):  # there it numbers the elements alone
        assert printed(plain, *PROGRAMS[name], "2") != found, "another seed is another problem"
    refused = subprocess.run([plain, "3x"], capture_output=True, text=True, timeout=HUNG)
    assert refused.returncode == 2 and "SIZE STEPS SEED" in refused.stderr


def test_both_products_agree(tmp_path: Path) -> None:
    """The same matrix by nonzeros and by rows."""
    by = [printed(build(FOLDER / f"{name}.c", tmp_path), "90", "3") for name in ("spmv_nonzeros", "spmv_rows")]
    np.testing.assert_allclose(*by, rtol=2e-5)
