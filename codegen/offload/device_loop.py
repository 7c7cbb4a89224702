"""Kernels of the loops of a layout scope, without the data that they were made on: those come from the program.

The program's memory always keeps the program's order. Objects are copied to the card when a kernel first needs them,
there in the order of the schedule, and come back when the program needs them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracecut.codegen.kernels.kernel import KernelArray
from tracecut.codegen.ptx.module import Parameter
from tracecut.codegen.schedule.schedule_json import whole
from tracecut.support.errors import ArtefactError
from tracecut.support.files import read_arrays, write_arrays

KINDS = ("jobs", "live", "pointer", "copy", "array", "cell")


@dataclass(frozen=True)
class Given:
    """Where an argument of a kernel comes from.

    Attributes:
        kind: `jobs` (their number), `live` (what the program hands over in slot `place`), `pointer` (an address of the
            program, in that slot or loaded by the `group`: as an address in the object that it lies in), `copy` (the
            same in the copy that is array `array`), `array` (`offset` bytes behind the begin of that array), `cell` (of
            the reduction number `place`).
        objects: of the guard, that an address of the program may be meant for: those that are accessed through it;
            empty where only the address is asked for.
    """

    kind: str
    place: int = -1
    group: int = -1
    array: int = -1
    offset: int = 0
    objects: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class DeviceLoop:
    """A loop as a kernel.

    Attributes:
        loop: loop id. name, variant, ir, ptx, libdevice, parameters: of the kernel, as of `Kernel`.
        given: where each argument comes from. arrays: what it has beside the program's objects; the bytes of copies are
            made anew from the program's data, apart from local numbers.
        blocks: of the grid, 0: one job a thread. threads, shared_bytes: of a block.
        used, written: objects of the guard that it touches, and those that it changes.
        counts: its iterations by the number of the step, where that decides; empty: the scope's guard tells them.
        step: the slot in which the program hands over that number.
    """

    loop: int
    name: str
    variant: str
    ir: str
    ptx: str
    libdevice: bool
    parameters: tuple[Parameter, ...]
    given: tuple[Given, ...]
    arrays: tuple[KernelArray, ...]
    blocks: int
    threads: int
    shared_bytes: int
    used: tuple[int, ...]
    written: tuple[int, ...]
    counts: tuple[int, ...] = ()
    step: int = -1


@dataclass(frozen=True, eq=False)
class DeviceScope:
    """The kernels of a layout scope.

    Attributes:
        arch: that they were made for. loops: with a kernel.
        reads, writes: objects of the guard that the rest of the scope reads, and changes, on the host.
        calls: keys of the sites that fill or copy blocks of bytes, which is done on the card.
        remarks: why other loops of the scope have no kernel.
        peeks: object → the few bytes [low, high) of it that the rest reads on the host in each step, of objects that
            are in neither `reads` nor `writes`.
    """

    arch: str
    loops: tuple[DeviceLoop, ...]
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    calls: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    peeks: Mapping[int, tuple[tuple[int, int], ...]] = field(default_factory=dict)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it. Raises OutputError."""
        arrays = {
            f"loop{place}array{number}": item.data
            for place, loop in enumerate(self.loops)
            for number, item in enumerate(loop.arrays)
        }
        peeks = {str(number): [list(span) for span in spans] for number, spans in self.peeks.items()}
        meta = {**vars(self), "loops": [_out(loop) for loop in self.loops], "peeks": peeks}
        return write_arrays(path, "DeviceScope", arrays, meta)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> DeviceScope:
        """Read one. Raises ArtefactError for a damaged file."""
        arrays, meta = read_arrays(path, "DeviceScope", {"loop*array*?": "uint8"})
        try:
            found = cls(
                str(meta["arch"]),
                tuple(_in(item, place, arrays) for place, item in enumerate(meta["loops"])),
                tuple(map(whole, meta["reads"])),
                tuple(map(whole, meta["writes"])),
                tuple(map(str, meta["calls"])),
                tuple(map(str, meta["remarks"])),
                {
                    int(number): tuple((whole(low), whole(high)) for low, high in spans)
                    for number, spans in meta["peeks"].items()
                },
            )
            found.verify()
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise ArtefactError(f"{path} is not a valid set of kernels: {error}") from error
        return found

    def verify(self) -> None:
        """Raise ValueError unless arguments, parameters and arrays fit each other."""
        if any(not 0 <= low <= high for spans in self.peeks.values() for low, high in spans):
            raise ValueError("the host reads what is no part of an object")
        for loop in self.loops:
            if min(loop.counts, default=0) < 0 or bool(loop.counts) != (loop.step >= 0):
                raise ValueError(f"it is not known how often {loop.name} runs")
            if len(loop.given) != len(loop.parameters):
                raise ValueError(f"{loop.name} has {len(loop.parameters)} parameters and {len(loop.given)} arguments")
            if not 1 <= loop.threads <= 1024 or loop.blocks < 0 or loop.shared_bytes < 0:
                raise ValueError(f"{loop.name} cannot be launched")
            for item in loop.given:
                needs_array = item.kind in ("copy", "array")
                if item.kind not in KINDS or needs_array != (0 <= item.array < len(loop.arrays)):
                    raise ValueError(f"an argument of {loop.name} comes from nowhere")


def _out(loop: DeviceLoop) -> dict[str, Any]:
    return {
        **vars(loop),
        "parameters": [vars(item) for item in loop.parameters],
        "given": [vars(item) for item in loop.given],
        "arrays": [[item.name, item.object, item.fixed, item.copy, item.numbers] for item in loop.arrays],
    }


def _in(item: Mapping[str, Any], place: int, arrays: Mapping[str, Any]) -> DeviceLoop:
    made = tuple(
        KernelArray(
            str(name), arrays[f"loop{place}array{number}"], whole(object), bool(fixed), whole(copy), str(numbers)
        )
        for number, (name, object, fixed, copy, numbers) in enumerate(item["arrays"])
    )
    return DeviceLoop(
        whole(item["loop"]),
        str(item["name"]),
        str(item["variant"]),
        str(item["ir"]),
        str(item["ptx"]),
        bool(item["libdevice"]),
        tuple(Parameter(**each) for each in item["parameters"]),
        tuple(Given(**{**each, "objects": tuple(map(whole, each["objects"]))}) for each in item["given"]),
        made,
        whole(item["blocks"]),
        whole(item["threads"]),
        whole(item["shared_bytes"]),
        tuple(map(whole, item["used"])),
        tuple(map(whole, item["written"])),
        tuple(map(whole, item["counts"])),
        whole(item["step"]),
    )
