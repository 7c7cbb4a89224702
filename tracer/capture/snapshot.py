"""What an instrumented run leaves behind: loop counts, and the state of memory at the entry of a region."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.ir.loops.nest import Nest
from tracecut.support import memory_amounts
from tracecut.support.errors import ArtefactError
from tracecut.support.files import load_json, read_arrays, write_arrays
from tracecut.tracer.legality.evaluate import Evaluation
from tracecut.tracer.legality.memory import Memory, Object

_MEMBERS = {"bases": "int64", "sizes": "int64", "kinds": "int64", "offsets": "int64", "contents": "uint8"}
NOT_KEPT = -1
NEAR = 4096  # bytes that a base pointer may lie away from its object


@dataclass(frozen=True, eq=False)
class Capture:
    """Memory as a region found it.

    Attributes:
        loop: id of the region. `entry`: which entry of it this was, from 1.
        values: hooked loop → raw 8-byte values that it reported at its latest entry (the region itself, and every
            loop around it that is still in that entry).
        memory: the objects, with the contents of those that the region or its scopes touch.
    """

    loop: int
    entry: int
    values: Mapping[int, tuple[int, ...]]
    memory: Memory

    def save(self, path: str | os.PathLike[str]) -> Path:
        objects = list(self.memory.objects)
        offsets = np.full(len(objects), NOT_KEPT, np.int64)
        parts: list[npt.NDArray[np.uint8]] = []
        total = 0
        for place, item in enumerate(objects):
            data = self.memory.bytes_of(item)
            if data is not None:
                offsets[place] = total
                total += data.size
                parts.append(data)
        arrays: dict[str, npt.NDArray[Any]] = {
            "bases": np.array([item.base for item in objects], np.int64),
            "sizes": np.array([item.size for item in objects], np.int64),
            "kinds": np.array([item.kind for item in objects], np.int64),
            "offsets": offsets,
            "contents": np.concatenate(parts) if parts else np.zeros(0, np.uint8),
        }
        meta = {
            "loop": self.loop,
            "entry": self.entry,
            "values": {str(loop): [str(value) for value in values] for loop, values in self.values.items()},
            "names": [item.name for item in objects],
        }
        return write_arrays(path, "Capture", arrays, meta, sync=False)  # scratch: it does not outlive the run

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Capture:
        arrays, meta = read_arrays(path, "Capture", _MEMBERS)
        count = arrays["bases"].size
        names = meta.get("names")
        if any(part.ndim != 1 for part in arrays.values()) or not isinstance(names, list):
            raise ArtefactError(f"{path}: its tables are damaged")
        if any(arrays[name].size != count for name in ("sizes", "kinds", "offsets")) or len(names) != count:
            raise ArtefactError(f"{path}: its tables differ in length")
        objects, contents = [], {}
        for place in range(count):
            base, size, offset = (int(arrays[name][place]) for name in ("bases", "sizes", "offsets"))
            if size < 0 or (offset != NOT_KEPT and not 0 <= offset <= arrays["contents"].size - size):
                raise ArtefactError(f"{path}: object {place} lies outside of the file")
            objects.append(Object(base, size, int(arrays["kinds"][place]), str(names[place])))
            if offset != NOT_KEPT:
                contents[base] = arrays["contents"][offset : offset + size]
        try:
            values = {int(loop): tuple(int(value) for value in found) for loop, found in meta["values"].items()}
            return cls(int(meta["loop"]), int(meta["entry"]), values, Memory(objects, contents))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ArtefactError(f"{path}: its head is damaged ({error})") from error

    def __repr__(self) -> str:
        kept = memory_amounts.size(sum(data.size for data in self.memory.contents.values()))
        return f"<Capture of loop {self.loop}, entry {self.entry}: {len(self.memory.objects)} objects, {kept}>"


@dataclass(frozen=True)
class Profile:
    """Counts of an instrumented run.

    Attributes:
        iterations: by loop id, how often its header ran. `entries`: by hooked loop id.
        captures: loop id → file.
        seconds: wall time of `main`.
        notes: what could not be captured, and why.
        refused: loop id → why it was too large to capture.
        blocks: how often each of `exits.counted_blocks` ran.
    """

    iterations: tuple[int, ...]
    entries: Mapping[int, int]
    captures: Mapping[int, Path]
    seconds: float
    notes: tuple[str, ...] = ()
    refused: Mapping[int, str] = field(default_factory=dict)
    blocks: tuple[int, ...] = ()

    @classmethod
    def load(cls, folder: Path) -> Profile:
        """Read `profile.json` in a folder. Raises FileNotFoundError, and ArtefactError naming a damaged file."""
        path = folder / "profile.json"
        data = load_json(path)
        try:
            return cls(
                tuple(int(count) for count in data["iterations"]),
                {int(loop): int(count) for loop, count in data["entries"].items()},
                {int(loop): folder / str(name) for loop, name in data["captures"].items()},
                float(data["seconds"]),
                tuple(str(note) for note in data["notes"]),
                {int(loop): str(why) for loop, why in data.get("refused", {}).items()},
                tuple(int(count) for count in data.get("blocks", ())),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ArtefactError(f"{path} is damaged: {error}") from error


def touched_objects(nest: Nest, memory: Memory, lives: Mapping[str, int | float]) -> set[Object]:
    """Objects that the base pointers of a nest's accesses lie in. O(pointers), no iteration is evaluated."""
    names, loads = nest.pointers
    found: set[Object] = set()
    for name in names:
        if name in lives:
            found |= objects_at(memory, int(lives[name]))
    evaluation = Evaluation(nest, memory, lives, single=True)
    for node in loads:
        value = evaluation.at(node, nest.root)
        if value.all_known:
            found |= objects_at(memory, int(value.data))
    return found


def objects_at(memory: Memory, address: int) -> set[Object]:
    """The object that a pointer lies in; of one that lies in none the objects near it.

    A base may lie behind its object (what is walked from the end), or in front of it (what is counted from 1).
    """
    item = memory.find(address)
    near = (item,) if item is not None else memory.beside(address, NEAR)
    return {found for found in near if found is not None}


def written_objects(nest: Nest, memory: Memory, lives: Mapping[str, int | float]) -> list[Object]:
    """Objects that the base pointers of a nest's writes lie in."""
    evaluation = Evaluation(nest, memory, lives, single=True)
    found: dict[Object, None] = {}
    for site in nest.sites:
        for node in site.address.walk() if site.writes else ():
            if node.kind not in ("live", "load") or node.data[1] != "ptr" or node.has("counter"):
                continue
            value = evaluation.at(node, nest.root)
            if value.all_known and value.data.ndim == 0:
                found |= dict.fromkeys(sorted(objects_at(memory, int(value.data)), key=lambda item: item.base))
    return list(found)


def keep_only(memory: Memory, wanted: Sequence[Object]) -> Memory:
    """The same objects, with the contents of the wanted ones alone."""
    contents = memory.contents
    return Memory(memory.objects, {item.base: contents[item.base] for item in wanted if item.base in contents})
