"""Kernels of a scope that are right for any indices, in the program's own order.

They are for what the chosen ones were not made for: a neighbour list that is made anew, another numbering. A loop has
one if the numbers that it loads do not decide whether its iterations may run at the same time: each object that it
writes to is summed up into in one way, or every iteration writes to a record of its own, picked by its number, and
reads no other record in the fields that are written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tracecut.codegen.kernels.kernel import Kernel
from tracecut.codegen.kernels.make_region_kernel import Source
from tracecut.codegen.ptx.module import Parameter
from tracecut.codegen.schedule.plan.base_pointer_groups import group_sites
from tracecut.codegen.schedule.plan.order_free_loops import own_record
from tracecut.codegen.schedule.plan.private_data import is_local
from tracecut.codegen.schedule.plan.range_function import NEW, Group, Outlined
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.legality.access_patterns import (
    DIRECT,
    INDIRECT,
    SEGMENT,
    Array,
    Pattern,
    find_arrays,
    find_pattern,
)
from tracecut.tracer.legality.accesses import Access

from .device_loop import DeviceLoop, DeviceScope, Given
from .make_device_scope import MadeScope, ScopeMaker


def make_for_any_indices(
    source: Source, kernel: Kernel, woven: MadeScope, compiled: Callable[..., str]
) -> DeviceScope | None:
    """Kernels of the same loops; None unless the hottest of them can have one. O(accesses).

    woven: the kernels that were chosen, whose slots the program's hooks fill. Others as of `make_device_scope`.
    """
    try:
        return _AnyMaker(source, kernel, woven, compiled).make().scope
    except UnsupportedError:
        return None


class _AnyMaker(ScopeMaker):
    def __init__(self, source: Source, kernel: Kernel, woven: MadeScope, compiled: Callable[..., str]) -> None:
        super().__init__(source, kernel, compiled)
        self.woven = woven

    def chosen(self) -> DeviceLoop:
        return self._any(self.source.region)

    def rescheduled(self, region: int) -> DeviceLoop:
        return self._any(region)

    def order_free(self, loop: int) -> DeviceLoop:
        self.check_order_free(loop)
        return self._any(loop)

    def moved(self) -> set[int | None]:
        """None: all run in the program's order."""
        return set()

    def calls(self, rest: Sequence[Access]) -> set[str]:
        """Those of the chosen kernels. Raises UnsupportedError where the rest may touch more than it did."""
        if any(not access.runs or access.object is None for access in rest):
            raise UnsupportedError("data decide what the rest of the scope touches")
        return set(self.woven.scope.calls)

    def _any(self, loop: int) -> DeviceLoop:
        if loop not in self.woven.outlined:
            raise UnsupportedError("the program has no hook there")
        view = self.source.analysis.view_of(loop)
        groups = [replace(group, view=NEW) for group in group_sites(view, self.nest, view.loops[loop])]
        return self.plain(loop, groups, self.unwritten(loop, groups), self._exclusive(loop, groups))

    def _exclusive(self, loop: int, groups: Sequence[Group]) -> frozenset[int]:
        """Groups where every iteration has a record of its own. Raises UnsupportedError where indices decide."""
        info = self.nest.loops[loop]
        loaded = {str(node.data[0]) for node in info.trip.walk() if node.kind == "load"} if info.trip else set[str]()
        asked = {access.object for name in loaded for access in self.accesses.by_site.get(name, ())}
        changed = {access.object for access in self.accesses.all() if access.site.writes}
        if info.ends_early or asked & changed:  # with other indices, the scope may write to what it is counted by
            raise UnsupportedError("data decide how often it runs")
        touched = [a for a in self.accesses.inside(loop) if not is_local(self.nest, (loop,), a.site)]
        if any(access.object is None for access in touched):
            raise UnsupportedError("what it touches may depend on indices")
        written = {access.object for access in touched if access.site.writes}
        own: set[str] = set()
        for item in written:
            members = [access for access in touched if access.object is item]
            arrays = find_arrays(find_pattern(self.accesses, replace(access, runs=True), ()) for access in members)
            if len(arrays) == 1 and _own_bytes(arrays[0], loop) and not any(self._reaches(a, loop) for a in members):
                own |= {access.site.key for access in members}
            elif not all(a.site.operator for a in members) or len({a.site.update for a in members}) != 1:
                raise UnsupportedError("indices decide which iterations touch the same data")
        shared = {a.site.key for a in touched if a.object in written} - own
        return frozenset(group.id for group in groups if not shared & set(group.sites))

    def _reaches(self, access: Access, loop: int) -> bool:
        """Whether loaded numbers decide how far an access reaches: by its length, or the loops around it in `loop`."""
        if access.site.length is not None:
            return True
        inner: int | None = access.site.loop
        while inner is not None and inner != loop:
            info = self.nest.loops[inner]
            if info.trip is None or info.ends_early or info.trip.has("load", "opaque", "any", "state"):
                return True
            inner = info.parent
        return False

    def slot(self, parameter: Parameter, outlined: Outlined) -> Given | None:
        """Where the hook of the chosen kernel hands the same over."""
        known = self.woven.outlined[_loop_of(outlined)]
        if parameter.kind not in ("base", "data-base"):
            return super().slot(parameter, known)
        root = next(group.root for group in outlined.groups if group.id == parameter.group)
        for place, slot in enumerate(known.slots):
            if slot.kind in ("base", "data-base") and slot.name == root:
                return Given("pointer", place, slot.group)
        raise UnsupportedError("the program's hook does not hand a pointer over")


def _own_bytes(array: Array, loop: int) -> bool:
    """Whether each iteration writes to a record of its own, to fields that it reads of no other record."""
    if not array.stride:
        return False
    fields = {pattern: _fields(array, pattern) for pattern in array.patterns}
    written: set[int] = set()
    for pattern, found in fields.items():
        if pattern.access.site.writes:
            written |= found
    return own_record(replace(array, patterns=[item for item, found in fields.items() if written & found]), loop)


def _fields(array: Array, pattern: Pattern) -> set[int]:
    """Bytes of a record that a pattern may touch, whichever record its index picks; all where they are not known."""
    first, width = (pattern.first - array.origin) % array.stride, pattern.access.width
    known = pattern.kind in (DIRECT, INDIRECT, SEGMENT) and pattern.offsets and abs(pattern.step) == array.stride
    if not known or not width or any(first + offset + width > array.stride for offset in pattern.offsets):
        return set(range(array.stride))
    return {first + offset + byte for offset in pattern.offsets for byte in range(width)}


def _loop_of(outlined: Outlined) -> int:
    """Loop id of a range function."""
    return int(outlined.name.rsplit(".", 1)[1])
