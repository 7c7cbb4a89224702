"""Starting ranks of MPI: on this machine alone, through shared memory. No socket is opened.

`mpiexec.gforker` comes with the mpich package, as does `mpiexec`, which listens on a port. It cuts a line at the first
character that is not ASCII: tests read JSON, or files.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from .waiting import HUNG

BIN = Path(sys.executable).parent
ENVIRONMENT = {**os.environ, "UCX_TLS": "self,sm", "MPIR_CVAR_POLLS_BEFORE_YIELD": "0"}


def run(size: int, *words: str, folder: Path) -> tuple[int, str, str]:
    """`size` ranks of a Python program, whose words follow: status, and what was printed."""
    command = [BIN / "mpiexec.gforker", "-n", str(size), sys.executable, "-P", *words]
    done = subprocess.run(
        command,
        cwd=folder,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=HUNG,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr
