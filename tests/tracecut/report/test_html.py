"""The HTML report: golden files, and that no text of a user ever becomes markup."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracecut.report import Excerpt, Line, Place, RegionReport, ReportData, render_report
from tracecut.report.data import Candidate, Kernel, MachineLine
from tracecut.report.markup import VOID, clip, visible
from tracecut.report.remarks import Remark

pytestmark = pytest.mark.quick

SHOWN = "optimized_mesh refused_stencil refused_prefix_sum all_null hostile zero_regions".split()
TAGS = frozenset(
    """html head meta title style body header main footer section details summary div p h1 h2 h3 h4 span strong b i bdi
    code pre mark a dl dt dd ul li table thead tbody tr th td figure figcaption svg g rect line text""".split()
)
ATTRIBUTES = frozenset(
    """class id href scope open tabindex dir role aria-label aria-hidden lang charset http-equiv content name viewbox
    width height x y x1 y1 x2 y2 text-anchor""".split()
)
CLOSED_BY_BLOCK = frozenset("p h1 h2 h3 h4 span strong b i bdi code a".split())
BLOCKS = frozenset("div p h1 h2 h3 h4 dl ul table figure pre section details".split())


class Checker(HTMLParser):
    """Reads a page strictly: known tags and attributes only, properly nested, no resource from anywhere."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.texts: list[str] = []
        self.style: list[str] = []
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.opened = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        names = [name for name, _ in attrs]
        assert set(names) <= ATTRIBUTES and len(set(names)) == len(names), (tag, attrs)
        found = dict(attrs)
        if "id" in found:
            assert found["id"] not in self.ids
            self.ids.add(str(found["id"]))
        if "href" in found:
            assert re.fullmatch(r"#region-\d+", str(found["href"]))
            self.links.add(str(found["href"])[1:])
        assert tag != "svg" or "role" in found or "aria-hidden" in found
        assert not (tag in BLOCKS and self.open[-1] in CLOSED_BY_BLOCK), (self.open, tag)
        self.opened += tag == "details" and "open" in found
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        (self.style if self.open and self.open[-1] == "style" else self.texts).append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"a processing instruction: {data}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data}")

    def handle_decl(self, decl: str) -> None:
        assert decl == "DOCTYPE html"


def read(page: str) -> Checker:
    """The page, checked."""
    checker = Checker()
    checker.feed(page)
    checker.close()
    assert not checker.open
    assert checker.links <= checker.ids
    page.encode("utf-8")
    return checker


@pytest.mark.parametrize("name", SHOWN)
def test_golden(name: str, case: Callable[[str], ReportData], golden: Callable[[str, str], None]) -> None:
    page = render_report(case(name))
    golden(f"report/{name}.html", re.sub(r"(?s)<style>.*</style>", "<style>…</style>", page))


@pytest.mark.parametrize("name", [*SHOWN, "forty_regions"])
def test_pages_are_strict(name: str, case: Callable[[str], ReportData]) -> None:
    page = render_report(case(name))
    checker = read(page)
    style = "".join(checker.style)
    assert "url(" not in style and "@import" not in style and "//" not in style
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert f'http-equiv="Content-Security-Policy" content="{policy}' in page
    assert "http://" not in page and "https://" not in page
    assert not re.search(r"/home|somebody|\bnan\b|\binf\b|None", re.sub(r"(?s)<pre.*?</pre>", "", page))


def test_many_regions_are_folded(case: Callable[[str], ReportData]) -> None:
    data = case("forty_regions")
    checker = read(render_report(data))
    assert checker.links == checker.ids == {f"region-{number}" for number in range(1, 41)}
    assert checker.opened == len(data.optimized) == 5


def test_both_lines_of_a_dependence_are_marked(case: Callable[[str], ReportData]) -> None:
    page = render_report(case("refused_prefix_sum"))
    marked = re.findall(r'<mark class="here">.*?</mark>', page)
    assert len(marked) == 2
    assert "level[i - 1]" in marked[0] and "second access" in marked[0]
    assert "level[i] =" in marked[1] and "first access" in marked[1]


def test_orders_are_told_with_what_they_cost(case: Callable[[str], ReportData]) -> None:
    text = "".join(read(render_report(case("optimized_mesh"))).texts)
    for words in (
        "chosen",
        "not tried: the budget of 20 s was spent",
        "not emitted: the assembler knows no such target",
    ):
        assert text.count(words) == 1
    assert "2.1e-13; allowed: 1e-12 (double), 1e-07 (output)" in text
    assert "tracecut run OUT -- data/bay.off --scale 5 --steps 60" in text


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=60), min_size=12, max_size=12), st.text("<>&\"'-/!?a ", max_size=40), st.data())
def test_no_text_becomes_markup(texts: list[str], sharp: str, data: st.DataObject) -> None:
    texts = [data.draw(st.sampled_from([text, text + sharp])) for text in texts]
    report = _report_of(texts)
    checker = read(render_report(report))
    found = "".join(checker.texts)
    for text in texts:
        assert clip(visible(text), 200) in found


def _report_of(texts: list[str]) -> ReportData:
    version, source, function, reason, method, note, target, line, machine, kept, remark, digest = texts
    place = Place("a.c", 1)
    region: dict[str, Any] = {
        "method": method,
        "candidates": (Candidate(method, region_ms=1.0, note=note), Candidate("other", note=note)),
        "kernels": (Kernel(target, path=target, variant=note), Kernel(target, note=note)),
        "kept": (kept,),
        "scope": place,
        "excerpts": (Excerpt(source, (Line(1, line), Line(2, line, "first access"), Line(9, line, "loop"))),),
    }
    return ReportData(
        version,
        sources=(source,),
        arguments=(source, note),
        command=(source,),
        input_hash=digest,
        machine=MachineLine(machine, 1, ((machine, 1.0),), 1.0),
        timings=((note, 1.0),),
        regions=(
            RegionReport(note, function, Place(source, 1), "parallel", "optimized", reason, **region),
            RegionReport(note, function, Place(source, 1), "parallel", "refused", reason),
        ),
        remarks=(Remark("missed", note, function, (("String", remark),), source, 3),),
    )
