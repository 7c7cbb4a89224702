"""The canonical IR of a small loop and its instrumented form, compared with files under tests/golden/ir."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tracecut.ir.llvm import parse_module
from tracecut.tracer.capture.instrument import hook_values, traced_module
from tracecut.tracer.loops.program import Analysis
from tracecut.tracer.toolchain.clang import Flags, to_ir
from tracecut.tracer.toolchain.passes import canonical, parse

SOURCES = {
    "scatter": """
void *malloc(unsigned long);
double held[8];
void scatter(int n, const int *index, const double *x, double *y)
{
    for (int i = 0; i < n; i++)
        y[index[i]] += 2 * x[i] + held[i & 7];
}
double *make(int n) { return malloc(n * sizeof(double)); }
""",
    "rows": """
void rows(long n, const int *start, const int *column, const double *value, const double *x, double *y)
{
    for (long i = 0; i < n; i++) {
        double s = 0;
        for (int j = start[i]; j < start[i + 1]; j++)
            s += value[j] * x[column[j]];
        y[i] = s;
    }
}
""",
}


def plain(text: str) -> str:
    """IR without what depends on the machine, the paths or the release: comments, metadata, attributes, the target."""
    kept = []
    for line in text.splitlines():
        if re.match(r"\s*;|source_filename|target |attributes #|!|declare ", line) or not line.strip():
            continue
        line = re.sub(r"(?:, ![\w.]+ !\d+|, !annotation !\d+)+$", "", line)
        line = re.sub(r"\s+!dbg !\d+", "", re.sub(r" #\d+", "", line))
        kept.append(re.sub(r"\s*; preds = .*", "", line).rstrip())
    return "\n".join(kept) + "\n"


@pytest.fixture(scope="module", params=SOURCES)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Analysis]:
    folder = tmp_path_factory.mktemp("golden")
    path = folder / f"{request.param}.c"
    path.write_text(SOURCES[request.param])
    text = str(canonical([to_ir(path, Flags(), folder, canonical=True)]))
    return request.param, Analysis(parse_module(text))


def test_canonical_form(made: tuple[str, Analysis], golden: Callable[[str, str], None]) -> None:
    name, analysis = made
    golden(f"ir/{name}.ll", plain(str(analysis.module)))


def test_instrumented_form(made: tuple[str, Analysis], golden: Callable[[str, str], None]) -> None:
    name, analysis = made
    hooked = {record.id: hook_values(analysis, record.id) for record in analysis.records if record.indirect}
    text = traced_module(analysis, hooked)
    parse(text)
    golden(f"ir/{name}.traced.ll", plain(text))


def test_description(made: tuple[str, Analysis], golden: Callable[[str, str], None]) -> None:
    """What is understood of the loops: trip counts and accesses."""
    name, analysis = made
    lines = []
    for record in analysis.records:
        nest = analysis.nest(record.id)
        for number, loop in nest.loops.items():
            lines.append(f"{record.id}: loop {number} at line {loop.place.line}: {loop.trip} {loop.why}".rstrip())
            lines.extend(f"{record.id}:   carried {c.name} {c.kind} {c.operator}".rstrip() for c in loop.carried)
        for site in nest.sites:
            what = f"{site.kind} {site.effect}".strip()
            lines.append(f"{record.id}:   loop {site.loop}: {what} {site.type} at {site.address}")
    golden(f"ir/{name}.txt", "\n".join(lines) + "\n")


def test_the_text_does_not_depend_on_where_it_is_made(tmp_path: Path) -> None:
    """The same source in two folders: the same golden text."""
    texts = []
    for place in ("a", "somewhere else"):
        folder = tmp_path / place
        folder.mkdir()
        (folder / "rows.c").write_text(SOURCES["rows"])
        texts.append(plain(str(canonical([to_ir(folder / "rows.c", Flags(), folder, canonical=True)]))))
    assert texts[0] == texts[1]
