"""The command line as a user starts it, results to run, and the proof that nothing is left behind."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tracecut.support.progress import Progress

from tracecut.pipeline.stages.settings import Settings
from tracecut.pipeline.supervise import optimize_program

from ..waiting import HUNG
from .forked import COMMAND, forked
from .gathering import ARRAYS, LOOP

# A loop that can be rescheduled, and after it whatever the first argument asks for.
PROBE = (
    r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xmmintrin.h>
"""
    + ARRAYS
    + r"""int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "", *word = argc > 2 ? argv[2] : "";
"""
    + LOOP
    + r"""    if (!strcmp(mode, "exit")) return atoi(word);
    if (!strcmp(mode, "raise")) { fflush(stdout); raise(atoi(word)); }
    if (!strcmp(mode, "crash")) { fflush(stdout); *(volatile int *)8 = 1; }
    if (!strcmp(mode, "cat")) for (int c; (c = getchar()) != EOF;) putchar(c);
    if (!strcmp(mode, "complain")) fprintf(stderr, "complaint about %s\n", word);
    if (!strcmp(mode, "write")) { FILE *file = fopen(word, "w"); fputs("written\n", file); fclose(file); }
    if (!strcmp(mode, "words")) for (int i = 0; i < argc; i++) printf("%d %s\n", i, i ? argv[i] : "");
    if (!strcmp(mode, "wait")) { puts("ready"); fflush(stdout); for (;;) pause(); }
    if (!strcmp(mode, "pipe")) { for (int i = 0; i < 100000; i++) if (puts("a line") < 0 || fflush(stdout)) return 5; }
    if (!strcmp(mode, "child")) {
        int end = 0;
        fflush(stdout);
        if (!fork()) _exit(9);
        wait(&end);
        return WEXITSTATUS(end);
    }
    if (!strcmp(mode, "surroundings")) {
        char folder[4096];
        printf("folder %s locale %s\n", getcwd(folder, sizeof folder), setlocale(LC_ALL, NULL));
        printf("descriptor %d\n", open("/dev/null", O_RDONLY));
        for (int i = 1; i < 65; i++) {
            struct sigaction action;
            if (sigaction(i, NULL, &action) == 0 && action.sa_handler != SIG_DFL) printf("signal %d\n", i);
        }
        cpu_set_t cpus;
        stack_t stack;
        sigset_t blocked;
        struct rlimit limit;
        sched_getaffinity(0, sizeof cpus, &cpus);
        sigaltstack(NULL, &stack);
        sigprocmask(SIG_SETMASK, NULL, &blocked);
        printf("cpus %d alternative stack %d umask %o\n", CPU_COUNT(&cpus), stack.ss_flags, umask(0));
        printf("rounding %d sse %x nice %d\n", fegetround(), _mm_getcsr() & 0xffc0, getpriority(PRIO_PROCESS, 0));
        printf("leader %d of group %d parent %d\n", getsid(0) == getpid(), getpgrp() == getpid(), getppid());
        for (int i = 1; i < 65; i++) if (sigismember(&blocked, i)) printf("blocked %d\n", i);
        for (int i = 0; i < RLIMIT_NLIMITS; i++)
            if (!getrlimit(i, &limit)) printf("limit %d %lx %lx\n", i, limit.rlim_cur, limit.rlim_max);
        for (char **entry = environ; *entry; entry++) puts(*entry);
    }
    return 0;
}
"""
)


PROGRESS = re.compile(r"^tracecut: \d+ s: .*\n", re.MULTILINE)


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


def _done(code: int, out: str, err: str) -> Done:
    return Done(code, out, PROGRESS.sub("", err))  # how long the machine took is nobody's business


@dataclass
class Shell:
    """Starts commands in a folder of their own, with a temporary folder and a mark of their own."""

    folder: Path
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        self.temporary.mkdir(exist_ok=True)

    @property
    def temporary(self) -> Path:
        return self.folder / "tmp"

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "TMPDIR": str(self.temporary), "TRACECUT_TEST_MARK": self.mark}

    def start(self, *words: str | Path, **options: object) -> subprocess.Popen[bytes]:
        """Start tracecut."""
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen([*COMMAND, *words], cwd=self.folder, env=self.environment, **{**pipes, **options})  # type: ignore[call-overload]

    def __call__(self, *words: str | Path) -> Done:
        """Run tracecut to its end: what hosts a program in a process of its own, the others in a forked child."""
        if words[:1] == ("run",):
            return self.alone(*words)
        code, out, err = forked(self.folder, self.environment, [str(word) for word in words])
        return _done(code, out, err)

    def alone(self, *words: str | Path) -> Done:
        """The same in a process that has imported nothing yet."""
        process = self.start(*words)
        out, err = process.communicate(timeout=HUNG)
        return _done(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))

    def source(self, text: str, name: str = "program.c") -> Path:
        """Write a program."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def processes(self) -> list[str]:
        """Command lines of the processes that carry the mark."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if self.mark.encode() in (entry / "environ").read_bytes():
                        found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
                except OSError:
                    continue
        return [line for line in found if line]  # a zombie has none


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """A shell; when the test is over, nothing that it started may be left, no process and no temporary folder."""
    shell = Shell(tmp_path)
    yield shell
    assert shell.processes() == []
    assert list(shell.temporary.iterdir()) == []


def contents(folder: Path) -> Mapping[str, bytes]:
    """Every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(name="contents")
def contents_fixture() -> Callable[[Path], Mapping[str, bytes]]:
    return contents


def build(folder: Path, *, force: bool, argv: Sequence[str] = (), gpu: str | None = None) -> Path:
    """The result of optimizing PROBE; `force` reschedules its loop although that gains nothing at this size."""
    source = folder / "probe.c"
    source.write_text(PROBE, encoding="utf-8")
    settings = Settings(
        (str(source),), argv=tuple(argv), output=folder / "out", force=force, loop_budget=0.1, method="rcm", gpu=gpu
    )
    result = optimize_program(settings, Progress(quiet=True))
    assert result.improved is force, [region["reason"] for region in result.regions]
    return folder / "out"


@pytest.fixture(scope="session")
def optimized_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("optimized"), force=True)


@pytest.fixture(scope="session")
def refused_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("refused"), force=False)


@pytest.fixture(scope="session")
def kernels_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("kernels"), force=False, gpu="h200")


@pytest.fixture
def kernels(kernels_once: Path, tmp_path: Path) -> Path:
    """A result with kernels for the program's place, in which nothing pays on the CPU; to be spoilt."""
    return Path(shutil.copytree(kernels_once, tmp_path / "kernels"))


@pytest.fixture
def optimized(optimized_once: Path, tmp_path: Path) -> Path:
    """A result with a rescheduled loop, to be spoilt."""
    return Path(shutil.copytree(optimized_once, tmp_path / "optimized"))


@pytest.fixture
def refused(refused_once: Path, tmp_path: Path) -> Path:
    """A result in which nothing was changed, to be spoilt."""
    return Path(shutil.copytree(refused_once, tmp_path / "refused"))
