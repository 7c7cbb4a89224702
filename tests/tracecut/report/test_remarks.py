"""Remarks: what is written reads back, in the part of YAML that LLVM's remarks use."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracecut.report import Remark, remarks_yaml
from tracecut.report.remarks import scalar

pytestmark = pytest.mark.quick

ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", '"': '"', "\\": "\\"}
VALUE = r"(?:'(?:[^']|'')*'|\"(?:[^\"\\]|\\.)*\"|[A-Za-z_][A-Za-z0-9_.]*|\d+)"


def unquoted(text: str) -> str:
    """The string that a scalar stands for."""
    if text[0] == "'":
        return text[1:-1].replace("''", "'")
    if text[0] == '"':
        return re.sub(r"\\(x[0-9A-F]{2}|u[0-9A-F]{4}|.)", _unescaped, text[1:-1])
    return text


def _unescaped(found: re.Match[str]) -> str:
    code = found[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else ESCAPES[code]


def parse(stream: str) -> list[dict[str, Any]]:
    """Documents of a stream of remarks; strict."""
    documents: list[dict[str, Any]] = []
    for document in stream.split("\n...\n")[:-1]:
        head, *lines = document.split("\n")
        tag = re.fullmatch(r"--- !(Passed|Missed|Analysis)", head)
        assert tag, head
        found: dict[str, Any] = {"kind": tag[1]}
        for line in lines:
            arg = re.fullmatch(rf"  - ({VALUE}): +({VALUE})", line)
            place = re.fullmatch(rf"DebugLoc: +\{{ File: ({VALUE}), Line: (\d+), Column: (\d+) \}}", line)
            field = re.fullmatch(rf"(\w+): +({VALUE}|\[\])", line)
            if arg:
                found["Args"].append((unquoted(arg[1]), unquoted(arg[2])))
            elif place:
                found["DebugLoc"] = (unquoted(place[1]), int(place[2]), int(place[3]))
            elif line in ("Args:", "Args:            []"):
                found["Args"] = []
            else:
                assert field, line
                found[field[1]] = unquoted(field[2])
        documents.append(found)
    assert stream == "" or stream.endswith("\n...\n")
    return documents


ORDERED = (("Jobs", 3145728), ("String", " jobs reordered by "), ("Order", "rcm"))
ODD = "line\nbreak\ttab\x1b\x00\x85\u2028 \\ \U0001f4a9"
REMARKS = [
    Remark("passed", "Reordered", "collect_fluxes", ORDERED, "mesh_flux.c", 4, 5, 60),
    Remark("missed", "Dependence", "accumulate", (("String", 'it\'s "level"'),), "dir with space/prefix_sum.c", 107),
    Remark("analysis", "Layout", "main", ()),
    Remark("analysis", "yes", "f\u00e9\u202e", (("String", ODD), ("null", "")), "-", 1),
]


def test_golden(golden: Callable[[str, str], None]) -> None:
    golden("report/remarks.yaml", remarks_yaml(REMARKS))


def test_reads_back() -> None:
    found = parse(remarks_yaml(REMARKS))
    assert [item["kind"] for item in found] == ["Passed", "Missed", "Analysis", "Analysis"]
    assert found[0]["DebugLoc"] == ("mesh_flux.c", 4, 5)
    assert found[0]["Args"] == [("Jobs", "3145728"), ("String", " jobs reordered by "), ("Order", "rcm")]
    assert found[0]["Hotness"] == "60"
    assert "DebugLoc" not in found[2] and found[2]["Args"] == []
    assert found[3]["Name"] == "yes"
    assert found[3]["Args"][0][1] == REMARKS[3].message


def test_message() -> None:
    assert REMARKS[0].message == "3145728 jobs reordered by rcm"


def test_unknown_kind() -> None:
    with pytest.raises(ValueError, match="kind = 'done', one of passed, missed, analysis was expected"):
        Remark("done", "N", "f", ())


@given(st.text(), st.text(min_size=1), st.text(), st.integers(1, 10**6))
def test_any_text_reads_back(name: str, file: str, text: str, line: int) -> None:
    stream = remarks_yaml([Remark("missed", name, text, (("String", text), (name or "x", file)), file, line, 2)] * 2)
    found = parse(stream)
    assert len(found) == 2
    assert {key: found[1][key] for key in ("Pass", "Name", "Function", "DebugLoc")} == {
        "Pass": "tracecut",
        "Name": printable(name),
        "Function": printable(text),
        "DebugLoc": (printable(file), line, 2),
    }
    assert found[1]["Args"] == [("String", printable(text)), (printable(name or "x"), printable(file))]
    stream.encode("utf-8")


def printable(text: str) -> str:
    """Halves of surrogate pairs have no form in YAML."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


@pytest.mark.parametrize(
    "word", ["true", "No", "null", "y", "~", "1", "1e3", "-", "", " a", "a ", "a: b", "a #b", "[a]", "&a"]
)
def test_words_that_mean_something_else_are_quoted(word: str) -> None:
    assert scalar(word) == f"'{word}'"
