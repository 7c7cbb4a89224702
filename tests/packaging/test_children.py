"""Every foreign program goes through the one runner: nobody else starts a process."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from .imports import FOLDERS, ROOT

# Who starts processes, and how: the runner its guardian; the guardian the program; `tracecut run` becomes the program.
STARTERS = {
    "support/process/runner.py": {"subprocess.Popen"},
    "support/process/guardian.py": {"os.fork", "os.execvpe"},
    "tracecut/cli/run.py": {"os.execv"},
    # a rank of MPI is its child: the process that mpiexec started tells how it ended
    "support/process/rank_guard.py": {"os.fork"},
    # the compiler of a build has the terminal, the streams and the signals of the build
    "tracer/recorded/wrapper.py": {"subprocess.Popen", "os.execv"},
}
MODULES = {"subprocess", "multiprocessing", "pty", "_posixsubprocess"}
CALLS = ("fork", "exec", "spawn", "posix_spawn", "system", "popen", "startfile")
NAMES = {"ProcessPoolExecutor", "create_subprocess_exec", "create_subprocess_shell", "subprocess_exec"}
HARMLESS = {"subprocess.TimeoutExpired", "subprocess.CompletedProcess", "subprocess.DEVNULL", "subprocess.PIPE"}


def starts(text: str) -> Iterator[str]:
    """What of a file's code can start a process; type annotations count as well, unless they are of a known class."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            if node.module.split(".")[0] in MODULES or node.module == "os":
                yield from (f"{node.module}.{alias.name}" for alias in node.names if _is_start(node.module, alias.name))
            yield from (alias.name for alias in node.names if alias.name in NAMES)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] in MODULES - {"subprocess"})
            yield from (alias.name for alias in node.names if alias.asname and alias.name in {"os", "subprocess"})
        elif isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and _is_start(node.value.id, node.attr):
                yield f"{node.value.id}.{node.attr}"
            elif node.attr in NAMES:
                yield node.attr


def _is_start(module: str, name: str) -> bool:
    if module == "os":
        return name.startswith(CALLS)
    return module.split(".")[0] in MODULES and f"{module}.{name}" not in HARMLESS


def test_only_the_runner_starts_processes() -> None:
    found = {
        str(path.relative_to(ROOT)): set(starts(path.read_text(encoding="utf-8")))
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
    }
    assert {path: names for path, names in found.items() if names} == STARTERS


@pytest.mark.parametrize(
    "text",
    [
        "import subprocess\nsubprocess.run(['a'])",
        "from subprocess import check_output",
        "import subprocess as s\ns.run(['a'])",
        "import os\nos.system('a')",
        "import os\nos.posix_spawnp('a', [], {})",
        "from os import execv",
        "import multiprocessing",
        "from concurrent.futures import ProcessPoolExecutor",
        "from concurrent import futures\nfutures.ProcessPoolExecutor()",
        "import asyncio\nasyncio.create_subprocess_exec('a')",
    ],
)
def test_each_way_to_start_a_process_is_found(text: str, tmp_path: Path) -> None:
    assert list(starts(text))
    assert not list(starts("import subprocess\ndef f(e: subprocess.TimeoutExpired) -> None: ...\nimport os\nos.kill"))
