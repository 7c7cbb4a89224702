"""Library functions that are replaced by a form in the recorder's run-time support."""

from __future__ import annotations

import re

from tracecut.ir.llvm import Module
from tracecut.tracer.trace.events.interposed_calls import Interposed

# Signal handlers record to a stream of their own; a child of vfork would record to its parent's.
_REPLACED = {"signal": "tce_signal", "sigaction": "tce_sigaction", "vfork": "fork"}
# What they write is known when they return: see `library_effects`.
_BEHIND = {name: f"tce_{name}" for name in ("qsort", "qsort_r", "tsearch", "lsearch")}


def with_replacements(module: Module) -> str:
    """The text of the module with these calls replaced. O(length)."""
    declared, own = module.declarations, Interposed.of(module)
    known = _REPLACED if own.allocates else {**_REPLACED, **_BEHIND}
    names = "|".join(name for name in known if f"@{name}" in declared)
    if not names:
        return str(module)
    if "@vfork" in declared and "@fork" in declared:
        module.items = [item for item in module.items if item != declared["@vfork"]]
    pattern = re.compile(rf'"(?:[^"\\]|\\.)*"|@({names})(?![-\w.$])')  # strings stay unchanged
    return pattern.sub(lambda found: f"@{known[found[1]]}" if found[1] else found.group(), str(module))
