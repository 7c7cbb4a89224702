"""What the launcher does without Python is what Python does."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tracecut.tracer.recorded import templates
from tracecut.tracer.recorded.elf_sections import section, with_section
from tracecut.tracer.recorded.read_program import read_program
from tracecut.tracer.recorded.records import SECTION, LinkLine, Unit, decode
from tracecut.tracer.recorded.wrapper import compile_recorded

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="the system has no compiler for tracecut-cc to call")
FOLDER = Path(templates.__file__).parent
HALF = '#include "half.h"\n#include <math.h>\ndouble half(double x) { return FACTOR * fabs(x) + sizeof(NAME); }\n'
HALF_CXX = '#include <vector>\n#include "half.h"\ndouble half(double x) { return std::vector<int>(3).size() * x; }\n'
HEADER = "#pragma once\n#ifdef __cplusplus\n#include <cstddef>\n#endif\ndouble half(double);\n"
MAIN = '#include "half.h"\nint main() { return half(4) == 6; }\n'
NONE = "#!/bin/sh\nexit 99\n"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(kept))
    Path("include").mkdir()
    Path("include/half.h").write_text(HEADER)
    for name, text in {"half.c": HALF, "half.cpp": HALF_CXX, "main.c": MAIN, "main.cpp": MAIN}.items():
        Path(name).write_text(text)
    return tmp_path


@pytest.fixture
def without_python(commands: Path) -> Iterator[None]:
    """Python does nothing from here on."""
    script = commands / "tracecut"
    before = script.read_text()
    yield
    script.write_text(before)


def call(commands: Path, name: str, line: str) -> subprocess.CompletedProcess[str]:
    words = [word.replace("_", " ") for word in line.split()]
    return subprocess.run([commands / f"tracecut-{name}", *words], capture_output=True, text=True, check=False)


def records(path: str) -> list[Unit | LinkLine]:
    return decode(section(Path(path).read_bytes(), SECTION))


LINES = [  # (command, line, what it makes)
    ("cc", "-O2 -DFACTOR=0.5 -DNAME=int -Iinclude -c half.c", "half.o"),
    ("cc", '-DFACTOR=1 -DNAME="a\\b" -I include -c half.c -o made/x.o -MD -MF made/x.d -MT made/x.o', "made/x.o"),
    ("cc", "-DFACTOR=1 -DNAME=char_* -Iinclude -g -std=gnu11 -Wall -o made/y.o -c made/../half.c", "made/y.o"),
    ("c++", "-O1 -Iinclude -c half.cpp -o half++.o", "half++.o"),
    ("c++", "-Iinclude -O2 -c half.c -DFACTOR=1 -DNAME=int -o h.o", "h.o"),
    ("c++", "-Iinclude half.cpp -shared -fPIC -o libhalf.so", "libhalf.so"),
    ("cc", "-Iinclude -O2 -c main.c", "main.o"),
    ("cc", "main.o half.o -lm -o prog", "prog"),
    ("cc", "main.o half.o -lm", "a.out"),
    ("cc", "-Iinclude -O2 main.c half.o -lm -o prog", "prog"),
]


def test_records_are_those_of_python(project: Path, commands: Path, without_python: None) -> None:
    Path("made").mkdir()
    expected = {}
    for name, line, made in LINES:
        words = [word.replace("_", " ") for word in line.split()]
        assert compile_recorded(words, cxx=name == "c++") == 0
        expected[line] = records(made)
        assert call(commands, name, line).returncode == 0
    (commands / "tracecut").write_text(NONE)
    for name, line, made in LINES:
        os.unlink(made)
        done = call(commands, name, line)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), line
        assert records(made) == expected[line] != [], line
    assert Path("made/x.d").read_text().startswith("made/x.o:")
    assert subprocess.run(["./prog"], check=False).returncode == 1
    assert {unit.source for unit in read_program(Path("prog")).units} == {"main.c", "half.c"}


def test_other_names_and_macros_have_the_same_template(project: Path, commands: Path, without_python: None) -> None:
    """And text of any bytes, with line ends of any kind, comes back as it was."""
    assert call(commands, "cc", "-O2 -DFACTOR=0.5 -DNAME=int -Iinclude -c half.c").returncode == 0
    (commands / "tracecut").write_text(NONE)
    Path('sub "a"').mkdir()
    text = b'#include "near.h"\r\nconst char *name = "caf\xe9";\r\n'
    Path('sub "a"/other.c').write_bytes(text)
    Path('sub "a"/near.h').write_text("double factor = FACTOR;\n")
    os.chdir('sub "a"')
    words = ["-O2", "-DFACTOR=0.25", '-DNAME="x"', "-I..", "-c", "other.c"]
    done = subprocess.run([commands / "tracecut-cc", *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    (unit,) = records("other.o")
    os.unlink("other.o")
    assert isinstance(unit, Unit) and compile_recorded(words, cxx=False) == 0 and records("other.o") == [unit]
    assert unit.words == (*words[:4], "-c") and "factor = 0.25" in unit.text and "\udce9" in unit.text
    assert f'"{project}/sub \\"a\\"/near.h"' in unit.text.replace("./near", "near")


def test_what_the_compiler_says_stays(project: Path, commands: Path, without_python: None) -> None:
    line = "-Wall -Iinclude -c main.c"
    assert call(commands, "cc", line).returncode == 0
    Path("main.c").write_text("int main(void) { int unused; return x; }\n")
    os.unlink("main.o")
    (commands / "tracecut").write_text(NONE)
    plain = subprocess.run(["cc", *line.split()], capture_output=True, text=True, check=False)
    done = call(commands, "cc", line)
    assert (done.returncode, done.stderr) == (plain.returncode, plain.stderr) and not Path("main.o").exists()


def test_what_the_preprocessor_refuses_is_compiled_once(project: Path, commands: Path) -> None:
    line = "-Wall -Iinclude -c half.c -DFACTOR=2 -DNAME=int"
    assert call(commands, "cc", line).returncode == 0
    Path("half.c").write_text("#if __clang__\n#error gcc only\n#endif\nint main(void) { int unused; return 0; }\n")
    done = call(commands, "cc", line)
    assert done.returncode == 0 and done.stderr.count("unused variable") == 1
    (unit,) = records("half.o")
    assert isinstance(unit, Unit) and not unit.text and "gcc only" in unit.why


def test_an_outdated_template_is_made_anew(project: Path, commands: Path, kept: Path, without_python: None) -> None:
    line = "-Iinclude -O3 -c main.c"
    assert call(commands, "cc", line).returncode == 0
    key, _ = templates.form_of(line.split(), cxx=False) or ("", [])
    (file,) = kept.rglob(f"{templates.fnv1a(key.encode()):016x}")
    data = file.read_bytes()
    fields = data.split(b"\0")
    fields[fields.index(str(FOLDER / "launcher.c").encode()) + 1] = b"1 2"
    script = (commands / "tracecut").read_text()
    others = (data.replace(b"template 1", b"template 0"), b"", data.replace(b"cc\x1f", b"cd\x1f"))
    for bad in (b"\0".join(fields), data[:-9], *others):
        file.write_bytes(bad)
        (commands / "tracecut").write_text(NONE)
        assert call(commands, "cc", line).returncode in ((99, 0) if bad == data[:-9] else (99,))
        (commands / "tracecut").write_text(script)
        assert call(commands, "cc", line).returncode == 0 and isinstance(records("main.o")[0], Unit)
        assert bad == data[:-9] or file.read_bytes() == data


def test_lines_that_make_nothing_become_the_compiler(project: Path, commands: Path, without_python: None) -> None:
    lines = ["--version", "-E -Iinclude main.c", "-Iinclude -S -o - main.c", "-Iinclude -MM main.c"]
    assert [call(commands, "cc", line).returncode for line in lines] == [0] * 4
    (commands / "tracecut").write_text(NONE)
    for line in lines:
        plain = subprocess.run(["cc", *line.split()], capture_output=True, text=True, check=False)
        assert call(commands, "cc", line).stdout == plain.stdout != ""


def test_the_compiler_is_the_one_that_was_named(
    project: Path, commands: Path, monkeypatch: pytest.MonkeyPatch, without_python: None
) -> None:
    line = "-Iinclude -O1 -c main.c"
    assert call(commands, "cc", line).returncode == 0
    script = (commands / "tracecut").read_text()
    (commands / "tracecut").write_text(NONE)
    Path("mine").write_text('#!/bin/sh\n[ "$1" = -kill ] && kill -TERM $$\nexit $#\n')
    Path("mine").chmod(0o755)
    monkeypatch.setenv("TRACECUT_REAL_CC", f"{project}/mine -first")
    assert call(commands, "cc", line).returncode == 5
    monkeypatch.setenv("TRACECUT_REAL_CC", "./mine -kill")
    assert call(commands, "cc", line).returncode == -signal.SIGTERM
    monkeypatch.setenv("TRACECUT_REAL_CC", "")
    Path("cc").symlink_to(commands / "tracecut-cc")
    monkeypatch.setenv("PATH", f"{project}:{os.environ['PATH']}")
    assert call(commands, "cc", line).returncode == 0
    assert subprocess.run(["cc", *line.split()], check=False).returncode == 0
    monkeypatch.setenv("TRACECUT_REAL_CC", "nowhere-to-be-found")
    assert call(commands, "cc", line).returncode == 99
    (commands / "tracecut").write_text(script)
    done = call(commands, "cc", line)
    assert done.returncode == 127 and "nowhere-to-be-found" in done.stderr


WORDS = st.lists(
    st.sampled_from(
        "-c|-o|-MF|-MT|-MQ|-Dx|-D|-I|-I/a b|-Uy=|a.c|b/c.cpp|.c|d.c/|x..C|-||é|y.o|-lm|-x|@f|..c|.a.cc|\t|a.ii|-odd.c|"
        "-E|e.f/g|a.c.|~.cc".split("|")
    ),
    max_size=7,
)


@settings(max_examples=300, deadline=None)
@given(words=WORDS)
@example(words=["-Dx"] * 255)
@example(words=["-Dx"] * 256)
def test_both_see_the_same_form(launcher: Path, words: list[str]) -> None:
    done = subprocess.run([launcher, "form", "cc", *words], capture_output=True, text=True, check=False)
    found = templates.form_of(words, cxx=False)
    assert (done.stdout.removesuffix("\n") if done.returncode == 0 else None) == (found and found[0])


@pytest.fixture(scope="module")
def launcher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("launcher") / "launcher"
    macros = ['-DFOLDER="/none"', '-DHERE="/none"']
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", *macros, FOLDER / "launcher.c", "-o", made], check=True)
    return made


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The compressor and the writer of sections, as a library."""
    folder = tmp_path_factory.mktemp("parts")
    heads = "".join(f"#include <{name}>\n" for name in ("stdint.h", "stdlib.h", "string.h"))
    heads += "".join(f'#include "{FOLDER / name}"\n' for name in ("deflate.h", "elf_sections.h"))
    (folder / "parts.c").write_text(
        heads + "void *pack(void *data, size_t size, size_t *made) { return deflated(data, size, made); }\n"
        "void *put_in(void *data, size_t *size, void *more, size_t length)"
        '{ return with_section(data, size, ".kept", more, length); }\n'
    )
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", folder / "parts.c", "-o", folder / "parts.so"], check=True)
    library = ctypes.CDLL(str(folder / "parts.so"))
    library.pack.restype = library.put_in.restype = ctypes.c_void_p
    return library


