"""Comments that say what a part of a kernel is for, by the names that the emitter gives to blocks."""

from __future__ import annotations

import re

_PHASES = (
    (re.compile(r"tc\.pre0$"), "preload: data of this block → shared memory"),
    (re.compile(r"tc\.pre\d+$"), "preload: the next index space"),
    (re.compile(r"tc\.run$"), "run: the jobs of this block, a turn of all threads after the other"),
    (re.compile(r"tc\.job$"), "the job"),
    (re.compile(r"tc\.swap$"), "which job this thread runs"),
    (re.compile(r"tc\.done$"), "what is left in registers"),
    (re.compile(r"tc\.flush$"), "flush: what was changed → global memory"),
    (re.compile(r"tc\.post\d+\.own$"), "data that only this block has"),
    (re.compile(r"tc\.post\d+\.share$"), "data that several blocks have"),
)


def phase(block: str) -> str:
    """What begins with a block; empty for most."""
    return next((text for pattern, text in _PHASES if pattern.match(block)), "")
