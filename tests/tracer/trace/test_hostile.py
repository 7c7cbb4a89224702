"""Programs that do what they can to end badly, or to hurt their tracer: the stream up to there makes sense, always."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from tracecut.support.errors import ProgramError, SourceError
from tracecut.support.process.runner import Limits
from tracecut.tracer.trace.events.event_words import End, Mark

from ...waiting import HUNG
from .recorded import recorded

HEAD = """
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
int cells[8], *volatile gone;
volatile int seven = 7;
pthread_t other;
sigjmp_buf back;
__attribute__((noinline)) void stage(int n) { cells[n] = n; }
__attribute__((noinline)) int deep(int n) { volatile char room[4000]; room[n & 7] = 1; return deep(n + 1) + room[1]; }
void leave(int number) { stage(number & 7); _exit(21); }
void again(int number) { stage(2); *gone = number; }
void jump(int number) { siglongjmp(back, number); }
void *dive(void *p) { stage(3); deep(0); return p; }
void *late(void *p) { usleep(20000); stage(4); exit(22); return p; }
void *fall(void *p) { stage(5); *gone = 1; return p; }
static char *ring(size_t *size) {
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[500], *found = NULL;
  while (fgets(line, sizeof line, maps)) {
    unsigned long low, high;
    if (strstr(line, "tracecut-ring") && sscanf(line, "%lx-%lx", &low, &high) == 2 && high - low > *size) {
      found = (char *)low;
      *size = high - low;
    }
  }
  fclose(maps);
  return found;
}
"""
MAIN = "int main(int argc, char **argv) { stage(1);"

# name → (text, returncode)
CASES = {
    "SIGTERM": ("raise(SIGTERM); return 1; }", -signal.SIGTERM),
    "its whole group": ("kill(0, SIGKILL); return 1; }", -signal.SIGKILL),
    "alarm": ("alarm(1); for (;;) pause(); }", -signal.SIGALRM),
    "double free": ("void *volatile p = malloc(80); free(p); free(p); return 1; }", -signal.SIGABRT),
    "assertion": ("assert(argc > 5); return 1; }", -signal.SIGABRT),
    "quick_exit": ("quick_exit(13); }", 13),
    "handler leaves": ("signal(SIGSEGV, leave); *gone = 1; return 1; }", 21),
    "handler crashes": ("signal(SIGSEGV, again); *gone = 1; return 1; }", -signal.SIGSEGV),
    "thread dives": ("pthread_create(&other, 0, dive, 0); for (;;) pause(); }", -signal.SIGSEGV),
    "thread falls": ("pthread_create(&other, 0, fall, 0); for (;;) pause(); }", -signal.SIGSEGV),
    "thread outlives main": ("pthread_create(&other, 0, late, 0); pthread_exit(NULL); }", 22),
    "a gigabyte of data": ("static char huge[1 << 30]; huge[seven << 20] = 1; return huge[7 << 20]; }", 1),
    "no memory": ("while (malloc(1 << 20)) {} stage(2); return 14; }", 14),
    "no files": ("struct rlimit none = {0, 0}; setrlimit(RLIMIT_NOFILE, &none); stage(2); return 15; }", 15),
    "execs itself": ('if (argc > 1) return 16; execl("/proc/self/exe", argv[0], "again", NULL); return 1; }', 16),
    "removes itself": ("unlink(argv[0]); stage(2); return 17; }", 17),
    "forks inside of forks": (
        "for (int i = 0; i < 3; i++) fork(); stage(2); while (wait(NULL) > 0) {} return 18; }",
        18,
    ),
    "vfork and exec": (
        'int s; if (vfork() == 0) { execl("/bin/true", "true", NULL); _exit(1); } wait(&s); return 19 + s; }',
        19,
    ),
    "runs a shell": ('return system("exit 3") >> 8; }', 3),
    "other stack": (
        "stack_t place = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16}; struct sigaction act = {0}; act.sa_handler ="
        " jump; act.sa_flags = SA_ONSTACK; sigaltstack(&place, NULL); sigaction(SIGSEGV, &act, NULL);"
        " if (sigsetjmp(back, 1) == 0) deep(0); stage(6); return 20; }",
        20,
    ),
    "silent end of main": ("}", 0),
}


@pytest.mark.parametrize("name", CASES)
def test_the_stream_makes_sense_up_to_the_end(tmp_path: Path, name: str) -> None:
    body, code = CASES[name]
    limits = Limits(seconds=HUNG, output_bytes=1 << 20, memory_bytes=1 << 31, processes=64)
    ran = recorded(f"{HEAD}{MAIN}{body}", tmp_path, flags=("-pthread",), opt="seed", limits=limits)
    finished = ran.recorded.finished
    assert finished is not None and finished.returncode == code and not ran.recorded.damaged
    assert ran.main.calls("stage") >= 1
    end = (End.EXIT, code) if code >= 0 else (End.SIGNAL, -code)
    assert all(stream.marks[-1] == (Mark.END, end) for stream in ran.streams.values())


def test_more_static_data_than_code_can_reach(tmp_path: Path) -> None:
    source = "static char huge[4ul << 30]; int main(int n, char **v) { huge[n * 3000000000ul] = 1; return huge[n]; }"
    with pytest.raises(SourceError, match="more static data than the 2 GiB"):
        recorded(source, tmp_path, opt="seed")


@pytest.mark.parametrize("when", ["constructor", "atexit"])
def test_a_crash_around_main(tmp_path: Path, when: str) -> None:
    source = f"{HEAD} void bad(void) {{ stage(1); *gone = 1; }}"
    source += " __attribute__((constructor)) void first(void) { bad(); }" if when == "constructor" else ""
    source += f" int main(void) {{ {'atexit(bad);' if when == 'atexit' else ''} return 0; }}"
    ran = recorded(source, tmp_path, flags=("-pthread",), opt="seed")
    assert ran.recorded.finished is not None and ran.recorded.finished.returncode == -signal.SIGSEGV
    assert ran.main.calls("bad") == 1 and ran.main.calls("main") == (when == "atexit")


def test_a_constructor_that_leaves(tmp_path: Path) -> None:
    source = (
        f"{HEAD} __attribute__((constructor)) void first(void) {{ stage(1); exit(23); }} int main(void) {{ return 1; }}"
    )
    ran = recorded(source, tmp_path, flags=("-pthread",), opt="seed")
    assert ran.recorded.finished is not None and ran.recorded.finished.returncode == 23
    assert ran.main.calls("first") == 1 and ran.main.calls("main") == 0


def test_a_destructor_that_crashes(tmp_path: Path) -> None:
    source = (
        f"{HEAD} __attribute__((destructor)) void last(void) {{ stage(1); *gone = 1; }} int main(void) {{ return 0; }}"
    )
    ran = recorded(source, tmp_path, flags=("-pthread",), opt="seed")
    assert ran.recorded.finished is not None and ran.recorded.finished.returncode == -signal.SIGSEGV
    assert ran.main.calls("last") == 1 and ran.main.calls("main") == 1


@pytest.mark.parametrize(
    "body",
    [
        "memset(place, 255, size > 1 << 22 ? 1 << 22 : size);",
        "memset(place + (1 << 19), 1, 1 << 18);",
        "for (size_t i = 0; i < 1 << 20; i += 4) ((unsigned *)place)[i / 4] = i * 2654435761u;",
        "munmap(place, size);",
    ],
    ids=["ones", "behind the chunk", "noise", "unmapped"],
)
def test_a_program_that_overwrites_its_buffers(tmp_path: Path, body: str) -> None:
    source = f"{HEAD} int main(void) {{ size_t size = 0; char *place = ring(&size); if (!place) return 99; stage(1);"
    source += f" {body} for (int i = 0; i < 300000; i++) stage(i & 7); return 0; }}"
    try:
        ran = recorded(source, tmp_path, flags=("-pthread",), opt="seed", follow=False)
    except ProgramError as error:
        assert "overwritten" in str(error)
        return
    assert ran.recorded.finished is not None and ran.recorded.finished.returncode in (0, -signal.SIGSEGV)


def test_a_program_that_overwrites_the_queues(tmp_path: Path) -> None:
    source = f'{HEAD} int main(void) {{ FILE *maps = fopen("/proc/self/maps", "r"); char line[500]; stage(1);'
    source += " while (fgets(line, sizeof line, maps)) { unsigned long low, high;"
    source += ' if (strstr(line, "tracecut-ring") && sscanf(line, "%lx-%lx", &low, &high) == 2 && high - low < 1 << 20)'
    source += (
        " for (unsigned long at = low + 4096; at < high; at += 4) *(unsigned *)at = (unsigned)(at * 2654435761u); }"
    )
    source += " for (int i = 0; i < 300000; i++) stage(i & 7); return 0; }"
    limits = Limits(seconds=5, output_bytes=1 << 20, memory_bytes=1 << 31, processes=64)
    try:
        recorded(source, tmp_path, flags=("-pthread",), opt="seed", follow=False, limits=limits)
    except ProgramError as error:
        assert "overwritten" in str(error)