TEXTS = st.binary(max_size=600) | st.builds(
    lambda pieces, picks: b"".join(pieces[pick % len(pieces)] for pick in picks),
    st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=5),
    st.lists(st.integers(0, 4), max_size=200),
)


@settings(max_examples=300, deadline=None)
@given(text=TEXTS)
@example(text=b"a" * 300_000)
@example(text=bytes(range(256)) * 300)
@example(text=b"".join(number.to_bytes(3, "big") for number in range(0, 1 << 24, 101)))
def test_what_is_compressed_comes_back(parts: ctypes.CDLL, text: bytes) -> None:
    size = ctypes.c_size_t()
    made = parts.pack(text, ctypes.c_size_t(len(text)), ctypes.byref(size))
    assert zlib.decompress(ctypes.string_at(made, size.value)) == text


def test_sections_are_those_of_python(parts: ctypes.CDLL, project: Path) -> None:
    subprocess.run(["cc", "-c", "-Iinclude", "main.c"], check=True)
    data = Path("main.o").read_bytes()
    for bad in (data, data + b"x", data[:-1], data[:70], data[:40] + b"\xff" * 8 + data[48:], b"\x7fELF\2\1"):
        size = ctypes.c_size_t(len(bad))
        made = parts.put_in(bad, ctypes.byref(size), b"abc", ctypes.c_size_t(3))
        try:
            expected = with_section(bad, ".kept", b"abc")
        except ValueError:
            assert made is None
        else:
            assert ctypes.string_at(made, size.value) == expected
