"""What a stage does while the compiler works."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from tracecut.support.errors import SourceError
from tracecut.tracer.recorded.command_line import command_line

from tracecut.pipeline.stages import capture, compile
from tracecut.pipeline.stages.settings import Settings

from ....waiting import HUNG

SOURCE = """
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    int *a = calloc(5000, sizeof *a);
    long *x = calloc(5000, sizeof *x), sum = 0;
    for (int i = 0; i < 5000; i++)
        a[i] = i * 7 % 5000;
    for (int t = 0; t < 3; t++)
        for (int i = 0; i < 5000; i++)
            x[a[i]] += i;
    for (int i = 0; i < 5000; i++)
        sum += x[i] * i;
    printf("%ld\\n", sum);
    return 0;
}
"""


def asked(folder: Path, text: str = SOURCE) -> Settings:
    source = folder / "program.c"
    source.write_text(text)
    sources, flags = command_line([str(source)])
    return Settings(tuple(sources), flags, output=folder / "out")


def test_the_canonical_module_is_made_while_machine_code_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once for all that compiles."""
    begun, made = threading.Event(), []
    to_object, canonical = compile.to_object, compile.canonical

    def wait(*known: Any) -> Any:
        assert begun.wait(HUNG)
        return to_object(*known)

    def begin(texts: Any, **known: Any) -> Any:
        begun.set()
        made.append(texts)
        return canonical(texts, **known)

    monkeypatch.setattr(compile, "to_object", wait)
    monkeypatch.setattr(compile, "canonical", begin)
    assert "@main" in compile.compile_program(asked(tmp_path), tmp_path).analysis.own
    assert len(made) == 1


def test_a_program_of_which_no_module_can_be_made_says_what_it_lacks_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*known: Any, **more: Any) -> Any:
        raise SourceError("no module")

    monkeypatch.setattr(compile, "canonical", fail)
    with pytest.raises(SourceError, match="no module"):
        compile.compile_program(asked(tmp_path), tmp_path)
    with pytest.raises(SourceError, match="defined nowhere: missing"):
        text = "int missing(void); int main(void) { return missing(); }"
        compile.compile_program(asked(tmp_path, text), tmp_path)


def test_loops_are_written_down_while_the_instrumented_program_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = asked(tmp_path)
    program = compile.compile_program(settings, tmp_path)
    written = threading.Event()
    compiled, flattened = capture.optimised_object, capture._flattened

    def wait(*known: Any) -> Any:
        assert written.wait(HUNG)
        return compiled(*known)

    def write(*known: Any) -> Any:
        found = flattened(*known)
        written.set()
        return found

    monkeypatch.setattr(capture, "optimised_object", wait)
    monkeypatch.setattr(capture, "_flattened", write)
    folder = tmp_path / "traced"
    folder.mkdir()
    traced = capture.trace_program(settings, program.analysis, program.native, folder)
    assert not isinstance(traced, str) and traced.profile.captures
