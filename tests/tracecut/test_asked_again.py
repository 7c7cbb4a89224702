"""`tracecut optimize` and the files of the current folder: what is read is known, what is written is announced."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .conftest import Shell

READER = r"""
#include <stdio.h>
int main(int argc, char **argv) {
    int value = 0;
    FILE *file = fopen(argv[1], "r"), *runs = fopen("runs", "a");
    if (!file || !runs || fscanf(file, "%d", &value) != 1) return 3;
    fputs("ran\n", runs);
    printf("%d\n", value);
    return 0;
}
"""


def test_an_answer_is_given_again_until_the_input_changes(
    shell: Shell, contents: Callable[[Path], Mapping[str, bytes]]
) -> None:
    shell.source(READER)
    mesh, runs = shell.folder / "mesh", shell.folder / "runs"
    mesh.write_text("17\n")
    words = ("optimize", "program.c", "-o", "out", "--json", "-q")

    def asked(*more: str) -> tuple[dict[str, Any], bool]:
        """The manifest, and whether the program ran."""
        before = runs.read_text() if runs.exists() else ""
        done = shell(*words, *more, "--", "mesh")
        assert done.code == 0, done.err
        return json.loads(done.out), runs.read_text() != before

    first, ran = asked()
    assert (first["reused"], ran) == (False, True)
    kept = contents(shell.folder / "out")
    (shell.folder / "out").chmod(0o555)
    again, ran = asked()
    (shell.folder / "out").chmod(0o755)
    assert (again["reused"], again["made"], ran) == (True, first["made"], False)
    assert contents(shell.folder / "out") == kept
    assert asked("--fresh")[1]
    mesh.write_text("18\n")
    changed, ran = asked()
    assert (changed["reused"], ran) == (False, True)


def test_a_program_that_writes_is_announced_or_runs_in_copies(
    shell: Shell, contents: Callable[[Path], Mapping[str, bytes]]
) -> None:
    shell.source(READER)
    (shell.folder / "mesh").write_text("17\n")
    before = contents(shell.folder)
    quiet = shell("optimize", "program.c", "-o", "out", "--in-copy", "--", "mesh")
    assert (quiet.code, quiet.err) == (0, "")
    found = contents(shell.folder)
    assert {name: data for name, data in found.items() if not name.startswith("out/")} == before
    loud = shell("optimize", "program.c", "-o", "out", "--", "mesh")
    assert loud.code == 0
    assert "times in this folder, and may change files each time (it uses fopen)" in loud.err
    assert (shell.folder / "runs").read_text() == "ran\nran\n"
