"""The terminal's summary: golden files, and that it always fits and never acts on the terminal."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from tracecut.report import Place, RegionReport, ReportData, print_summary, render_summary
from tracecut.report.markup import UNSEEN
from tracecut.report.terminal_text import fit, fit_words, harmless, quote

CASES = "optimized_mesh refused_stencil refused_prefix_sum all_null hostile zero_regions forty_regions".split()
EXACT = ("output  ", "report  ", "run it  ")


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("name", CASES)
def test_golden(name: str, case: Callable[[str], ReportData], golden: Callable[[str, str], None]) -> None:
    golden(f"report/{name}.txt", render_summary(case(name), 80))


@pytest.mark.parametrize("width", [20, 40, 60, 80, 132])
@pytest.mark.parametrize("name", CASES)
def test_fits_one_screen(name: str, width: int, case: Callable[[str], ReportData]) -> None:
    text = render_summary(case(name), width)
    lines = text.splitlines()
    assert len(lines) <= 24
    assert all(len(line) <= max(width, 40) for line in lines if not line.startswith(EXACT))
    assert text.isascii()
    assert not UNSEEN.search(text)


def test_first_line_is_the_answer(case: Callable[[str], ReportData]) -> None:
    first = {name: render_summary(case(name), 80).splitlines()[0] for name in CASES}
    assert first["optimized_mesh"] == "mesh_flux.c: 11.1 s -> 1.9 s (5.9x), output equal"
    assert first["refused_prefix_sum"].startswith(
        "nothing to gain: prefix_sum.c:4 (61 % of the work): iterations 1 and 2"
    )
    assert first["zero_regions"].startswith("nothing to gain: no loop")
    assert first["all_null"] == "program: 1 of 2 loops in a new order, program not timed, output not compared"


def test_a_long_reason_is_told_to_its_end(case: Callable[[str], ReportData]) -> None:
    data = case("refused_prefix_sum")
    why = " ".join(f"reason {number} of the loop at sample.c:{number}," for number in range(8)) + " and no other"
    regions = tuple(replace(region, reason=why) for region in data.regions)
    told = render_summary(replace(data, regions=regions), 80).split("\n\n")[0]
    assert " ".join(told.split()).endswith(why)


def test_a_reason_is_told_where_there_is_no_loop() -> None:
    data = ReportData.from_manifest({"program": {"reason": "the trace has no loop"}})
    assert render_summary(data, 80) == "nothing to gain: the trace has no loop\n"


def test_a_narrow_terminal_gets_lines_instead_of_a_table(case: Callable[[str], ReportData]) -> None:
    text = render_summary(case("optimized_mesh"), 44)
    assert "mesh_flux.c:4: reduction, optimized\n  182.4 -> 31.0 / 16.2 ms (1 / 2 threads)" in text
    assert "pays off" not in text.splitlines()[2]


def test_names_keep_their_characters_where_they_can_be_shown(case: Callable[[str], ReportData]) -> None:
    data = replace(case("zero_regions"), folder="d\u00e9j\u00e0 vu", report="", run=())
    assert "output  'd\u00e9j\u00e0 vu'\n" in render_summary(data, 80, ascii_only=False)
    assert "output  $'d\\xc3\\xa9j\\xc3\\xa0 vu'\n" in render_summary(data, 80)


def test_colour_only_where_it_is_wanted(case: Callable[[str], ReportData], monkeypatch: pytest.MonkeyPatch) -> None:
    data = case("optimized_mesh")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    plain = render_summary(data, 80)
    assert "\x1b" not in plain
    piped, terminal = io.StringIO(), Terminal()
    print_summary(data, piped)
    print_summary(data, terminal)
    assert piped.getvalue() == plain
    assert "\x1b[1;32m" in terminal.getvalue()
    for variable, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        with monkeypatch.context() as patch:
            patch.setenv(variable, value)
            quiet = Terminal()
            print_summary(data, quiet)
            assert "\x1b" not in quiet.getvalue()


def test_prints_to_standard_output(case: Callable[[str], ReportData], capsys: pytest.CaptureFixture[str]) -> None:
    print_summary(case("optimized_mesh"))
    assert capsys.readouterr().out.startswith("mesh_flux.c: 11.1 s")


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300), st.booleans(), st.integers(20, 120), st.integers(0, 5))
def test_no_text_acts_on_the_terminal(text: str, ascii_only: bool, width: int, regions: int) -> None:
    region = RegionReport(
        text, text, Place(text, 3), "ordered", "refused", text, evidence=(Place(text, 1),), method=text
    )
    changed = replace(region, decision="optimized", original_ms=1e9, one_thread_ms=1.0, all_threads_ms=0.5)
    data = ReportData(
        "1", sources=(text,), regions=(changed, *[region] * regions), folder=text, report=text, run=(text,)
    )
    shown = render_summary(data, width, ascii_only=ascii_only)
    assert not UNSEEN.search(shown.replace("\n", ""))
    assert len(shown.split("\n")) <= 25
    assert all(cell_len(line) <= max(width, 40) for line in shown.split("\n") if not line.startswith(EXACT))


@given(st.text(max_size=40), st.integers(4, 30))
def test_fit_keeps_both_ends(text: str, cells: int) -> None:
    shown = fit(text, cells)
    assert cell_len(shown) <= cells
    if cell_len(text) <= cells:
        assert shown == text


@given(text=st.text("ab é中.", max_size=60), cells=st.integers(12, 40))
def test_whole_words_are_left_out(text: str, cells: int) -> None:
    found = fit_words(text, cells)
    assert cell_len(found) <= max(cells, cell_len(text) if found == text else 0)
    if found not in (text, fit(text, cells)):
        front, back = found.split(" .. ")
        assert text.startswith(f"{front} ") and text.endswith(f" {back}")


def test_a_reason_is_cut_between_its_words() -> None:
    reason = (
        "the data go to the new layout and back in every step of the loop around it, which takes longer than it gains"
    )
    assert fit_words(reason, 60) == "the data go to the new .. which takes longer than it gains"


@given(st.text(max_size=40))
def test_harmless_text_is_one_line(text: str) -> None:
    assert len(harmless(text, False).splitlines()) <= 1
    assert harmless(text, True).isascii()


@pytest.mark.parametrize("ascii_only", [False, True])
def test_quoted_words_reach_the_program(ascii_only: bool) -> None:
    words = [
        "a b",
        "it's",
        "\x1b[2J",
        "d\u00e9j\u00e0",
        "x\ny",
        "\\'\"$`",
        "\u202e",
        "byte\udcff",
        "\U0001f4a9 -",
        "",
        "\t",
    ]
    command = "printf '%s\\0' " + " ".join(quote(word, ascii_only) for word in words)
    assert not UNSEEN.search(command) and "\n" not in command
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=True)
    assert done.stdout == b"".join(word.encode("utf-8", "surrogateescape") + b"\0" for word in words)
