"""The program's own line of a loop that lies in a library's header: where it calls what runs there.

`std::sort` is not inlined as a whole: its loops are functions of their own, of which no line is the program's.
"""

from __future__ import annotations

from tracecut.ir.llvm.debug_info import SYSTEM, Place
from tracecut.tracer.loops.program import Analysis


def called_from(analysis: Analysis, loop: int) -> Place | None:
    """The nearest call of the function that a loop lies in from a line of the program, by way of library functions.

    None for a loop that has a line of the program's own, and for one that nothing calls by name. O(instructions).
    """
    if not SYSTEM.search(analysis.nest(loop).loops[loop].place.own.file):
        return None
    callers: dict[str, list[tuple[str, Place]]] = {}
    for name, function in analysis.module.functions.items():
        for _, item in function.instructions():
            if item.op in ("call", "invoke") and item.word in analysis.own:
                place = analysis.lines.place(item.meta.get("dbg"))
                if place is not None:
                    callers.setdefault(item.word, []).append((name, place.own))
    ahead = [analysis.view_of(loop).function.name]
    for name in ahead:
        own = [place for _, place in callers.get(name, ()) if not SYSTEM.search(place.file)]
        if own:
            return min(own, key=lambda place: (place.file, place.line))
        ahead += [caller for caller, _ in callers.get(name, ()) if caller not in ahead]
    return None
