"""Steps of the loop around a kernel that make an array anew, and free what they have made it of."""

from __future__ import annotations

from dataclasses import replace

from .draft import Draft
from .model import Array, real, wraps
from .sweeps import data

# Where it is settled how many steps there are: the count is one less each time, or an array has a number for each.
COUNTED = {"count-changes", "grown-list", "swap-summed", "rand"}
# In a function of its own, which is told where the pointer lies; the oracle need not call it.
APART = """void NAME(TYPE **at, int count, int room)
{
    TYPE *next = malloc((size_t)room * sizeof *next);
    if (next == NULL)
        exit(1);
    for (int v = 0; v < room; v++)
        next[v] = (TYPE)VALUE;
    free(*at);
    *at = next;
}"""


def made_anew(d: Draft) -> None:
    """Each step allocates what it computes of an array of the kernel, and frees the array; that is its place now."""
    array = _array(d)
    if array is None:
        return
    d.note("made-anew")
    if not COUNTED & d.features:
        d.sweeps = max(d.sweeps, 3 if d.tangled else d.draw.randint(4, 7))
    d.arrays[array.name] = replace(array, written=True)
    type, length = array.type, array.length
    at = f"m.{array.name}" if array.prefix else array.name
    kept = d.fresh("kept")
    d.opening += [
        f"{type} *{kept} = {at};",
        f"{at} = {d.draw.choice(['malloc', 'allocate'])}({length} * sizeof *{at});",
    ]
    d.opening += [f"if ({at} == NULL)", "    exit(1);", f"memcpy({at}, {kept}, {length} * sizeof *{at});"]
    d.closing += [f"memcpy({kept}, {at}, {length} * sizeof *{at});", f"free({at});", f"{at} = {kept};"]
    room = d.pick({str(length): 65, f"{length} + (sweep % 3 == 1 ? 4 : 0)": 20, f"{length} + 2 * sweep": 15})
    style = d.pick({"plain": 40, "apart": 20, "earlier": 25, "undone": 15})
    if style == "apart":
        text = APART.replace("VALUE", _value(d, array, "(*at)", "v % count")).replace("TYPE", type)
        d.between.append(f"{d.helper('renew', text)}(&{at}, {length}, {room});")
        return
    older = d.fresh("older") if style == "earlier" else ""
    if older:
        d.opening.append(f"{type} *{older} = calloc({length}, sizeof *{older});")
        d.closing.append(f"free({older});")
    d.between += ["{", *_next(d, array, at, room, older)]
    if style == "undone":
        d.between += [f"if (next[0] > {at}[{length - 1}]) {{", "free(next);", "} else {"]
    d.between += [f"free({older or at});", *([f"{older} = {at};"] * bool(older)), f"{at} = next;"]
    d.between += ["}"] * (2 if style == "undone" else 1)


def _array(d: Draft) -> Array | None:
    """One that nothing else points to."""
    parents = {array.parent for array in d.arrays.values()}
    found = [
        a
        for a in data(d)
        if a.storage == "heap" and not (a.record or a.parent or a.rows) and a.name not in d.locked and a.length > 1
    ]
    found = [a for a in found if (real(a.type) or wraps(a.type)) and a.name not in parents]
    return d.draw.choice(found) if found and "swap-buffers" not in d.features else None


def _next(d: Draft, array: Array, at: str, room: str, older: str) -> list[str]:
    """Lines that allocate and fill what a step makes."""
    type, length = array.type, array.length
    cleared, some = d.chance(0.4), array.fill != "near1" and d.chance(0.3)
    number = "" if room == str(length) else f" % {length}"
    value = _value(d, array, at, f"v{number}")
    if older:
        value = f"({value} / 2 + {older}[v{number}] / 4)"
    call = "calloc((size_t)room, sizeof *next)" if cleared else "malloc((size_t)room * sizeof *next)"
    lines = [f"int room = {room};", f"{type} *next = {call};", "if (next == NULL)", "    exit(1);"]
    if cleared:
        step = "v += 3" if some else "v++"
        return [*lines, f"for (int v = 0; v < room; {step})", f"    next[v] += ({type}){value};"]
    return [*lines, "for (int v = 0; v < room; v++)", f"    next[v] = ({type}){value};"]


def _value(d: Draft, array: Array, at: str, v: str) -> str:
    own = f"{at}[{v}]"
    if real(array.type):
        return d.draw.choice([f"(0.5 * {own})", f"(0.75 * {own})", f"(0.5 * {own} + 0.25 * {at}[0])"])
    return d.draw.choice([f"({own} / 2)", f"({own} + 1)", f"({own} / 2 + {at}[0])"])
