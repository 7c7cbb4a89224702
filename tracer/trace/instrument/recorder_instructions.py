"""The instructions that access the write position in memory, and call the recorder.

`SHORT` makes the fastest code. `PLAIN` is for code generation that selects instructions one by one: it supports neither
thread-local variables nor calls that preserve registers, and falls back to the slow selection for the rest of a block
with one. There the address of the position is a value that the function computes once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Spelling:
    """`cursor`: where the write position lies. `flush`: the call that makes room. `entry`: lines that begin a function.

    `declares`: what these need.
    """

    cursor: str
    flush: str
    entry: tuple[str, ...] = ()
    declares: Mapping[str, str] = field(default_factory=dict)


SHORT = Spelling(
    "@tc_cursor",
    "call preserve_mostcc ptr @tce_flush",
    declares={"@tce_flush": "declare preserve_mostcc ptr @tce_flush(ptr) cold nounwind"},
)
# A function that preserves most registers may be called as one that preserves only the callee-saved ones.
PLAIN = Spelling(
    "%tc.cursor",
    "call ptr @tce_flush",
    ("%tc.cursor = call ptr @llvm.threadlocal.address.p0(ptr @tc_cursor)",),
    {
        "@tce_flush": "declare ptr @tce_flush(ptr) cold nounwind",
        "@llvm.threadlocal.address.p0": "declare nonnull ptr @llvm.threadlocal.address.p0(ptr nonnull)",
    },
)
