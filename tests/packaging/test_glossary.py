"""The glossary: each term once, from a paper that is listed, defined in a file that exists."""

from __future__ import annotations

import pytest

from tests.packaging.imports import ROOT
from tests.packaging.test_references import PAGE, entries

pytestmark = pytest.mark.quick


def rows(page: str) -> list[list[str]]:
    """The cells of all tables, without their heads."""
    lines = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith("| term |")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_each_term_has_one_meaning_one_paper_and_one_file() -> None:
    found = rows((ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"))
    papers = {"", *entries(PAGE.read_text(encoding="utf-8"))}
    terms = [term for term, *_ in found]
    assert sorted(terms) == sorted(set(terms))
    assert {term: paper for term, _, paper, _ in found if paper not in papers} == {}
    assert {term: file for term, _, _, file in found if not (ROOT / file.strip("`")).is_file()} == {}
    assert all(meaning for _, meaning, _, _ in found)


def test_a_heading_stands_once() -> None:
    for page in sorted((ROOT / "docs").glob("*.md")):
        heads = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
        assert sorted(heads) == sorted(set(heads)), page.name
