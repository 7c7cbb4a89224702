"""Resolves function aliases: a call through an alias becomes a call of the function, which is traced under its own
name."""

from __future__ import annotations

import re

from tracecut.ir.llvm.substitute import renamed_globals

_ALIAS = re.compile(
    r"^(@[-\w.$]+) = ((?:[a-z_]+(?:\([^()]*\))? )*)alias [^\n]*, ptr (@[-\w.$]+)(?:,[^\n]*)?$", re.MULTILINE
)


def resolve_aliases(text: str) -> str:
    """The module with the names that `alias` gives to what it defines replaced by the first name. O(text).

    The aliases themselves stay, since others may ask for them. What another definition may take the place of (`weak`,
    `linkonce`) is left alone.
    """
    targets = {
        name: target for name, words, target in _ALIAS.findall(text) if not {"weak", "linkonce"} & set(words.split())
    }
    if not targets:
        return text
    for name in targets:
        seen = {name}
        while targets[name] in targets and targets[name] not in seen:
            seen.add(targets[name])
            targets[name] = targets[targets[name]]
    lines = zip(text.split("\n"), renamed_globals(text, targets).split("\n"), strict=True)
    return "\n".join(old if (found := _ALIAS.match(old)) and found[1] in targets else new for old, new in lines)
