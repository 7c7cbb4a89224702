"""What library functions do to memory, group by group: the byte ranges of a run, beside what the manual says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tracecut.ir.llvm import Instruction
from tracecut.tracer.trace.events.event_words import READ, WRITE, Kind
from tracecut.tracer.trace.events.library_effects import EXTERNALS, external_of
from tracecut.tracer.trace.events.printf_scanf import stores_in

from ..recorded import HEAD, Ran, recorded

MORE = """
#define _GNU_SOURCE
#include <complex.h>
#include <ctype.h>
#include <math.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
"""
LETTERS = {READ: "r", WRITE: "w", READ | WRITE: "x"}

# group: (body of main, what it prints, the ranges of each function: r, w, x with their bytes)
GROUPS: dict[str, tuple[str, str, dict[str, list[str]]]] = {
    "what is read from a file": (
        r"""
        int a = 0, rest = 0; double b = 0; char word[16], line[32], letters[8]; char *text = NULL; size_t room = 0;
        FILE *file = tmpfile();
        fputs("12 3.5 word\nsecond line\n7 xyz\nend", file);
        rewind(file);
        int got = fscanf(file, "%d %lf %15s", &a, &b, word);
        long first = getline(&text, &room, file), second = getline(&text, &room, file);
        got += fscanf(file, "%*d %3c%d", letters, &rest);
        char *found = fgets(line, sizeof line, file);
        char *none = fgets(line, sizeof line, file);
        printf("%d %d %g %s %ld %ld %s %s %.3s %d\n", got, a, b, word, first, second, found, none ? none : "-",
               letters, rest);
        free(text);
        fclose(file);
        """,
        "4 12 3.5 word 1 12 end - xyz 0\n",
        {
            "fputs": ["r34"],
            "fscanf": ["r12", "w4", "w8", "w5", "r10", "w3", "w0"],
            "getline": ["x8", "x8", "w2", "x8", "x8", "w13"],
            "fgets": ["w4", "w0"],
            "printf": ["r35", "r5", "r4", "r2", "r3"],
        },
    ),
    "what is read from a string": (
        r"""
        int a = 0, b = 0; short s = 0; long l = 0; float f = 0; char word[9] = "", set[9] = "", one = 0;
        const char *text = seven > 5 ? "5 -3 77 1e2 a[b]c" : "";
        int got = sscanf(text, "%d%hd %ld %f %c[%8[a-z]]%8s", &a, &s, &l, &f, &one, set, word);
        got = 10 * got + sscanf(text + 1, "%x %% %d", &a, &b) + sscanf(text + 17, "%d", &b);
        double real = strtod(text + 8, NULL); char *end;
        long whole = strtol(text, &end, 10) + atoi(text + 2) + (long)strtoul(text + 5, &end, 16);
        printf("%d %d %d %ld %g %c %s %s %g %ld\n", got, a, s, l, f, one, set, word, real, whole);
        """,
        "70 -3 -3 77 100 a b c 100 121\n",
        {
            "sscanf": "r28 w4 w2 w8 w4 w1 w2 w2 r18 r9 w4 w0 r17 r3 w0 r1".split(),
            "strtod": ["r10", "w0"],
            "strtol": ["r18", "w8"],
            "strtoul": ["r13", "w8"],
        },
    ),
    "words of a string": (
        r"""
        char text[] = "one, two;three four", *save, *rest = text + 15;
        char *a = strtok(text, ", "), *b = strtok(NULL, ";"), *c = strtok_r(NULL, " ", (save = text + 9, &save));
        char *d = strsep(&rest, " "), *e = strsep(&rest, " ");
        printf("%s %s %s %s %s\n", a, b, c, d, e ? e : "-");
        """,
        "one  two three four -\n",
        {
            "strtok": ["x20", "r3", "x4", "x0", "r2", "x5"],
            "strtok_r": ["x0", "r2", "x8", "x6"],
            "strsep": ["x8", "r2", "x5", "x8", "r2", "x0"],
        },
    ),
    "searching and sorting": (
        r"""
        char text[] = "a needle in hay"; short keys[4] = {4, 1, 3, 2}, key = 3;
        char *a = memchr(text, 'n', 10), *b = strchr(text, 'i'), *c = strstr(text, "hay");
        char *d = memmem(text, 8, "dl", 2);
        qsort(keys, 4, 2, by_size);
        short *e = bsearch(&key, keys, 4, 2, by_size);
        printf("%ld %ld %ld %ld %ld %zu\n", a - text, b - text, c - text, d - text, e - keys, strcspn(text, " "));
        """,
        "2 9 12 5 2 1\n",
        {
            "memchr": ["r10"],
            "strchr": ["r16"],
            "strstr": ["r16", "r4"],
            "memmem": ["r8", "r2"],
            "qsort": ["x8"],
            "strcspn": ["r16", "r2"],
        },
    ),
    "strings that are made": (
        r"""
        char *a = strdup(seven > 5 ? "seven" : ""), *b = strndup(a, 3), *c = strndup(a, (size_t)seven + 3);
        char *d = NULL, e[20];
        int n = asprintf(&d, "%s-%d", a, seven);
        strcpy(e, b);
        strncat(e, c, 2);
        stpcpy(e + 5, "!");
        printf("%s %s %s %s %d %s\n", a, b, c, d, n, e);
        free(a); free(b); free(c); free(d);
        """,
        "seven sev seven seven-7 7 sevse!\n",
        {
            "strdup": ["r6", "w6"],
            "strndup": ["r3", "w4", "r6", "w6"],
            "asprintf": ["r6", "r6", "w8", "w8"],
            "strcpy": ["r4", "w4"],
            "strncat": ["r4", "r2", "w6"],
        },
    ),
    "time": (
        r"""
        time_t now = 86400 * (time_t)seven, then; struct tm broken, *shared; char text[40];
        struct timespec at, left = {0, 1};
        time(&then); time(NULL); clock_gettime(CLOCK_MONOTONIC, &at);
        gmtime_r(&now, &broken);
        shared = gmtime(&now);
        size_t n = strftime(text, sizeof text, "%Y-%m-%d", &broken), none = strftime(text, 2, "%Y", &broken);
        struct timeval wall; gettimeofday(&wall, NULL); nanosleep(&left, NULL);
        printf("%zu %zu %d %d %d\n", n, none, shared->tm_mday, then > 0 && at.tv_sec >= 0, timegm(&broken) == now);
        """,
        "10 0 8 1 1\n",
        {
            "time": ["w8", "w0"],
            "clock_gettime": ["w16"],
            "gmtime_r": ["r8", "w56"],
            "gmtime": ["r8", "w56"],
            "strftime": ["r9", "r56", "w11", "r3", "r56", "w1"],
            "gettimeofday": ["w16"],
            "nanosleep": ["r16", "w0"],
            "timegm": ["x56"],
        },
    ),
    "numbers": (
        r"""
        double whole; int power; unsigned state = 5; double sine, cosine; long double wide = sqrtl(2.25L * seven / 7);
        double part = modf(seven + 0.25, &whole), mantissa = frexp(seven + 1.0, &power);
        sincos(seven - 7.0, &sine, &cosine);
        double complex z = cexp(0 * I) * (seven + 2 * I) / (1 + seven * I);
        int drawn = rand_r(&state) >= 0, kind = isupper(seven + 60) && !isdigit('x' + seven);
        div_t d = div(seven, 2);
        printf("%g %g %g %d %g %g %.2Lf %.3f %d %d %d\n", part, whole, mantissa, power, sine, cosine, wide, cabs(z),
               drawn, !!kind, d.quot);
        """,
        "0.25 7 0.5 4 0 1 1.50 1.030 1 1 3\n",
        {"frexp": ["w4"], "sincos": ["w8", "w8"], "rand_r": ["x4"]},
    ),
    "files and folders": (
        r"""
        struct stat about; char place[4096]; int ends[2]; char two[2];
        int there = stat("/", &about), gone = stat("/no/such/file", &about);
        char *where = getcwd(place, sizeof place);
        if (pipe(ends)) return 1;
        long put = write(ends[1], "abc", 3), got = read(ends[0], two, 2);
        printf("%d %d %d %ld %ld %d\n", there, gone, where && where[0] == '/', put, got, access("/", F_OK));
        """,
        "0 -1 1 3 2 0\n",
        {"stat": ["r2", "w144", "r14", "w144"], "pipe": ["w8"], "write": ["r3"], "read": ["w2"], "access": ["r2"]},
    ),
}


def ranges(ran: Ran) -> dict[str, list[str]]:
    """Function → its ranges in the order of the items; an empty one counts, too."""
    found: dict[str, list[str]] = {}
    for access in ran.main.accesses:
        call = ran.static.instructions[access.instruction]
        if call.op == "call" and call.word.startswith("@") and access.kind is Kind.RANGE:
            found.setdefault(re.sub("^__isoc[0-9]*_", "", call.word[1:]), []).append(
                f"{LETTERS[access.access]}{access.values[-1]}"
            )
    return found


@pytest.mark.parametrize("group", GROUPS)
def test_ranges_of_library_functions(tmp_path: Path, group: str) -> None:
    body, said, expected = GROUPS[group]
    source = f"{MORE}{HEAD}static int by_size(const void *a, const void *b) {{ return *(short *)a - *(short *)b; }}\n"
    source += f"int main(void) {{ (void)by_size; {body} return 0; }}"
    ran = recorded(source, tmp_path, opt="seed", flags=("-lm",))
    assert ran.stdout == said
    assert not ran.static.unknown
    found = ranges(ran)
    assert {name: found.get(name) for name in expected} == expected


def call(text: str) -> Instruction:
    return Instruction(text)


def test_scanf_formats() -> None:
    def stores(format: str, count: int = 3) -> list[tuple[int, tuple[str, ...]]] | None:
        pointers = "".join(f", ptr %p{place}" for place in range(count))
        return stores_in(call(f"%r = call i32 (ptr, ptr, ...) @sscanf(ptr %s, ptr @f{pointers})"), 1, {"@f": format})

    assert stores("%d %5s %*d%lf") == [(2, ("4", "gt0")), (3, ("str", "gt1")), (4, ("8", "gt2"))]
    assert stores("%[]a-z] %Lf %hhu%%") == [(2, ("str", "gt0")), (3, ("16", "gt1")), (4, ("1", "gt2"))]
    assert stores("%4c|%p") == [(2, ("4", "gt0")), (3, ("8", "gt1"))]
    assert stores("nothing at all") == []
    for unknown in ("%n", "%ms", "%ls", "%1$d", "%k", "%d %", "%hf"):
        assert stores(unknown) is None, unknown
    assert stores("%d%d%d%d") is None  # more than there are arguments


def test_functions_of_another_type_are_not_known() -> None:
    """A program may have functions of these names that do something else."""
    assert external_of(call("%r = call i64 @getline(ptr %a, ptr %b, ptr %f)")) is EXTERNALS["getline"]
    assert external_of(call("%r = call i64 @getlines(ptr %a)")) is None


def test_every_row_says_something_that_can_be_followed() -> None:
    assert len(EXTERNALS) > 350
    for name, known in EXTERNALS.items():
        assert not (known.callback or known.leaves) or not any(part.late for part in known.parts), name
        assert known.format is None or known.scan is None, name
