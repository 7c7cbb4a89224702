"""`tracecut optimize` on sources and programs that do not behave: a clear message, the right status, nothing left."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from tracecut.tracer.runtime.link import shared_library
from tracecut.tracer.toolchain.clang import Flags, to_ir
from tracecut.tracer.toolchain.passes import emit_object

from ..waiting import longer_and_longer

FORK = r"""
#include <stdio.h>
#include <unistd.h>
#include <sys/wait.h>
int main(void) {
    puts("start"); fflush(stdout);
    if (fork() == 0) { %s _exit(0); }
    wait(NULL);
    return 0;
}
"""

# name: source, options, exit status, what the message has to say
CASES: dict[str, tuple[str, list[str], int, str]] = {
    "does not compile": ("int main(void) { return x; }", [], 1, r"use of undeclared identifier 'x'"),
    "not C at all": ("\x01\x02 no program", [], 1, r"does not compile"),
    "empty": ("", [], 1, r"no main function|defined nowhere: main"),
    "no main": ("int f(void) { return 1; }", [], 1, r"no main function"),
    "no such instruction": (
        'int main(void) { __asm__ volatile("frobnicate %rax"); return 0; }',
        [],
        1,
        r"does not compile[\s\S]*invalid instruction mnemonic 'frobnicate'",
    ),
    "header is missing": ('#include "nowhere.h"\nint main(void) { return 0; }', [], 1, r"'nowhere.h' file not found"),
    "function is missing": ("int g(int); int main(void) { return g(1); }", [], 1, r"defined nowhere: g\b[\s\S]*-l"),
    "library is missing": ("int main(void) { return 0; }", ["-lnosuchthing"], 1, r"-lnosuchthing: no such library"),
    "crashes": ("int main(void) { return *(volatile int *)8; }", [], 1, r"was killed by SIGSEGV"),
    "aborts": ("#include <stdlib.h>\nint main(void) { abort(); }", [], 1, r"was killed by SIGABRT"),
    "overflows its stack": (
        "static int f(volatile char *p, int n) { volatile char b[4096]; b[0] = *p; return f(b, n + 1) + b[1]; }\n"
        "int main(int c, char **v) { volatile char a[1] = {(char)c}; (void)v; return f(a, c); }",
        [],
        1,
        r"was killed by SIGSEGV",
    ),
    "loops for ever": (
        "int main(void) { for (volatile int i = 0;; i++) ; }",
        ["--timeout", "0.5"],
        1,
        r"ran longer than 0\.5 s and was stopped\n.*--timeout",
    ),
    "sleeps for ever and ignores signals": (
        "#include <signal.h>\n#include <unistd.h>\n"
        "int main(void) { for (int i = 1; i < 65; i++) signal(i, SIG_IGN); for (;;) pause(); }",
        ["--timeout", "0.5"],
        1,
        r"ran longer than 0\.5 s",
    ),
    "goes on in the background": (
        FORK % "setsid(); if (fork() == 0) for (;;) sleep(1);",
        [],
        1,
        r"left a process running when it ended",
    ),
    "leaves by _exit": ("#include <unistd.h>\nint main(void) { _exit(0); }", [], 1, r"exit handlers[\s\S]*_exit"),
}


@pytest.mark.parametrize("name", CASES)
def test_is_a_clear_error(name: str, shell: Any) -> None:
    text, options, code, message = CASES[name]
    done = shell("optimize", shell.source(text).name, "-o", "out", *options)
    assert (done.code, done.out) == (code, ""), done
    assert re.search(message, done.err), done.err
    assert done.err.startswith("tracecut: ")
    assert "Traceback" not in done.err and "internal error" not in done.err
    assert not (shell.folder / "out").exists()


# name: source, what is printed. Nothing is wrong with these; there is nothing to gain either.
HARMLESS: dict[str, tuple[str, str]] = {
    "no loop": ('#include <stdio.h>\nint main(void) { puts("hello"); return 0; }', "no loop"),
    "forks and waits": (FORK % 'write(1, "child\\n", 6);', "no loop"),
    "prints megabytes": (
        "#include <stdio.h>\n"
        'int main(void) { for (int i = 0; i < 900000; i++) printf("line %d of many, many, many\\n", i); return 0; }',
        "the loop contains a call to printf",
    ),
    "endless loop left by exit": (
        "#include <stdlib.h>\nint main(void) { for (volatile int i = 0;; i++) if (i == 1000000) exit(0); }",
        "",
    ),
    "closes its standard streams": (
        "#include <unistd.h>\nint main(void) { close(0); close(1); close(2); return 0; }",
        "no loop",
    ),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_is_refused_with_the_reason(name: str, shell: Any) -> None:
    text, reason = HARMLESS[name]
    done = shell("optimize", shell.source(text).name, "-o", "out")
    assert (done.code, done.err) == (0, "")
    said = " ".join(done.out.split())  # lines are wrapped
    assert "nothing to gain" in said and reason in said
    assert shell("run", "out").code == 0
    assert shell("optimize", "program.c", "-o", "out", "--fail-if-no-gain").code == 3


def test_output_without_end_is_stopped(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from tracecut.support.errors import ProgramError
    from tracecut.support.process import workers
    from tracecut.tracer.toolchain.clang import Flags

    monkeypatch.setattr(workers, "OUTPUT_LIMIT", 4 << 20)
    source = shell.source('#include <stdio.h>\nint main(void) { for (;;) puts("and so on and on and on"); }')
    from tracecut.pipeline.stages.compile import compile_program
    from tracecut.pipeline.stages.settings import Settings

    native = compile_program(Settings((str(source),), Flags()), shell.folder).native
    with pytest.raises(ProgramError, match="wrote more than 4 MiB and was stopped"):
        workers.run_native(native, [], stdin=None, folder=shell.folder, timeout=None)
    assert (shell.folder / "native.stdout").stat().st_size <= 4 << 20


def test_reads_its_input_from_a_file(shell: Any) -> None:
    source = shell.source(
        "#include <stdio.h>\n"
        'int main(void) { int x; if (scanf("%d", &x) != 1) return 4; printf("%d\\n", x); return 0; }'
    )
    (shell.folder / "my input").write_text("17\n")
    assert shell("optimize", source.name, "--stdin", "my input", "-o", "out").code == 0
    done = shell("optimize", source.name, "--stdin", "nowhere", "-o", "out")
    assert (done.code, done.err) == (2, "tracecut: --stdin nowhere: no such file\n")


def test_needs_a_library(shell: Any) -> None:
    (shell.folder / "libs").mkdir()
    part = shell.source("int twice(int x) { return 2 * x; }", "part.c")
    ir = to_ir(part, Flags(), shell.folder, canonical=False)
    shared_library([emit_object(ir, optimise=False)], Flags(), shell.folder / "libs" / "libtwice.so")
    source = shell.source(
        '#include <stdio.h>\nint twice(int);\nint main(void) { printf("%d\\n", twice(21)); return 0; }'
    )
    assert "defined nowhere: twice" in shell("optimize", source.name, "-o", "out").err
    assert shell("optimize", source.name, "-o", "out", "-Llibs", "-ltwice").code == 0
    assert shell("run", "out").out == "42\n"


def test_fails_only_when_it_is_traced(shell: Any) -> None:
    """From its second run on the program hangs: the instrumented run is stopped, and nothing is changed."""
    source = shell.source(
        "#include <stdio.h>\n#include <unistd.h>\n"
        'int main(void) { if (access("ran", F_OK)) { fclose(fopen("ran", "w")); return 0; } for (;;) pause(); }'
    )
    for limit in longer_and_longer(0.2):
        (shell.folder / "ran").unlink(missing_ok=True)
        done = shell("optimize", source.name, "-o", "out", "--timeout", f"{limit:g}")
        if done.code == 0:
            break
        assert f"ran longer than {limit:g} s" in done.err  # the first run was stopped, before it was over
    assert f"the instrumented program ran longer than {10 * limit:g} s and was stopped" in " ".join(done.out.split())


def test_a_heap_that_breaks_only_when_it_is_traced(shell: Any) -> None:
    """What was found wrong with memory is said with what finds the place, and nobody claims to know of no gain."""
    source = shell.source(
        "#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
        'int main(void) { if (access("ran", F_OK)) { fclose(fopen("ran", "w")); return 0; }'
        ' void *volatile p = malloc(40); free(p); free(p); puts(p ? "" : "no"); return 0; }'
    )
    done = shell("optimize", source.name, "-o", "out")
    said = " ".join(done.out.split())
    assert done.code == 0 and said.startswith("nothing is changed: the instrumented program was killed by SIGABRT")
    assert "free(): double free" in said and "-fsanitize=address finds the line" in said


def test_a_program_in_the_folder_is_not_mistaken_for_a_module(shell: Any) -> None:
    for name in ("signal.py", "numpy.py", "tracecut.py", "llvmlite.py"):
        (shell.folder / name).write_text("raise SystemExit('wrong module')\n")
    shell.source("int main(void) { return 0; }")
    assert shell("optimize", "program.c", "-o", "out").code == 0


@pytest.mark.parametrize("name", ["no such file.c", "folder.c", "text.txt", "dangling.c"])
def test_is_no_source(name: str, shell: Any) -> None:
    (shell.folder / "folder.c").mkdir()
    (shell.folder / "text.txt").write_text("int main(void) { return 0; }")
    (shell.folder / "dangling.c").symlink_to("nowhere.c")
    done = shell("optimize", name, "-o", "out")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"tracecut: {name}: ")
    assert not (shell.folder / "out").exists()


def ir_of(shell: Any) -> bytes:
    source = shell.source(
        "int main(int c, char **v) { int s = 0; for (int i = 0; i < c; i++) s += v[i][0]; return !s; }"
    )
    return to_ir(source, Flags(("-O1",)), shell.folder, canonical=True).encode()


@pytest.mark.parametrize(
    ("kind", "damage"),
    [
        *((kind, damage) for kind in ("ll", "bc") for damage in ("empty", "noise", "truncated", "flipped")),
        ("bc", "text"),
    ],
)
def test_is_no_usable_ir(kind: str, damage: str, shell: Any) -> None:
    import llvmlite.binding as binding

    text = ir_of(shell)
    module = binding.parse_assembly(text.decode())
    whole = text if kind == "ll" else bytes(module.as_bitcode())
    middle = whole.index(b"define") if kind == "ll" else len(whole) // 2
    data = {
        "empty": b"",
        "noise": bytes(range(256)) * 20,
        "truncated": whole[:middle],
        "flipped": whole[:middle] + bytes(byte ^ 0x15 for byte in whole[middle : middle + 64]) + whole[middle + 64 :],
        "text": text,
    }[damage]
    (shell.folder / f"program.{kind}").write_bytes(data)
    done = shell("optimize", f"program.{kind}", "-o", "out")
    assert (done.code, done.out) == (1, ""), done
    assert done.err.startswith("tracecut: "), done.err
    assert "Traceback" not in done.err and "internal error" not in done.err
    assert re.search(r"program\.(ll|bc)|no main function", done.err)


@pytest.mark.parametrize(
    ("name", "kind"), [("program.ll", "text"), ("program.bc", "bitcode"), ("program.ll", "bitcode")]
)
def test_ir_is_a_source_too(name: str, kind: str, shell: Any) -> None:
    import llvmlite.binding as binding

    text = ir_of(shell).decode()
    path = shell.folder / name
    path.write_bytes(text.encode() if kind == "text" else bytes(binding.parse_assembly(text).as_bitcode()))
    assert shell("optimize", path.name, "-o", "out").code == 0
    assert shell("run", "out").code == 0


def test_names_with_spaces_and_other_letters(shell: Any) -> None:
    text = 'extern int puts(const char *); int main(int c, char **v) { puts(c > 1 ? v[1] : ""); return 0; }'
    source = shell.source(text, "möglich 程序.c")
    done = shell("optimize", source.name, "-o", "mein Ergebnis ✓", "--", "ein Wort ß")
    assert (done.code, done.err) == (0, "")
    assert shell("run", "mein Ergebnis ✓", "--", "ein Wort ß").out == "ein Wort ß\n"


def test_names_that_are_not_utf8(shell: Any) -> None:
    source = Path(os.fsdecode(os.fsencode(shell.folder) + b"/caf\xe9.c"))
    source.write_text("int main(void) { return 0; }")
    output = os.fsdecode(b"out\xff")
    done = shell("optimize", source.name, "-o", output, "--", os.fsdecode(b"\xfe"))
    assert (done.code, done.err) == (0, "")
    assert shell("run", output).code == 0
