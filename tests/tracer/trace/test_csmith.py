"""The harness for Csmith's programs notices what it is there for; Csmith itself is run by hand (see `csmith.py`)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from ...waiting import HUNG

HARNESS = Path(__file__).parent / "csmith.py"
# Seed 1 prints and ends, seed 2 does not end, seed 3 says how it was started: traced and native differ in their name.
GENERATOR = r"""#!{python}
import sys
seed = int(sys.argv[sys.argv.index("--seed") + 1])
body = {{1: 'printf("%d\\n", TABLE[2]); return 4;', 2: "for (volatile int i = 0;; i++) ;",
        3: 'puts(words[0] + strlen(words[0]) - 4); return 0;'}}[seed]
print('#include <stdio.h>\n#include <string.h>\n#include "table.h"\nint main(int n, char **words) {{', body, '}}')
"""


def run(folder: Path, count: int, first: int, *more: str) -> subprocess.CompletedProcess[str]:
    """The harness with a generator of our own."""
    (folder / "table.h").write_text("static int TABLE[3] = {1, 2, 3};\n")
    generator = folder / "generator"
    generator.write_text(GENERATOR.format(python=sys.executable))
    generator.chmod(0o755)
    options = ["--generator", str(generator), "--include", str(folder), "--keep", str(folder / "kept")]
    command = [sys.executable, "-P", str(HARNESS), str(count), str(first), *options, *more]
    env = {**os.environ, "TMPDIR": str(folder)}
    return subprocess.run(command, capture_output=True, text=True, timeout=HUNG, env=env)


def test_programs_that_agree(tmp_path: Path) -> None:
    done = run(tmp_path, 2, 1)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"endless": 1, "same": 1}
    assert not (tmp_path / "kept").exists()


def test_graphs_are_compared(tmp_path: Path) -> None:
    done = run(tmp_path, 1, 1, "--edges", "1000")
    assert (json.loads(done.stdout), done.returncode) == ({"same edges": 1}, 0), done.stderr
    assert json.loads(run(tmp_path, 1, 1, "--edges", "3").stdout) == {"longer": 1}


def test_a_difference_is_found_and_kept(tmp_path: Path) -> None:
    done = run(tmp_path, 1, 3)
    assert done.returncode == 1 and "seed 3: DIFFERS: output" in done.stderr
    assert json.loads(done.stdout) == {"DIFFERS": 1}
    assert "strlen" in (tmp_path / "kept" / "3.c").read_text()
