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

MOST_BYTES = 16 << 20  # of a machine file
FORMS = (
    *("detect", "model", "mesh:8x8", "torus:8x8", "uma:8", "tree:4x4x4", "tree:4x4x4@100,10,1"),
    *("cpu_gpu:24:1", "topo1:96:8:2", "topo2:96:8:2", "topo2:96:8:2:files", "topo3:4:1:4", "FILE.toml"),
)
_WHOLE = re.compile(r"[0-9]{1,9}")


def names_a_file(word: str) -> bool:
    """Whether a word is a file's name rather than a machine's. Raises ArgumentError for what is no word."""
    if not isinstance(word, str):
        raise ArgumentError(f"{word!r} names no machine: a text was expected", hint=f"Forms: {', '.join(FORMS)}.")
    kind, colon, _ = word.partition(":")
    if word in ("detect", "this", "model") or (colon and kind in _MADE) or "\0" in word:
        return False
    return word.endswith(".toml") or "/" in word or (bool(word) and Path(word).exists())


def fields_named(word: str) -> dict[str, Any]:
    """Fields of the modelled machine that a word names: see FORMS. Raises ArgumentError."""
    kind, _, rest = word.partition(":")
    if word in ("detect", "this"):
        return detected()
    if word == "model":
        return models.model()
    if kind in _MADE and rest:
        found = _MADE[kind](word, rest)
        if found is not None:
            return found
    raise ArgumentError(f"{word!r} names no machine", hint=f"Forms: {', '.join(FORMS)}.")


def file_text(path: Path) -> str:
    """The text of a machine file. Raises ArtefactError, which names the path."""
    try:
        with path.open("rb") as file:
            found = file.read(MOST_BYTES + 1)
        if len(found) > MOST_BYTES:
            raise ArtefactError(f"{path} has more than {MOST_BYTES} bytes, which is no machine file")
        return found.decode("utf-8-sig").replace("\r\n", "\n")
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
