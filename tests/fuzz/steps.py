"""What happens in each step of the loop around a kernel: what it grows, sums up, tells and asks for."""

from __future__ import annotations

from collections.abc import Callable

from .draft import Draft
from .model import Array, real, wraps
from .sweeps import data, exchanged

ROOM = """if ({it}.count == {it}.room) {{
{it}.room = {it}.room ? 2 * {it}.room : {first};
{make}
}}"""
AGAIN = "{t} *more = realloc({it}.at, (size_t){it}.room * sizeof *more);"
ANEW = """{t} *more = malloc((size_t){it}.room * sizeof *more);
if (more != NULL && {it}.count > 0)
    memcpy(more, {it}.at, (size_t){it}.count * sizeof *more);
free({it}.at);"""
COPIED = """{t} *more = malloc((size_t){it}.room * sizeof *more);
for (int r_ = 0; more != NULL && r_ < {it}.count; r_++)
    more[r_] = {it}.at[r_];
free({it}.at);"""
END = """if (more == NULL)
    exit(1);
{it}.at = more;"""


def grown_list(d: Draft) -> None:
    """Each step puts a number at the end of a list, which is made larger where it is full. It may be asked for more."""
    d.note("grown-list")
    if "count-changes" not in d.features:  # that is one less each time
        d.sweeps = max(d.sweeps, 5 if d.tangled else d.draw.randint(6, 9))
    array = _numbers(d)
    type, it = array.type, d.fresh("list")
    told = _shown(d, "told", type, d.sweeps)
    d.opening.append(f"struct {{ {type} *at; int count, room; }} {it} = {{NULL, 0, 0}};")
    if d.chance(0.25):  # it begins with a little room, or with all that it will need
        d.opening.append(f"{it}.at = allocate(({it}.room = {d.draw.choice([2, 64])}) * sizeof *{it}.at);")
    value = array.outside(str(d.draw.randrange(array.length)))
    if d.chance(0.5):
        value = _sum(d, array)
    make = "\n".join([d.pick({AGAIN: 50, ANEW: 35, COPIED: 15}), END]).format(t=type, it=it)
    d.between += ROOM.format(it=it, first=d.draw.choice([2, 4, 4]), make=make).splitlines()
    d.between.append(f"{it}.at[{it}.count++] = {value};")
    style = d.pick({"": 60, "last": 20, "all": 20})
    if style == "last":
        first = array.outside("0")
        margin = " + 0.01" if real(type) else ""  # sums of the same numbers in another order are not less
        less = f"{it}.at[{it}.count - 2] > {it}.at[{it}.count - 1]{margin}"
        d.between += [f"if ({it}.count > 1 && {less})", f"    {first} = 1;"]
    elif style == "all":
        one = array.outside(f"r_ % {array.length}")
        half = f"{one} / 2 + {it}.at[r_] / 4" if real(type) else f"{one} / 2 + {it}.at[r_]"
        d.between += [f"for (int r_ = 0; r_ < {it}.count; r_++)", f"    {one} = ({type})({half});"]
    d.closing += [f"for (int r_ = 0; r_ < {it}.count; r_++)", f"    {told.name}[r_] = {it}.at[r_];", f"free({it}.at);"]


def summed_ends(d: Draft) -> None:
    """Two arrays change places, and one of them is summed up from its begin to its end, which changes places too."""
    pair = exchanged(d) if "swap-buffers" not in d.features else None  # whose ends would be those of other arrays
    if pair is None:
        return
    d.note("swap-summed", "swap-buffers")
    type, ends = pair[0].type, [d.fresh("end"), d.fresh("end")]
    sums = _shown(d, "sums", type, d.sweeps)
    for array, end in zip(pair, ends, strict=True):
        d.opening.append(f"{type} *{end} = {array.name} + {array.length};")
        d.closing.append(f"(void){end};")
    which = d.draw.randrange(2)
    s, name, end = d.fresh("sum"), pair[which].name, ends[which]
    walk = [f"{type} {s} = 0;", f"for (const {type} *p = {name}; p != {end}; p++)", f"    {s} = ({type})({s} + *p);"]
    walk.append(f"{sums.name}[sweep] = {s};")
    turn = ["{", f"{type} *other = {pair[0].name};", f"{pair[0].name} = {pair[1].name};", f"{pair[1].name} = other;"]
    turn += [f"other = {ends[0]};", f"{ends[0]} = {ends[1]};", f"{ends[1]} = other;", "}"]
    d.between += [*walk, *turn] if d.chance(0.5) else [*turn, *walk]


