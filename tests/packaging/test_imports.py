"""Importing stays light, and needs neither a compiler nor a GPU."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import tracecut

HEAVY = ("numpy", "scipy", "numba", "llvmlite", "networkx", "ziglang", "pymetis", "rich", "cupy")
# An import of one of these names fails, as on a machine that lacks it.
BLOCK = """
import sys
class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Gone())
"""


def python(code: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-P", "-c", code, *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "code",
    [
        "import tracecut",
        "import tracecut; tracecut.errors.TracecutError",
        "from tracecut.cli.main import main\ntry: main(['--help'])\nexcept SystemExit: pass",
        "from tracecut.cli.main import main\ntry: main(['optimize', '--help'])\nexcept SystemExit: pass",
        "from tracecut.cli.main import main\ntry: main(['--version'])\nexcept SystemExit: pass",
    ],
)
def test_loads_nothing_heavy(code: str) -> None:
    done = python(f"{code}\nimport sys, json\nprint()\nprint(json.dumps(sorted(sys.modules)))")
    assert done.returncode == 0, done.stderr
    assert not {name.split(".")[0] for name in json.loads(done.stdout.splitlines()[-1])} & set(HEAVY)


def test_a_program_starts_without_compiled_code() -> None:
    """What `tracecut run` loads before the user's program starts: a fraction of a second that every run pays."""
    block = BLOCK.format(names=("scipy", "numba", "llvmlite", "networkx", "ziglang", "pymetis", "rich"))
    code = "import tracecut.cli.run\nfrom tracecut.codegen.runtime import host, reinspect, schedule_file"
    done = python(block + code)
    assert done.returncode == 0, done.stderr


def test_a_program_that_was_left_alone_starts_at_once() -> None:
    """Data classes alone take as long as all the rest."""
    done = python("import tracecut.cli.run, sys, json\nprint(json.dumps(sorted(sys.modules)))")
    assert done.returncode == 0, done.stderr
    assert not set(json.loads(done.stdout)) & {"dataclasses", "inspect", "typing"}


def test_the_stages_are_listed_without_compiled_code() -> None:
    """A second of every `tracecut optimize`; the worker that inspects loops needs it alone."""
    done = python("import tracecut.pipeline.run, sys, json\nprint(json.dumps(sorted(sys.modules)))")
    assert done.returncode == 0, done.stderr
    assert not set(json.loads(done.stdout)) & {"numba", "scipy", "networkx", "pymetis"}


def test_needs_no_extra_and_no_compiler() -> None:
    block = BLOCK.format(names=("ziglang", "cupy", "mpi4py", "kaminpar", "kahip", "mtkahypar", "nvidia"))
    code = "import tracecut; tracecut.optimize, tracecut.methods(); from tracecut.cli.main import main"
    done = python(block + code)
    assert done.returncode == 0, done.stderr


def test_a_missing_compiler_is_named(tmp_path: Path) -> None:
    source = tmp_path / "a.c"
    source.write_text("int main(void) { return 0; }\n")
    code = "from tracecut.tracer.toolchain import find_compilers; find_compilers.compiler()"
    done = python(BLOCK.format(names=("ziglang",)) + code)
    assert "ToolchainError" in done.stderr and "ziglang" in done.stderr


def test_all_public_names_exist() -> None:
    for name in tracecut.__all__:
        assert getattr(tracecut, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tracecut.nothing  # type: ignore[attr-defined]
