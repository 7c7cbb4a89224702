"""What a program can find out about its process is the same under `tracecut run`, whatever the interpreter is told."""

from __future__ import annotations

import contextlib
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tracecut.support.progress import Progress

from tracecut.pipeline.stages.settings import Settings
from tracecut.pipeline.supervise import optimize_program

from ...waiting import HUNG
from ..gathering import ARRAYS, LOOP

COMMAND = [sys.executable, "-P", "-m", "tracecut", "run"]
ASKS = (
    r"""
#define _GNU_SOURCE
#include <assert.h>
#include <err.h>
#include <errno.h>
#include <error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
extern char *__progname, *__progname_full;
"""
    + ARRAYS
    + r"""static void show(const char *kind, const char *name) { /* a path that nobody finds in the code */
    char path[64], data[4096];
    snprintf(path, sizeof path, "/%s/self/%s", kind, name);
    FILE *file = fopen(path, "r");
    size_t length = fread(data, 1, sizeof data, file);
    fwrite(data, 1, length, stdout);
    printf(" %zu\n", length);
}
__attribute__((constructor)) static void early(void) { warnx("early"); }
int main(int argc, char **argv, char **envp) {
    int first = errno;
    const char *mode = argc > 1 ? argv[1] : "";
"""
    + LOOP
    + r"""
    if (!strcmp(mode, "names")) {
        char name[17] = {0};
        prctl(PR_GET_NAME, name);
        printf("%s %s %s %s\n", name, argv[0], program_invocation_name, program_invocation_short_name);
        printf("%s %s %s errno %d\n", __progname, __progname_full, (char *)getauxval(AT_EXECFN), first);
        printf("neighbours %d %d %d\n", envp == argv + argc + 1, environ == envp, argv[argc] == NULL);
        printf("one behind the other %d\n", argv[argc - 1] + strlen(argv[argc - 1]) + 1 == envp[0]);
        char *words[] = {argv[0], "-z", NULL};
        getopt(2, words, "a");
        warnx("warned");
        errno = ENOENT;
        warn("warned");
        error(0, EACCES, "mistaken");
        argv[1][0] = 'N'; /* the words are the program's own */
        puts(argv[1]);
        show("proc", "comm");
        show("proc", "cmdline");
    }
    if (!strcmp(mode, "assert")) assert(argc == 17);
    if (!strcmp(mode, "_exit")) _exit(3);
    if (!strcmp(mode, "abort")) abort();
    if (!strcmp(mode, "crash")) *(volatile int *)8 = 1;
    if (!strcmp(mode, "err")) err(4, "bad");
    if (!strcmp(mode, "stderr")) { fputs("a", stderr); write(1, "b", 1); fputs("c", stderr); }
    if (!strcmp(mode, "partial")) { printf("line\npart"); _exit(0); }
    if (!strcmp(mode, "stdin")) { int found = getchar(); printf("%c %ld\n", found, (long)lseek(0, 0, SEEK_CUR)); }
    if (!strcmp(mode, "fork")) {
        int end = 0;
        if (!fork()) exit(9);
        wait(&end);
        printf("child %d\n", WEXITSTATUS(end));
    }
    return 0;
}
"""
)
MODES = ["", "names", "assert", "_exit", "abort", "crash", "err", "stderr", "partial", "stdin", "fork"]
VARIABLES = {
    "PYTHONUNBUFFERED": "1",
    "PYTHONMALLOC": "malloc_debug",
    "PYTHONFAULTHANDLER": "1",
    "PYTHONINSPECT": "1",
    "PYTHONDEVMODE": "1",
    "PYTHONIOENCODING": "ascii:strict",
    "PYTHONUTF8": "1",
    "PYTHONCOERCECLOCALE": "0",
    "PYTHONTRACEMALLOC": "3",
    "PYTHONHASHSEED": "7",
    "PYTHONOPTIMIZE": "2",
    "PYTHONPATH": "/nowhere",
    "PYTHONSAFEPATH": "1",
    "PYTHONWARNINGS": "error",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONSTARTUP": "/nowhere",
}


