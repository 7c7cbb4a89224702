"""Loops in their usual forms, and declarations where they are needed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from .statements import Assign, Comment, Declare, If, Jump, Label, Loop, Plain, Statement

_WORD = re.compile(r"[A-Za-z_]\w*")


def usual_loops(statements: list[Statement]) -> list[Statement]:
    """`while` and `for` in the place of endless loops that begin with a way out. O(text)."""
    found: list[Statement] = []
    for item in statements:
        if isinstance(item, If):
            item.then, item.otherwise = usual_loops(item.then), usual_loops(item.otherwise)
        if isinstance(item, Loop):
            item.body = usual_loops(item.body)
            _leave_at_head(item)
            _count(item, found)
        found.append(item)
    return found


def _leave_at_head(loop: Loop) -> None:
    first = loop.body[0] if loop.body else None
    if not isinstance(first, If) or len(first.then) != 1 or first.otherwise:
        return
    (only,) = first.then
    if isinstance(only, Jump) and only.text == "break":
        loop.condition = first.opposite or f"!({first.condition})"
        loop.body = loop.body[1:]


def _count(loop: Loop, before: list[Statement]) -> None:
    """Make the step that ends the body, and the start in front of the loop, a part of its head."""
    last = loop.body[-1] if loop.body else None
    if not loop.condition or not isinstance(last, Assign) or _continues(loop.body):
        return
    if last.name not in _WORD.findall(loop.condition):
        return
    for place in range(len(before) - 1, -1, -1):
        item = before[place]
        if isinstance(item, Comment):
            continue
        if not isinstance(item, Assign):
            return
        if item.name == last.name:
            if not any(_meet(item, other) for other in before[place + 1 :]):
                loop.start, loop.step = item, last
                loop.body.pop()
                del before[place]
            return


def _meet(item: Assign, other: Statement) -> bool:
    if not isinstance(other, Assign):
        return False
    return item.name in _WORD.findall(other.text) or other.name in _WORD.findall(item.text)


def _continues(statements: Iterable[Statement]) -> bool:
    """Whether a statement goes on with the next turn of the loop around."""
    for item in statements:
        if isinstance(item, Jump) and item.text == "continue":
            return True
        if isinstance(item, If) and (_continues(item.then) or _continues(item.otherwise)):
            return True
    return False


def declared(statements: list[Statement], variables: Mapping[str, str], *, at_top: bool) -> list[Statement]:
    """Declare variables, each in the innermost braces that hold all that mentions it.

    `at_top`: all of them in front, as jumps must not pass a declaration. O(text · depth).
    """
    if at_top:
        used = set().union(*map(_words, statements)) if statements else set()
        return [*(Declare(name, type) for name, type in variables.items() if name in used), *statements]
    return _placed(statements, variables)


def _placed(statements: list[Statement], variables: Mapping[str, str]) -> list[Statement]:
    places: dict[str, list[int]] = {}
    for place, item in enumerate(statements):
        for name in _words(item) & variables.keys():
            places.setdefault(name, []).append(place)
    inner: dict[tuple[int, int], dict[str, str]] = {}
    front: dict[int, list[Statement]] = {}
    for name in sorted(places, key=list(variables).index):
        first = statements[places[name][0]]
        lists = _lists(first)
        holding = [n for n, part in enumerate(lists) if any(name in _words(item) for item in part)]
        if len(places[name]) == 1 and len(holding) == 1 and name not in _head_words(first):
            inner.setdefault((places[name][0], holding[0]), {})[name] = variables[name]
        elif isinstance(first, Assign) and first.name == name and name not in _WORD.findall(first.text):
            first.declares = variables[name]
        elif isinstance(first, Loop) and first.start and first.start.name == name and len(places[name]) == 1:
            first.start.declares = variables[name]
        else:
            front.setdefault(places[name][0], []).append(Declare(name, variables[name]))
    found: list[Statement] = []
    for place, item in enumerate(statements):
        found += front.get(place, [])
        for number, part in enumerate(_lists(item)):
            part[:] = _placed(part, inner.get((place, number), {}))
        found.append(item)
    return found


def _lists(item: Statement) -> list[list[Statement]]:
    if isinstance(item, If):
        return [item.then, item.otherwise]
    return [item.body] if isinstance(item, Loop) else []


def _head_words(item: Statement) -> set[str]:
    match item:
        case If(condition):
            return set(_WORD.findall(condition))
        case Loop(_, condition, start, step):
            parts = [part for part in (start, step) if part is not None]
            return set(_WORD.findall(condition)).union(*({p.name, *_WORD.findall(p.text)} for p in parts))
        case _:
            return set()


def _words(item: Statement) -> set[str]:
    """Every name that a statement mentions."""
    match item:
        case Plain(text) | Jump(text):
            return set(_WORD.findall(text))
        case Assign(name, text):
            return {name, *_WORD.findall(text)}
        case Comment() | Label() | Declare():
            return set()
    return _head_words(item).union(*(_words(inner) for part in _lists(item) for inner in part))
