"""Which functions are inlined before loops are read: those that loops call, as long as the module stays small.

What a function brings along counts: it may have others in itself by then, and be called by others that are themselves
copied. Without that, thirty calls of thirty calls of thirty instructions would look like 1,800 instructions.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from tracecut.ir.llvm import Function, Module
from tracecut.ir.llvm.control_flow import ControlFlow

INLINE_LIMIT = 3_000  # instructions of a function, before anything is put into it
INLINE_TOTAL = 20_000  # instructions of a module: a smaller one may grow up to this size
INLINE_SHARE = 4  # a larger one may grow by a quarter
TIDY_LIMIT = 100  # instructions of a function that tidies up what lies on the stack: a destructor


class Growth:
    """Instructions of each function, and copies of it in the module, while functions are chosen to be inlined.

    Args:
        sizes: instructions of each function. calls: function → its direct calls of others, with their number.
    """

    def __init__(self, sizes: dict[str, int], calls: dict[str, Counter[str]]) -> None:
        self._size = dict(sizes)  # with what was put into it
        self._copies = dict.fromkeys(sizes, 1)  # of its body
        self._calls = calls
        self._callers: dict[str, list[tuple[str, int]]] = {name: [] for name in sizes}
        for name, found in calls.items():
            for callee, count in found.items():
                self._callers[callee].append((name, count))
        self._chosen: set[str] = set()

    def of(self, name: str) -> int:
        """Instructions that the module grows by when a function is put where it is called."""
        return self._size[name] * self._sites(name)

    def choose(self, name: str) -> None:
        """Inline a function. What is visited is made: O(instructions that the module grows by), and its calls."""
        size, sites = self._size[name], self._sites(name)
        self._chosen.add(name)
        above = [(name, size)]
        while above:  # each caller grows, and with it whoever it has been put into
            inner, grown = above.pop()
            for caller, count in self._callers[inner]:
                self._size[caller] += grown * count
                if caller in self._chosen:
                    above.append((caller, grown * count))
        below = [(name, sites)]
        while below:  # the copies bring along what has been put into them
            outer, copies = below.pop()
            self._copies[outer] += copies
            below += [(callee, copies * n) for callee, n in self._calls[outer].items() if callee in self._chosen]

    def _sites(self, name: str) -> int:
        return sum(count * self._copies[caller] for caller, count in self._callers[name])


@dataclass(frozen=True)
class Choice:
    """Which functions are inlined, by name: `chosen`; `changed`: those that something is put into."""

    chosen: frozenset[str]
    changed: frozenset[str]


def choose_inline(module: Module, *, with_stack: bool = False) -> Choice:
    """The functions that are called from inside a loop, smallest first, within size limits, and their callers.

    Left alone: recursion, variable arguments, setjmp callers, `main`, and what would grow the module too much.
    O(instructions).

    Args:
        with_stack: also those with loops that are called once, with the address of a variable on the stack: what lies
            there is known to loops of the same function alone, and a solver is often a variable of `main`. And small
            ones that are given what a loop works with, on the stack: a destructor that exceptions come to would else
            be why a vector of a time step is in memory, instead of in values.
    """
    functions = module.functions
    sizes = {name: sum(len(block.instructions) for block in function.blocks) for name, function in functions.items()}
    found = {name: _calls(function, functions) for name, function in functions.items()}
    calls = {name: Counter(site.callee for site in sites) for name, sites in found.items()}
    recursive = _recursive({name: set(callees) for name, callees in calls.items()})
    every = [site for sites in found.values() for site in sites]
    times = Counter(site.callee for site in every)
    wanted = {site.callee for site in every if site.in_loop}
    once = {site.callee for site in every if with_stack and site.takes_stack and times[site.callee] == 1} - wanted
    wanted |= {name for name in once if ControlFlow(functions[name]).loops}
    if with_stack:
        wanted |= {site.callee for site in every if site.takes_looped and sizes[site.callee] <= TIDY_LIMIT}
    stack = list(wanted)
    while stack:  # what a wanted function calls has to come along
        more = set(calls[stack.pop()]) - wanted
        wanted |= more
        stack += more
    groups = module.attribute_groups()
    total = sum(sizes.values())
    budget = max(INLINE_TOTAL - total, total // INLINE_SHARE)
    growth = Growth(sizes, calls)
    chosen = set()
    for name in sorted(wanted, key=lambda item: (sizes[item], item)):
        if name in recursive or name == "@main" or sizes[name] > INLINE_LIMIT or growth.of(name) > budget:
            continue
        header = functions[name].header
        words = " ".join(groups[group] for group in functions[name].attribute_groups)
        if "..." in header or re.search(r"\b(naked|returns_twice)\b", words):
            continue
        if name in once and re.search(r"\bnoinline\b", f"{header} {words}"):  # no time loop is behind it
            continue
        budget -= growth.of(name)
        growth.choose(name)
        chosen.add(name)
    changed = {name for name, callees in calls.items() if not chosen.isdisjoint(callees)}
    return Choice(frozenset(chosen), frozenset(changed))


def kept_apart(module: Module, choice: Choice) -> set[str]:
    """Attribute groups that forbid what was chosen: those with `noinline`."""
    groups, functions = module.attribute_groups(), module.functions
    return {
        group for name in choice.chosen for group in functions[name].attribute_groups if "noinline" in groups[group]
    }


def mark_inline(module: Module, choice: Choice | None = None) -> Module:
    """Mark the functions that are to be inlined `alwaysinline`, in place. `choice`: None: that of `choose_inline`."""
    choice = choice or choose_inline(module)
    functions, groups, clashing = module.functions, module.attribute_groups(), kept_apart(module, choice)
    for name in choice.chosen:
        functions[name].add_attributes("alwaysinline")
    module.items = [
        attribute_group(item.split()[1], re.sub(r"\b(?:noinline|optnone) ", "", groups[item.split()[1]]))
        if isinstance(item, str) and item.startswith("attributes #") and item.split()[1] in clashing
        else item
        for item in module.items
    ]
    return module


_NOTHING = '"plain"'  # an attribute that means nothing


def attribute_group(name: str, words: str) -> str:
    """The line of an attribute group. LLVM reads none that is empty."""
    return f"attributes {name} = {{ {words.strip() or _NOTHING} }}"


_CALLS = re.compile("call |invoke ")  # the opcode is asked of few instructions then


@dataclass(frozen=True)
class _Site:
    """A direct call: of what, from inside a loop or not, and whether it passes the address of a stack variable on.

    `takes_looped`: of one that loops work with too.
    """

    callee: str
    in_loop: bool
    takes_stack: bool
    takes_looped: bool


def _calls(function: Function, functions: dict[str, Function]) -> list[_Site]:
    """Every direct call to a function of this module."""
    found = [
        (block.name, instruction)
        for block, instruction in function.instructions()
        if _CALLS.search(instruction.text) and instruction.op in ("call", "invoke") and instruction.word in functions
    ]
    if not found:
        return []
    looped = {name for loop in ControlFlow(function).loops if loop.parent is None for name in loop.blocks}
    stack = {item.result for item in function.entry.instructions if item.op == "alloca"}
    given = {value.text for _, call in found for value in call.operands} & stack
    inside = {
        used
        for block in (function.blocks if given else ())
        if block.name in looped
        for item in block.instructions
        for used in item.uses
    }
    return [
        _Site(
            call.word,
            block in looped,
            any(value.text in stack for value in call.operands),
            any(value.text in given & inside for value in call.operands),
        )
        for block, call in found
    ]


def _recursive(calls: dict[str, set[str]]) -> set[str]:
    """Functions that may call themselves, by whatever way: strong components, as Gabow 2000 finds them."""
    found = {name for name, callees in calls.items() if name in callees}
    number: dict[str, int] = {}
    path: list[str] = []  # what has no component yet
    roots: list[int] = []  # where on the path each component that is being made begins
    for start in calls:
        stack = [(start, iter(calls[start]))] if start not in number else []
        while stack:
            name, callees = stack[-1]
            if name not in number:
                number[name] = len(path)
                roots.append(len(path))
                path.append(name)
            for callee in callees:
                if callee not in number:
                    stack.append((callee, iter(calls[callee])))
                    break
                while number[callee] < roots[-1]:  # still on the path: a circle
                    roots.pop()
            else:
                stack.pop()
                if roots[-1] == number[name]:
                    part = path[roots.pop() :]
                    del path[number[name] :]
                    number.update(dict.fromkeys(part, len(calls)))
                    found.update(part if len(part) > 1 else ())
    return found
