"""What an instrumented run leaves behind: loop counts, and the state of memory at the entry of a region."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tracecut.ir.loops.nest import Nest
from tracecut.support import memory_amounts
from tracecut.support.errors import ArtefactError
from tracecut.support.files import load_json, read_arrays, write_arrays
from tracecut.tracer.legality.evaluation.contents import Contents, LiveBytes, Packed, addresses_of, bytes_kept
from tracecut.tracer.legality.evaluation.evaluate import Evaluation
from tracecut.tracer.legality.evaluation.memory import STACK, Memory, Object, Table
from tracecut.tracer.legality.live_memory import stack_objects

from .kept_bytes import KeptBytes

_MEMBERS = {"bases": "int64", "sizes": "int64", "kinds": "int64", "offsets": "int64"}
NOT_KEPT = -1
NOTHING = Memory((), {})
NEAR = 4096  # bytes that a base pointer may lie away from its object


@dataclass(frozen=True, eq=False)
class Capture:
    """Memory as a region found it.

    Attributes:
        loop: id of the region. `entry`: which entry of it this was, from 1.
        values: hooked loop → raw 8-byte values that it reported at its latest entry (the region itself, and every
            loop around it that is still in that entry).
        memory: the objects, with the contents of those that the region or its scopes touch.
        stack: addresses of the program's stack, first and behind the last.
    """

    loop: int
    entry: int
    values: Mapping[int, tuple[int, ...]]
    memory: Memory
    stack: tuple[int, int] = (0, 0)

    def seen_by(self, nest: Nest, lives: Mapping[str, int | float]) -> Capture:
        """The capture with the variables on the stack as a nest knows them; loops around it may know others there.

        O(objects log objects + bytes on the stack).
        """
        stack = stack_objects([(nest, lives)], lambda: self.stack, lambda address: self.memory.read(address, 8))
        known = self.memory.columns()
        rest = known.kinds != STACK
        if rest.all() and not stack:
            return self
        bases = np.concatenate([known.bases[rest], np.array([item.base for item in stack], np.int64)])
        sizes = np.concatenate([known.sizes[rest], np.array([item.size for item in stack], np.int64)])
        kinds = np.concatenate([known.kinds[rest], np.full(len(stack), STACK, np.uint8)])
        order = np.argsort(bases, kind="stable")
        gone = set(known.bases[~rest].tolist())
        names = {base: name for base, name in known.names.items() if base not in gone}
        names |= {item.base: item.name for item in stack if item.name}
        found = {item.base: self.memory.strided(item.base, 1, item.size, "i8") for item in stack}
        own = {base: data.view(np.uint8) for base, data in found.items() if data is not None}
        contents = Contents(own, self.memory.contents, hidden=gone)
        return replace(self, memory=Memory(Table(bases[order], sizes[order], kinds[order], names), contents))

    def save(self, path: str | os.PathLike[str], kept: KeptBytes) -> Path:
        """Write it. The bytes of its objects go to a file beside it that all captures of a run have in common.

        Raises OSError.
        """
        known = self.memory.columns()
        bases, sizes, places = addresses_of(self.memory.contents)
        starts = kept.keep(bases, sizes, places)
        offsets = np.full(len(known), NOT_KEPT, np.int64)
        offsets[np.searchsorted(known.bases, bases)] = starts
        arrays: dict[str, npt.NDArray[Any]] = {
            "bases": known.bases,
            "sizes": known.sizes,
            "kinds": known.kinds.astype(np.int64),
            "offsets": offsets,
        }
        meta = {
            "loop": self.loop,
            "entry": self.entry,
            "contents": kept.path.name,
            "stack": [str(address) for address in self.stack],
            "values": {str(loop): [str(value) for value in values] for loop, values in self.values.items()},
            "names": {str(base): name for base, name in known.names.items()},
        }
        return write_arrays(path, "Capture", arrays, meta, sync=False)  # scratch: it does not outlive the run

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Capture:
        """Read one. The bytes of objects are read from the file when they are needed."""
        arrays, meta = read_arrays(path, "Capture", _MEMBERS)
        bases, sizes, kinds, offsets = (arrays[name] for name in ("bases", "sizes", "kinds", "offsets"))
        names = meta.get("names")
        if any(part.ndim != 1 for part in arrays.values()) or not isinstance(names, dict):
            raise ArtefactError(f"{path}: its tables are damaged")
        if any(part.size != bases.size for part in (sizes, kinds, offsets)):
            raise ArtefactError(f"{path}: its tables differ in length")
        if np.any(np.diff(bases) <= 0):
            raise ArtefactError(f"{path}: its objects are not in the order of their addresses")
        kept = np.flatnonzero(offsets != NOT_KEPT)
        data = _contents(Path(path), meta.get("contents")) if kept.size else np.zeros(0, np.uint8)
        outside = (offsets[kept] < 0) | (offsets[kept] > data.size - sizes[kept])
        wrong = np.flatnonzero(sizes < 0).tolist() + kept[outside].tolist()
        if wrong:
            raise ArtefactError(f"{path}: object {wrong[0]} lies outside of the file")
        try:
            values = {int(loop): tuple(int(value) for value in found) for loop, found in meta["values"].items()}
            table = Table(bases, sizes, kinds.astype(np.uint8), {int(base): str(name) for base, name in names.items()})
            memory = Memory(table, Packed(bases[kept], offsets[kept], sizes[kept], data))
            low, high = (int(address) for address in meta["stack"])
            return cls(int(meta["loop"]), int(meta["entry"]), values, memory, (low, high))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ArtefactError(f"{path}: its head is damaged ({error})") from error

    def __repr__(self) -> str:
        kept = memory_amounts.size(bytes_kept(self.memory.contents))
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


def _contents(capture: Path, name: Any) -> npt.NDArray[np.uint8]:
    """The file that the bytes of a capture's objects are in, as it lies there. Raises ArtefactError."""
    if not isinstance(name, str) or Path(name).name != name:
        raise ArtefactError(f"{capture}: it does not say which file its contents are in")
    try:
        return np.asarray(np.memmap(capture.with_name(name), np.uint8, "r"))
    except (OSError, ValueError) as error:
        raise ArtefactError(f"{capture}: its contents cannot be read: {error}") from error


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


def keep_only(memory: Memory, wanted: Iterable[Object], rows: npt.NDArray[np.bool_] | None = None) -> Memory:
    """The same objects, with the contents of the wanted ones alone; those of live objects stay where they are.

    `rows`: which further ones of all are wanted.
    """
    known, contents = memory.columns(), memory.contents
    kept = np.zeros(len(known), np.bool_) if rows is None else rows.copy()
    kept[np.searchsorted(known.bases, [item.base for item in wanted if item.base in contents]).astype(np.int64)] = True
    places = np.flatnonzero(kept)
    if isinstance(contents, LiveBytes):
        return Memory(memory.objects, contents.only(places))
    return Memory(memory.objects, Packed.of({base: contents[base] for base in known.bases[places].tolist()}))


def surely_fewer(nest: Nest, numbers: Mapping[str, int | float], least: int) -> bool:
    """Whether the live values alone say that an entry of a loop has fewer iterations than `least`.

    Then the objects of the program need not be listed: that takes a second for a few millions, and there are inner
    loops that are entered as often.
    """
    most = Evaluation(nest, NOTHING, numbers).root_size()
    return most is not None and most < least
