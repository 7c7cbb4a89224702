"""Machines by name on the command line."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tracecut.support.errors import ArgumentError, ArtefactError

from . import models
from .detect import detected
from .network import Network
from .toml_text import fields_of

MOST_BYTES = 64 << 20  # of a machine file
FORMS = (
    *("detect", "model", "mesh:8x8", "torus:8x8", "uma:8", "tree:4x4x4", "tree:4x4x4@100,10,1"),
    *("cpu_gpu:24:1", "topo1:96:8:2", "topo2:96:8:2", "topo2:96:8:2:files", "topo3:4:1:4", "FILE.toml"),
)
_WHOLE = re.compile(r"\d{1,9}")


def fields_named(word: str) -> dict[str, Any]:
    """Fields of the machine that a word names: see FORMS. Raises ArgumentError, ArtefactError (a file)."""
    kind, _, rest = word.partition(":")
    if word in ("detect", "this"):
        return detected()
    if word == "model":
        return models.model()
    if kind in _MADE and rest:
        found = _MADE[kind](word, rest)
        if found is not None:
            return found
    elif word.endswith(".toml") or "/" in word or (word and Path(word).exists()):
        return fields_of(file_text(Path(word)), word)
    raise ArgumentError(f"{word!r} names no machine", hint=f"Forms: {', '.join(FORMS)}.")


def file_text(path: Path) -> str:
    """The text of a machine file. Raises ArtefactError, which names the path."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ArtefactError(f"{path} has {path.stat().st_size} bytes, a machine file has at most {MOST_BYTES}")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ArtefactError(f"{path}: {error.strerror or error}") from None
    except ValueError:
        raise ArtefactError(f"{path} is no text in UTF-8") from None


def _sides(text: str) -> tuple[int, ...] | None:
    parts = text.split("x")
    return tuple(map(int, parts)) if all(map(_WHOLE.fullmatch, parts)) else None


def _mesh(word: str, rest: str) -> dict[str, Any] | None:
    sides = _sides(rest)
    if sides is None or len(sides) != 2:
        return None
    return models.mesh(*sides)


def _torus(word: str, rest: str) -> dict[str, Any] | None:
    sides = _sides(rest)
    if sides is None or len(sides) != 2:
        return None
    return {**models.mesh(*sides), "name": word, "network": Network("torus", sides)}


def _tree(word: str, rest: str) -> dict[str, Any] | None:
    shape, _, distances = rest.partition("@")
    sides, hops = _sides(shape), distances.split(",") if distances else []
    if sides is None or not all(map(_WHOLE.fullmatch, hops)):
        return None
    return models.tree(word, sides, tuple(map(int, hops)))


def _numbered(
    make: Callable[..., dict[str, Any]], least: int, most: int
) -> Callable[[str, str], dict[str, Any] | None]:
    def read(word: str, rest: str) -> dict[str, Any] | None:
        parts = rest.split(":")
        files = parts[-1] == "files" and make is models.topo2
        parts = parts[:-1] if files else parts
        if not least <= len(parts) <= most or not all(map(_WHOLE.fullmatch, parts)):
            return None
        return make(*map(int, parts), **({"files": True} if files else {}))

    return read


_MADE: dict[str, Callable[[str, str], dict[str, Any] | None]] = {
    "mesh": _mesh,
    "torus": _torus,
    "tree": _tree,
    "uma": _numbered(models.uma, 1, 1),
    "cpu_gpu": _numbered(models.cpu_gpu, 1, 2),
    "topo1": _numbered(models.topo1, 1, 3),
    "topo2": _numbered(models.topo2, 1, 3),
    "topo3": _numbered(models.topo3, 1, 3),
}
