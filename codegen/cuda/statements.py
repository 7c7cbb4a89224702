"""Statements of C as a tree, before their text."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Plain:
    """One statement, without its semicolon."""

    text: str


@dataclass
class Assign:
    """A variable gets a value. `declares`: type words where this is also its declaration."""

    name: str
    text: str
    declares: str = ""


@dataclass
class Declare:
    """A variable without a value yet."""

    name: str
    type: str


@dataclass
class If:
    condition: str
    then: list[Statement]
    otherwise: list[Statement] = field(default_factory=list)
    opposite: str = ""


@dataclass
class Loop:
    """`for (;;)` without a condition, `while` with one; `start` and `step` make it a `for`."""

    body: list[Statement]
    condition: str = ""
    start: Assign | None = None
    step: Assign | None = None


@dataclass
class Jump:
    """`break`, `continue`, `return` or `goto LABEL`."""

    text: str


@dataclass
class Label:
    name: str


@dataclass
class Comment:
    text: str


Statement = Plain | Assign | Declare | If | Loop | Jump | Label | Comment


def lines(statements: list[Statement], depth: int = 1) -> list[str]:
    """The text of statements. O(text)."""
    found: list[str] = []
    pad = "    " * depth
    for item in statements:
        match item:
            case Plain(text) | Jump(text):
                found.append(f"{pad}{text};")
            case Assign():
                found.append(f"{pad}{assignment(item)};")
            case Declare(name, type):
                found.append(f"{pad}{type}{'' if type.endswith('*') else ' '}{name};")
            case Comment(text):
                found.append(f"{pad}// {text}")
            case Label(name):
                found.append(f"{name}:;")
            case If():
                found += _if_lines(item, depth)
            case Loop(body, condition, start, step):
                head = f"while ({condition})" if condition else "for (;;)"
                if start is not None and step is not None:
                    head = f"for ({assignment(start)}; {condition}; {assignment(step)})"
                found += [f"{pad}{head} {{", *lines(body, depth + 1), f"{pad}}}"]
    return found


def assignment(item: Assign) -> str:
    """`type name = value`, or the shorter forms for what is added."""
    if item.declares:
        space = "" if item.declares.endswith("*") else " "
        return f"{item.declares}{space}{item.name} = {item.text}"
    plus = f"{item.name} + "
    rest = item.text.removeprefix(plus)
    if item.text.startswith(plus) and rest.replace(".", "").replace("_", "").isalnum():
        return f"{item.name} += {rest}"
    return f"{item.name} = {item.text}"


def _if_lines(item: If, depth: int) -> list[str]:
    pad = "    " * depth
    found = [f"{pad}if ({item.condition}) {{", *lines(item.then, depth + 1)]
    if item.otherwise:
        found += [f"{pad}}} else {{", *lines(item.otherwise, depth + 1)]
    return [*found, f"{pad}}}"]
