"""Each citation in the code names a paper of `docs/references.md`, and each paper there is cited."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.imports import FOLDERS, ROOT

pytestmark = pytest.mark.quick

PAGE = ROOT / "docs" / "references.md"
NAME = r"[A-Z][\w-]+"
YEAR = r"(?:19[4-9]\d|20[0-2]\d)"
PAPER = re.compile(rf"((?:von )?{NAME}(?: et al\.| and {NAME})?),? \(?({YEAR}(?:, {YEAR})*)(?!\w)")
SECTION = re.compile(rf"({NAME})(?:'s)? §")


def entries(page: str) -> list[str]:
    """The left column."""
    return [name for name in re.findall(r"^\| ([^|]+) \|", page, re.MULTILINE) if name != "cited as"]


def prose(path: Path) -> Iterator[str]:
    """What a file says in words: strings and comments of Python, all of a C file, whose code holds no years."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield re.sub(r"\s*\n[ /*]*", " ", text)
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.STRING, tokenize.COMMENT):
            yield " ".join(token.string.split())


def cited(text: str) -> set[str]:
    """What a text cites: `Xie et al. 2014`, `Gabow 2000`, `SPAC` where it names a section."""
    papers = {f"{authors} {year}" for authors, years in PAPER.findall(text) for year in years.split(", ")}
    return papers | set(SECTION.findall(text))


def citations(root: Path) -> dict[str, set[str]]:
    """Citation → the files that it stands in."""
    found: dict[str, set[str]] = {}
    for folder in FOLDERS:
        for path in sorted(file for ending in ("*.py", "*.c", "*.h") for file in (root / folder).rglob(ending)):
            for text in prose(path):
                for name in cited(text):
                    found.setdefault(name, set()).add(str(path.relative_to(root)))
    return found


def test_each_citation_has_its_paper_and_each_paper_its_citation() -> None:
    known, found = entries(PAGE.read_text(encoding="utf-8")), citations(ROOT)
    assert len(known) == len(set(known))
    assert {name: sorted(found[name]) for name in found.keys() - set(known)} == {}
    assert set(known) - found.keys() == set()


@pytest.mark.parametrize(
    ("text", "papers"),
    [
        ("Source: Xie et al. 2014, as VertexCut §4.3 states it", {"Xie et al. 2014", "VertexCut"}),
        ("Gottesbüren et al. 2021, 2022; ours", {"Gottesbüren et al. 2021", "Gottesbüren et al. 2022"}),
        ("the curve of von Looz et al. 2018", {"von Looz et al. 2018"}),
        ("George and Liu 1979; Morton 1966.", {"George and Liu 1979", "Morton 1966"}),
        ("Gabow (2000) finds 2,000 of 2048 bytes", {"Gabow 2000"}),
        ("Zhang et al., KDD 2017", {"KDD 2017"}),  # another form: no entry has such a name
        ("SPAC's graph, see SPAC's §3.2", {"SPAC"}),
    ],
)
def test_what_a_text_cites(text: str, papers: set[str]) -> None:
    assert cited(text) == papers
