"""Kernels on disk: code, arrays, arguments, and the schedules that they were made by."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from tracecut.codegen.gpu.gpu_schedule import MEMBERS, GpuSchedule
from tracecut.codegen.ptx.module import Parameter
from tracecut.codegen.schedule.schedule_json import SCHEDULE_ARRAYS, schedule_arrays, schedule_in, schedule_out, whole
from tracecut.support.errors import ArtefactError, ScheduleError
from tracecut.support.files import read_arrays, write_arrays

from .kernel import Address, Considered, Kernel, KernelArray, Second, second_kernel


def save_kernel(kernel: Kernel, path: str | os.PathLike[str]) -> Path:
    """Write a kernel with its arrays. O(bytes). Raises OutputError."""
    arrays: dict[str, Any] = {f"array{number}": item.data for number, item in enumerate(kernel.arrays)}
    arrays |= schedule_arrays(kernel.host)
    gpu = None
    if kernel.schedule is not None:
        more, gpu = kernel.schedule.parts()
        arrays |= more
    meta = {
        "name": kernel.name,
        "variant": kernel.variant,
        "arch": kernel.arch,
        "ir": kernel.ir,
        "libdevice": kernel.libdevice,
        "parameters": [vars(item) for item in kernel.parameters],
        "arguments": [_argument_out(item) for item in kernel.arguments],
        "arrays": [[item.name, item.object, item.fixed, item.copy, item.numbers] for item in kernel.arrays],
        **kernel.launch,
        "gpu": gpu,
        "host": schedule_out(kernel.host),
        "remarks": list(kernel.remarks),
        "notes": dict(kernel.notes),
        "considered": [vars(item) for item in kernel.considered],
        "combine": None if kernel.combine is None else _combine_out(kernel.combine),
    }
    return write_arrays(path, "Kernel", arrays, meta)


def load_kernel(path: str | os.PathLike[str]) -> Kernel:
    """Read a kernel. Raises ArtefactError for a damaged file."""
    members = {f"{name}?": dtype for name, dtype in SCHEDULE_ARRAYS.items()} | MEMBERS | {"array*?": "uint8"}
    arrays, meta = read_arrays(path, "Kernel", members)
    try:
        parameters = tuple(Parameter(**item) for item in meta["parameters"])
        kernel = Kernel(
            str(meta["name"]),
            str(meta["variant"]),
            str(meta["arch"]),
            str(meta["ir"]),
            bool(meta["libdevice"]),
            parameters,
            tuple(_argument_in(item) for item in meta["arguments"]),
            tuple(
                KernelArray(str(name), arrays[f"array{place}"], whole(object), bool(fixed), whole(copy), str(numbers))
                for place, (name, object, fixed, copy, numbers) in enumerate(meta["arrays"])
            ),
            whole(meta["blocks"]),
            whole(meta["threads"]),
            whole(meta["shared_bytes"]),
            None if meta["gpu"] is None else GpuSchedule.of_parts(arrays, meta["gpu"]),
            schedule_in(meta["host"], arrays),
            tuple(map(str, meta["remarks"])),
            {str(name): str(why) for name, why in meta["notes"].items()},
            tuple(Considered(**item) for item in meta["considered"]),
        )
        if meta["combine"] is not None:
            kernel = replace(kernel, combine=_combine_in(kernel, meta["combine"]))
        kernel.verify()
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ScheduleError) as error:
        raise ArtefactError(f"{path} is not a valid kernel: {error}") from error
    return kernel


def _combine_out(kernel: Kernel) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "ir": kernel.ir,
        "parameters": [vars(item) for item in kernel.parameters],
        "arguments": [_argument_out(item) for item in kernel.arguments],
        "blocks": kernel.blocks,
        "threads": kernel.threads,
    }


def _combine_in(kernel: Kernel, meta: dict[str, Any]) -> Kernel:
    """The kernel that is launched behind another one."""
    parameters = tuple(Parameter(**item) for item in meta["parameters"])
    arguments = tuple(_argument_in(item) for item in meta["arguments"])
    sizes = whole(meta["blocks"]), whole(meta["threads"])
    return second_kernel(kernel, Second(str(meta["name"]), str(meta["ir"]), parameters, arguments, *sizes))


def _argument_out(value: int | float | Address) -> Any:
    if isinstance(value, Address):
        return [value.array, value.offset]
    return value if isinstance(value, int) else value.hex()  # every bit, also of what JSON has no word for


def _argument_in(value: Any) -> int | float | Address:
    if isinstance(value, list):
        return Address(*map(whole, value))
    if isinstance(value, str):
        return float.fromhex(value)
    if type(value) is not int:
        raise ValueError(f"an argument is {value!r}")
    return value
