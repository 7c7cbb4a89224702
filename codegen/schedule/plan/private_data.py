"""Private data of iterations: local arrays, and inner loops whose trip counts depend on the outer counter."""

from __future__ import annotations

from collections.abc import Sequence

from tracecut.ir.llvm.def_use import FunctionView
from tracecut.ir.loops.expressions import Expr, Pool, pointer_roots
from tracecut.ir.loops.nest import Nest, Site
from tracecut.support.errors import UnsupportedError


def is_local(nest: Nest, regions: Sequence[int], site: Site) -> bool:
    """Whether a site touches a local array that is born and dies in an iteration, which no two jobs share."""
    birth = site.private
    return birth is not None and not any(region != birth and region in nest.inside(birth) for region in regions)


def private_arrays(view: FunctionView, nest: Nest, region: int) -> dict[str, str]:
    """Stack arrays that every iteration of a region has for itself: name → what makes it, an `alloca` or a part of one.

    They are born in the body, in front of everything that touches them, so nothing lives on from one iteration to
    the next. Raises UnsupportedError for one whose size is not fixed.
    """
    inside = nest.inside(region)
    found: dict[str, str] = {}
    for site in nest.sites_in(region):
        if site.private not in inside:
            continue
        for root in pointer_roots(site.address):
            found |= _made_of(view, str(root.data[0]))
    return found


def _made_of(view: FunctionView, pointer: str) -> dict[str, str]:
    """The stack array that a pointer leads to, and the part of it that the program points to from outside of a loop."""
    found: dict[str, str] = {}
    parts = [pointer]
    while (made := view.definitions[parts[-1]].instruction).op == "getelementptr":
        parts.append(made.operands[0].text)
    for name in reversed(parts):
        made = view.definitions[name].instruction
        if any(operand.text.startswith("%") and operand.text not in parts for operand in made.operands):
            raise UnsupportedError(f"the stack array {name} of every iteration has no fixed size")
        if made.op == "alloca" and made.operands:
            raise UnsupportedError(f"the stack array {name} of every iteration has no fixed size")
        found[name] = made.text.split("=", 1)[1].strip()
    return found


def follows_counter(nest: Nest, inner: int, outer: int) -> bool:
    """Whether the trip count of loop `inner` may depend on the counter of loop `outer`, loaded values aside.

    `for (j = 4 * i; j < 4 * i + 4; j++)` runs four times for every i; `for (j = 0; j < i; j++)` does not.
    """
    trip = nest.loops[inner].trip
    if trip is None:
        return True
    start, step, bound = trip.args
    if _slope(nest.pool, step, outer) is not nest.pool.const(0):
        return True
    first, last = (_slope(nest.pool, part, outer) for part in (start, bound))
    return first is None or first is not last


def _slope(pool: Pool, expr: Expr, loop: int) -> Expr | None:
    """What an expression grows by from one iteration of a loop to the next, None when that is not constant."""
    zero = pool.const(0)
    if expr.kind == "counter":
        return pool.const(1) if expr.data[0] == loop else zero
    if expr.kind == "load" or not expr.args:
        return zero
    if expr.kind == "left":
        return None
    parts = [_slope(pool, part, loop) for part in expr.args]
    if all(part is zero for part in parts):
        return zero
    if expr.kind == "cast" and expr.data[0] in ("sext", "zext"):
        return parts[0] if parts[0] is not None and parts[0].kind == "const" else None
    if expr.kind != "op" or None in parts:
        return None
    opcode, type = str(expr.data[0]), str(expr.data[1])
    a, b = parts
    assert a is not None and b is not None
    if opcode in ("add", "sub"):
        return _fold(pool, opcode, type, a, b)
    if opcode == "mul" and zero in (a, b):
        return _fold(pool, "mul", type, a, expr.args[1]) if b is zero else _fold(pool, "mul", type, expr.args[0], b)
    if opcode == "shl" and b is zero:
        return _fold(pool, "shl", type, a, expr.args[1])
    return None


def _fold(pool: Pool, opcode: str, type: str, a: Expr, b: Expr) -> Expr:
    if a.kind == b.kind == "const":
        x, y = int(a.data[0]), int(b.data[0])
        return pool.const({"add": x + y, "sub": x - y, "mul": x * y, "shl": x << min(max(y, 0), 64)}[opcode])
    return pool.op(opcode, type, a, b)