def message(d: Draft) -> None:
    """A line for who watches, in some steps, perhaps with a number of the data."""
    d.note("message")
    d.sweeps = max(d.sweeps, 3)  # a compiler makes two calls of a loop that does another thing in its second step
    array = _numbers(d)
    element = array.outside(str(d.draw.randrange(array.length)))
    line = d.draw.choice(
        [
            f'fprintf(stderr, "step %d: %g\\n", sweep, (double){element});',
            'fputs("one more step\\n", stderr);',
            "putc('.', stderr);",
            'fprintf(stderr, "step %d\\n", sweep), fflush(stderr);',
        ]
    )
    d.between += d.draw.choice([[line], ["if (sweep % 2 == 1)", f"    {line}"]])


def drawn(d: Draft) -> None:
    """Random numbers: in a list of their own, added to one element, or to all."""
    d.note("rand")
    style = d.pick({"beside": 45, "one": 25, "all": 30})
    if d.counting.loop.test or "early-exit" in d.features:  # the oracle may look at a later call, with other numbers
        style = "beside"
    array = _numbers(d)
    cast = f"({array.type})"
    number = f"{cast}(rand() % 8) / 16" if real(array.type) else f"{cast}(rand() % 99)"
    if style == "beside":
        beside = _shown(d, "noise", "unsigned", d.sweeps)
        d.between.append(f"{beside.name}[sweep] = (unsigned)rand() % 97;")
    elif style == "one":
        one = array.outside(f"sweep % {array.length}")
        d.between.append(f"{one} = {cast}({one} / 2 + {number});")
    else:
        one = array.outside("v")
        d.between += [f"for (int v = 0; v < {array.length}; v++)", f"    {one} = {cast}({one} / 2 + {number});"]


def asked(d: Draft) -> None:
    """The environment may say that a step does more; it does not."""
    d.note("getenv")
    array = _numbers(d)
    one, first = array.outside("v"), array.outside("0")
    more = d.draw.choice(
        [
            [f"{first} = 0;"],
            [f"for (int v = 1; v < {array.length}; v++)", f"    {one} = {one} / 2 + {array.outside('v - 1')};"],
            ['printf("asked\\n");'],
        ]
    )
    d.between += ['const char *asked = getenv("FUZZ_ASKS_FOR_MORE");', "if (asked != NULL && *asked == '1') {"]
    d.between += [*more, "}"]


STEPS: dict[Callable[[Draft], None], float] = {
    grown_list: 30,
    summed_ends: 20,
    message: 18,
    drawn: 18,
    asked: 14,
}


LEAVING = frozenset({"grown-list", "made-anew", "message", "rand", "getenv"})  # some of which a layout is left for


def _sum(d: Draft, array: Array) -> str:
    """The sum over an array, in a variable of the step."""
    s = d.fresh("sum")
    one = array.outside("v")
    d.between += [f"{array.type} {s} = 0;", f"for (int v = 0; v < {array.length}; v++)"]
    d.between.append(f"    {s} = ({array.type})({s} + {one});")
    return s


def _numbers(d: Draft) -> Array:
    """An array that the kernel writes and a step may change, or a new one."""
    found = [a for a in data(d) if a.written and (real(a.type) or wraps(a.type)) and not a.parent]
    if found:
        return d.draw.choice(found)
    return _shown(d, "state", d.pick({"double": 60, "unsigned": 40}), 8)


def _shown(d: Draft, hint: str, type: str, length: int) -> Array:
    """An array that the kernel knows nothing of."""
    array = Array(d.fresh(hint), type, length, "zero", True, passed=False)
    d.arrays[array.name] = array
    return array
