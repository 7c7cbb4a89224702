"""The kernels of a scope, loaded on a card before the program begins."""

from __future__ import annotations

from dataclasses import replace

from tracecut.codegen.devices.device import Device
from tracecut.codegen.devices.emulated_backend import IR
from tracecut.codegen.ptx.nvptx import ARCHITECTURES, compile_ptx
from tracecut.support.errors import UnsupportedError

from .device_host import Loaded
from .device_loop import DeviceLoop, DeviceScope


def load_kernels(device: Device, scope: DeviceScope, anyhow: DeviceScope | None = None) -> Loaded:
    """Load them, and those for any indices. For a card older than they were made for, PTX is made anew: 0.3 s each.

    Raises ToolchainError for a driver that is too old, KernelError where the card does not take them, UnsupportedError
    for a card that nothing can be made for.
    """
    kernels = {}
    for loop in scope.loops:
        code, ending = _code(loop, scope.arch, device)
        kernels[loop.loop] = device.load(code, loop.name, ending=ending)
    return Loaded(scope, kernels, None if anyhow is None else load_kernels(device, anyhow))


def _code(loop: DeviceLoop, arch: str, device: Device) -> tuple[bytes, str]:
    if IR in device.backend.takes:
        return loop.ir.encode(), IR
    try:
        device.takes_machine_code(arch)
    except UnsupportedError:
        if device.arch not in ARCHITECTURES:
            raise
        loop = replace(loop, ptx=compile_ptx(loop.ir, loop.name, device.arch, libdevice=loop.libdevice))
    return loop.ptx.encode(), "ptx"
