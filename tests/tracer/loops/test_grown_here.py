"""Lists that grow while a scope runs are in no layout's way, and what makes them larger gives up none for good."""

from __future__ import annotations

from pathlib import Path

import pytest
from tracecut.ir.loops.nest import Nest
from tracecut.tracer.loops.program import Analysis
from tracecut.tracer.toolchain.clang import to_ir
from tracecut.tracer.toolchain.flags import Flags
from tracecut.tracer.toolchain.passes import canonical

STEPS = """#include <stdlib.h>
#include <string.h>
double *seen;
extern void look(const double *);
double run(int steps, int n, const int *at, double *u, double *v) {{
    double *list = {begins};
    int count = 0, room = 0;
    for (int t = 0; t < steps; t++) {{
        for (int i = 0; i < n; i++) v[i] += u[at[i]];
        if (count == room) {{
            room = 2 * room + 1;
            {larger}
            list = more;
            {grown}
        }}
        {each}
        list[count++] = v[t];
    }}
    double last = count ? list[count - 1] : 0;
    free(list);
    return last;
}}
"""
ANEW = """double *more = malloc(room * sizeof *more);
            if (count) memcpy(more, list, count * sizeof *more);
            free(list);"""
AGAIN = "double *more = realloc(list, room * sizeof *more); if (!more) abort();"
APART = {
    "a list": ("NULL", "", ""),
    "with room from the start": ("malloc(64)", "", ""),
    "asked for its last": ("NULL", "", "if (count && list[count - 1] > 3) break;"),
}
REACHED = {
    "it may be one from outside": ("seen", "", ""),
    "others know of it": ("NULL", "seen = list;", ""),
    "others know of its first room": ("seen = malloc(64)", "", ""),
    "it is handed to a function": ("NULL", "", "look(list);"),
    "it becomes an array of the sweeps": ("NULL", "v = list;", ""),
    "a loop walks it": ("NULL", "", "for (int i = 0; i < count; i++) u[i] += list[i];"),
}


def steps(folder: Path, words: tuple[str, str, str], larger: str = ANEW, *, seldom: bool = False) -> Nest:
    """The loop over the steps, without the path that makes more room, by `larger`. `seldom`: nor its last loop."""
    source = folder / "steps.c"
    source.write_text(STEPS.format(**dict(zip(("begins", "grown", "each"), words, strict=True)), larger=larger))
    analysis = Analysis(canonical([to_ir(source, Flags(), folder, canonical=True)], for_regions=True))
    outer = next(record for record in analysis.records if record.depth == 1)
    view, root = analysis.view_of(outer.id), analysis.loop(outer.id)
    heads = [
        name
        for name in view.flow.order
        if name in root.blocks
        and any(item.word in ("@malloc", "@realloc") for item in view.flow.blocks[name].instructions)
    ]
    assert len(heads) == 1
    if seldom:
        ahead = max(root.children, key=lambda loop: view.flow.rank(loop.header)).preheader
        assert ahead is not None and not any(view.flow.dominates(ahead, latch) for latch in root.latches)
        heads.append(ahead)
    return analysis.nest(outer.id, tuple(heads))


@pytest.mark.parametrize("larger", [ANEW, AGAIN], ids=["anew", "realloc"])
@pytest.mark.parametrize("name", APART)
def test_what_a_loop_grows_for_itself(name: str, larger: str, tmp_path: Path) -> None:
    nest = steps(tmp_path, APART[name], larger)
    assert not any(item.final for item in nest.exits)
    written = [site for site in nest.sites if site.writes and site.type == "double" and site.loop == nest.root]
    assert [site.apart for site in written] == [True]


@pytest.mark.parametrize("larger", [ANEW, AGAIN], ids=["anew", "realloc"])
@pytest.mark.parametrize("name", REACHED)
def test_what_others_may_reach(name: str, larger: str, tmp_path: Path) -> None:
    nest = steps(tmp_path, REACHED[name], larger)
    written = [site for site in nest.sites if site.writes and site.type == "double" and site.loop == nest.root]
    assert written and not any(site.apart for site in written)


@pytest.mark.parametrize("seldom", [True, False])
def test_a_loop_may_walk_it_where_no_layout_is_in_force(seldom: bool, tmp_path: Path) -> None:
    words = ("NULL", "", "if (v[0] > 9) for (int i = 0; i < count; i++) u[i] += list[i];")
    nest = steps(tmp_path, words, seldom=seldom)
    assert not any(item.final for item in nest.exits)
    written = [site for site in nest.sites if site.writes and site.type == "double" and site.loop == nest.root]
    assert [site.apart for site in written] == [seldom]


@pytest.mark.parametrize("given", ["seen", "u", "count ? list : v"])
def test_memory_that_realloc_is_given_may_be_what_it_returns(given: str, tmp_path: Path) -> None:
    nest = steps(tmp_path, APART["a list"], f"double *more = realloc({given}, room * sizeof *more);")
    written = [site for site in nest.sites if site.writes and site.type == "double" and site.loop == nest.root]
    assert written and not any(site.apart for site in written)
