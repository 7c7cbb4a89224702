"""Writes the vertices and edges of records that `resolve` has followed, by copies of their `templates`.

Values that no instruction made (constants, addresses of globals) have no edge, and which ones these are hardly changes
from record to record: for each segment the last two forms that its records had are kept as templates of their own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from tracecut.support.arrays import Bytes, Ints
from tracecut.tracer.depgraph.state.number_kernels import inner_kernel, outer_kernel
from tracecut.tracer.depgraph.state.output import Output
from tracecut.tracer.depgraph.state.record_steps import Int

from . import resolve as rs
from . import templates as tp
from .resolve import ALL, Masks, Order
from .simd import LANES, fill, put
from .templates import Templates

FORMS = 2  # of each segment
UPWARDS = np.arange(LANES, dtype=np.int32)


class Forms(NamedTuple):
    """Templates without the edges that a mask leaves out; the arrays of a segment's forms follow each other.

    Attributes:
        masks: uint64 (S · FORMS), ALL: not made yet. older: uint8 (S), the form that was not used last.
        edges, holes, loads: int32 (S · FORMS), numbers of edges, of those with a source and with a cost to fill in.
        source, target, kind: as in `Templates`.
        hole, filled: int32, edges whose source is looked up, and which source that is.
        load, paid: int32, edges of loads, and which cost they have.
    """

    masks: Masks
    older: Bytes
    edges: Ints
    holes: Ints
    loads: Ints
    source: Ints
    target: Ints
    kind: Bytes
    hole: Ints
    filled: Ints
    load: Ints
    paid: Ints


def forms_of(templates: Templates) -> Forms:
    """No forms yet."""
    count, size = templates.simple.size, FORMS * templates.source.size
    edges, holes, loads = (np.zeros(FORMS * count, np.int32) for _ in range(3))
    source, target, hole, filled, load, paid = (np.zeros(size, np.int32) for _ in range(6))
    kind, older = np.zeros(size, np.uint8), np.zeros(count, np.uint8)
    masks = np.full(FORMS * count, ALL, np.uint64)
    return Forms(masks, older, edges, holes, loads, source, target, kind, hole, filled, load, paid)


@outer_kernel
def emit(order: Order, templates: Templates, forms: Forms, firsts: Ints, upwards: Ints, out: Output) -> None:
    """Write all stretches of an order; nothing outside of them is touched.

    Args:
        firsts: of `record_steps.Tables`. upwards: UPWARDS.

    O(vertices + edges).
    """
    src, dst, weight, kind, instruction, time, _, _ = out
    heads, own_time, edge_of = templates.heads, templates.time, templates.edge
    payer, payers = templates.payer, templates.payers
    form_masks, older = forms.masks, forms.older
    form_edges, form_holes, form_loads = forms.edges, forms.holes, forms.loads
    source, target, kinds = forms.source, forms.target, forms.kind
    hole, filled, load, paid = forms.hole, forms.filled, forms.load, forms.paid
    records, masks, sources, costs, stretches = order.records, order.masks, order.sources, order.costs, order.stretches
    eight = np.int64(LANES)
    for number in range(order.counts[rs.N_STRETCHES]):
        stretch = number * rs.STRETCH
        node, edge = stretches[stretch + rs.FIRST_NODE], stretches[stretch + rs.FIRST_EDGE]
        last_node, last_edge = stretches[stretch + rs.END_NODE] - eight, stretches[stretch + rs.END_EDGE] - eight
        from_source, from_cost = stretches[stretch + rs.FIRST_SOURCE], stretches[stretch + rs.FIRST_COST]
        for record in range(stretches[stretch + rs.FIRST_RECORD], stretches[stretch + rs.END_RECORD]):
            segment = np.uint64(records[np.uint64(record)])
            mask = masks[np.uint64(record)]
            head = segment * np.uint64(tp.HEAD)
            first, size = np.int64(firsts[segment]), np.int64(heads[head + np.uint64(tp.SIZE)])
            if node + size <= last_node:  # what is written too much is written again
                for place in range(0, size, eight):
                    put(instruction, node + place, upwards, 0, first + place)
                    put(time, node + place, own_time, first + place, 0)
            else:
                for place in range(size):
                    instruction[node + place] = first + place
                    time[node + place] = own_time[first + place]
            form = segment * np.uint64(FORMS) + np.uint64(1 - older[segment])
            if form_masks[form] != mask and mask != ALL:
                form = segment * np.uint64(FORMS) + np.uint64(older[segment])
                if form_masks[form] != mask:
                    _make(templates, forms, segment, form, mask)
                older[segment] = np.uint8(1 - older[segment])
            edges = np.int64(form_edges[form])
            if mask != ALL and edge + edges <= last_edge:
                begin = FORMS * np.int64(edge_of[segment])
                if form & np.uint64(1):
                    begin += np.int64(edge_of[segment + np.uint64(1)]) - np.int64(edge_of[segment])
                for place in range(0, edges, eight):
                    put(src, edge + place, source, begin + place, node)
                    put(dst, edge + place, target, begin + place, node)
                    fill(weight, edge + place, 1)
                    put(kind, edge + place, kinds, begin + place, 0)
                for which in range(begin, begin + form_holes[form]):
                    here = np.uint64(edge + hole[np.uint64(which)])
                    src[here] = sources[np.uint64(from_source + filled[np.uint64(which)])]
                for which in range(begin, begin + form_loads[form]):
                    here = np.uint64(edge + load[np.uint64(which)])
                    weight[here] = costs[np.uint64(from_cost + paid[np.uint64(which)])]
                edge += edges
            else:
                edge = _one_by_one(order, templates, segment, node, edge, from_source, from_cost, out)
            first_payer = np.int64(payers[segment])
            paying = np.int64(heads[head + np.uint64(tp.COSTS)])
            for which in range(paying):
                here = np.uint64(node + payer[np.uint64(first_payer + which)])
                time[here] += costs[np.uint64(from_cost + which)]
            node += size
            from_source += heads[head + np.uint64(tp.HOLES)]
            from_cost += paying


@inner_kernel
def _make(templates: Templates, forms: Forms, segment: Int, form: Int, mask: Int) -> None:
    """Leave out of a segment's template the edges of the sources that a mask names."""
    first, end = np.int64(templates.edge[segment]), np.int64(templates.edge[segment + np.uint64(1)])
    begin = FORMS * first + np.int64(form & np.uint64(1)) * (end - first)
    edges, holes, loads = np.int64(0), np.int64(0), np.int64(0)
    for place in range(first, end):
        looked = templates.looked[place]
        if looked >= 0 and mask >> (np.uint64(looked) & np.uint64(63)) & np.uint64(1):  # more than FEW: the mask is 0
            continue
        forms.source[begin + edges] = templates.source[place]
        forms.target[begin + edges] = templates.target[place]
        forms.kind[begin + edges] = templates.kind[place]
        if looked >= 0:
            forms.hole[begin + holes] = edges
            forms.filled[begin + holes] = looked
            holes += 1
        if templates.paid[place] >= 0:
            forms.load[begin + loads] = edges
            forms.paid[begin + loads] = templates.paid[place]
            loads += 1
        edges += 1
    forms.masks[form], forms.edges[form], forms.holes[form], forms.loads[form] = mask, edges, holes, loads


@inner_kernel
def _one_by_one(
    order: Order,
    templates: Templates,
    segment: Int,
    node: Int,
    edge: Int,
    from_source: Int,
    from_cost: Int,
    out: Output,
) -> Int:
    """The edges of a record of which some may be missing, or have several sources; where the next one goes."""
    for place in range(templates.edge[segment], templates.edge[segment + np.uint64(1)]):
        target = node + templates.target[place]
        weight: Int = np.int64(1)
        if templates.paid[place] >= 0:
            weight = np.int64(order.costs[from_cost + templates.paid[place]])
        source = node + templates.source[place]
        if templates.looked[place] >= 0:
            source = np.int64(order.sources[from_source + templates.looked[place]])
        at, end = np.int64(0), np.int64(1)
        if source < -1:
            at, end = -1 - source, -1 - source + order.several[-2 - source]
        elif source < 0:
            end = np.int64(0)
        for other in range(at, end):
            out.src[edge] = order.several[other] if source < -1 else source
            out.dst[edge] = target
            out.weight[edge] = weight
            out.kind[edge] = templates.kind[place]
            edge += 1
    return edge