def built(folder: Path, text: str, *, force: bool = True) -> tuple[Path, Any]:
    source = folder / "asks.c"
    source.write_text(text)
    settings = Settings((str(source),), output=folder / "out", force=force, loop_budget=0.1, method="rcm")
    return folder / "out", optimize_program(settings, Progress(quiet=True))


@pytest.fixture(scope="module")
def asks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output, result = built(tmp_path_factory.mktemp("asks"), ASKS)
    assert result.improved, [region["reason"] for region in result.regions]
    return output


def end(command: list[str], kind: str, folder: Path, changes: dict[str, str]) -> tuple[int, bytes]:
    """Status and all that is written, to a pipe, a file or a terminal, in the order in which it arrives."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | changes
    (folder / "input").write_bytes(b"hello\n" * 100)
    with open(folder / "input", "rb") as given:
        if kind == "file":
            with open(folder / "output", "wb") as out:
                status = subprocess.run(
                    command, stdin=given, stdout=out, stderr=out, env=env, timeout=HUNG, check=False
                )
            return status.returncode, (folder / "output").read_bytes()
        ours, theirs = pty.openpty() if kind == "terminal" else os.pipe()
        with subprocess.Popen(command, stdin=given, stdout=theirs, stderr=theirs, env=env) as process:
            os.close(theirs)
            found = b""
            with contextlib.suppress(OSError):  # how a terminal says that it is over
                while data := os.read(ours, 65536):
                    found += data
            os.close(ours)
        return process.returncode, found


@pytest.mark.parametrize("kind", ["pipe", "file", "terminal"])
@pytest.mark.parametrize("mode", MODES)
def test_streams_and_names(mode: str, kind: str, asks: Path, tmp_path: Path) -> None:
    changes = {"PYTHONUNBUFFERED": "1"}
    native = end([f"{asks}/program", mode], kind, tmp_path, changes)
    assert end([*COMMAND, str(asks), "--", mode], kind, tmp_path, changes) == native
    assert b"program: early" in native[1]


@pytest.mark.parametrize("name", VARIABLES)
def test_what_the_interpreter_is_told(name: str, asks: Path, tmp_path: Path) -> None:
    changes = {name: VARIABLES[name]}
    native = end([f"{asks}/program", "names"], "file", tmp_path, changes)
    assert end([*COMMAND, str(asks), "--", "names"], "file", tmp_path, changes) == native
    assert b"neighbours 1 1 1\none behind the other 1\n" in native[1] and b"errno 0\n" in native[1]


@pytest.mark.parametrize("locale", ["C", "POSIX", "C.UTF-8"])
def test_the_environment_stays_where_it_was(locale: str, asks: Path, tmp_path: Path) -> None:
    changes = {"LC_ALL": "", "LC_CTYPE": "", "LANG": locale}
    native = end([f"{asks}/program", "names", "x", ""], "pipe", tmp_path, changes)
    assert end([*COMMAND, str(asks), "--", "names", "x", ""], "pipe", tmp_path, changes) == native


def test_many_and_long_words(asks: Path, tmp_path: Path) -> None:
    words = ["names", *("w" * (place % 700) for place in range(300))]
    native = end([f"{asks}/program", *words], "pipe", tmp_path, {})
    assert end([*COMMAND, str(asks), "--", *words], "pipe", tmp_path, {}) == native


def test_a_program_that_asks_for_its_file_is_left_alone(tmp_path: Path) -> None:
    text = (
        f"#include <stdio.h>\n#include <unistd.h>\n{ARRAYS}int main(void) {{{LOOP}"
        '    char path[4096] = "";\n    readlink("/proc/self/exe", path, 4095);\n    puts(path);\n}\n'
    )
    output, result = built(tmp_path, text)
    assert not result.improved
    assert "/proc/self/exe" in result.manifest["program"]["reason"]
    status, said = end([*COMMAND, str(output)], "pipe", tmp_path, {})
    assert (status, said.splitlines()[-1]) == (0, os.fsencode(output / "program"))
