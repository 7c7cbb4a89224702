"""The sample programs are plain C without a warning, and their data are what their README says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ..waiting import HUNG

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
PROGRAMS = ("mesh_flux", "spmv_cg", "md_forces", "graph_heat", "dense_stencil", "prefix_sum")
TOOL_SPECIFIC = re.compile(r"#\s*pragma|__attribute__|__builtin|\[\[|\brestrict\b|\basm\b|tracecut", re.IGNORECASE)


def test_every_program_is_listed() -> None:
    assert sorted(path.stem for path in SAMPLES.glob("*.c")) == sorted(PROGRAMS)
    readme = (SAMPLES / "README.md").read_text(encoding="utf-8")
    assert all(f"`{name}.c`" in readme for name in PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiles_to_llvm_ir_without_a_warning(name: str, tmp_path: Path) -> None:
    # To IR only: linking with the bundled compiler would first build its C library, which takes a minute.
    out = tmp_path / f"{name}.ll"
    flags = ["-S", "-emit-llvm", "-O1", "-std=c11", "-Wall", "-Wextra", "-Werror"]
    flags += ["-Wno-unused-command-line-argument"]  # the bundled compiler always adds -c, which -S makes useless
    source = SAMPLES / f"{name}.c"
    done = subprocess.run(
        [sys.executable, "-m", "ziglang", "cc", *flags, "-x", "c", str(source), "-o", str(out)],
        capture_output=True,
        text=True,
        check=False,
        timeout=HUNG,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert re.search(r"^define .*@main\(", out.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("name", PROGRAMS)
def test_is_plain_c(name: str) -> None:
    source = (SAMPLES / f"{name}.c").read_text(encoding="ascii")
    assert TOOL_SPECIFIC.search(source) is None
    headers = set(re.findall(r"#include\s*<([^>]+)>", source))
    assert headers <= {"limits.h", "math.h", "stdint.h", "stdio.h", "stdlib.h", "string.h", "time.h"}
    assert '#include "' not in source


def rows(path: Path) -> list[list[str]]:
    """The words of each line that is not a comment."""
    lines = path.read_text(encoding="ascii").splitlines()
    return [line.split() for line in lines if line and not line.startswith("#")]


def test_the_mesh_is_a_counter_clockwise_triangulation() -> None:
    magic, header, *body = rows(SAMPLES / "data" / "merimbula.off")
    assert magic == ["OFF"]
    n_vertices, n_triangles, _ = map(int, header)
    assert (n_vertices, n_triangles, len(body)) == (5719, 10785, 5719 + 10785)
    points = [(float(x), float(y), float(z)) for x, y, z in body[:n_vertices]]
    triangles = [(int(a), int(b), int(c)) for _, a, b, c in body[n_vertices:]]
    assert all(words[0] == "3" for words in body[n_vertices:])
    assert {v for triangle in triangles for v in triangle} == set(range(n_vertices))
    for triangle in triangles:
        (x0, y0, _), (x1, y1, _), (x2, y2, _) = (points[v] for v in triangle)
        assert (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0) > 0
    uses: dict[tuple[int, int], int] = {}
    for a, b, c in triangles:
        for p, q in ((a, b), (b, c), (c, a)):
            edge = (min(p, q), max(p, q))
            uses[edge] = uses.get(edge, 0) + 1
    assert len(uses) == 16503
    assert sorted(set(uses.values())) == [1, 2]
    assert sum(count == 1 for count in uses.values()) == 651


def test_the_atoms_are_all_there() -> None:
    header, *atoms = rows(SAMPLES / "data" / "dhfr-water.txt")
    assert header == ["23558", "62.230", "62.230", "62.230"]
    assert len(atoms) == 23558
    assert {words[0] for words in atoms} == {"H", "C", "N", "O", "S"}
    residues = [int(words[1]) for words in atoms]
    assert residues[0] == 0 and residues == sorted(residues)
    assert all(-70 < float(x) < 140 for words in atoms for x in words[2:])


def test_the_data_are_small_and_their_origin_is_stated() -> None:
    data = SAMPLES / "data"
    files = [path for path in data.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 4_000_000
    readme = (data / "README.md").read_text(encoding="utf-8")
    named = [str(path.relative_to(data)) for path in files if path.name != "README.md"]
    assert all(f"`{name}`" in readme for name in named), named
