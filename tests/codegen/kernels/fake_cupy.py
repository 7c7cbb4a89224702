"""As much of cupy as launches need: a card that runs kernels on this CPU, and keeps account of what it is asked."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from tracecut.codegen.emulation.run_kernel import Within, run_kernel
from tracecut.codegen.kernels.kernel import Kernel

FIRST, APART = 1 << 40, 1 << 30  # where the card's arrays lie: far from each other


class FakeCupy:
    """Takes the place of the module.

    Args:
        kernel: what its machine code or PTX stands for. capability: of the card. count: of cards.
        count_fails, load_fails, launch_fails: what cupy's RuntimeError says there.
    """

    def __init__(
        self,
        kernel: Kernel,
        *,
        capability: str = "90",
        count: int = 1,
        count_fails: str = "",
        load_fails: str = "",
        launch_fails: str = "",
        room: int = 1 << 30,
    ) -> None:
        self.kernel, self.capability, self.count, self.room = kernel, capability, count, room
        self.fails = {"count": count_fails, "load": load_fails, "launch": launch_fails}
        self.arrays: list[Any] = []
        self.said: list[tuple[Any, ...]] = []
        self.synchronized = 0
        self.on: list[int] = []
        outer = self

        class Device:
            def __init__(self, number: int) -> None:
                self.number = number
                self.compute_capability = outer.capability

            def __enter__(self) -> Device:
                outer.on.append(self.number)
                return self

            def __exit__(self, *_: object) -> None:
                outer.on.pop()

            def synchronize(self) -> None:
                outer.synchronized += 1

        runtime = SimpleNamespace(
            getDeviceCount=self._count,
            getDeviceProperties=lambda number: {"name": b"Made-up card"},
            driverGetVersion=lambda: 13020,
        )
        self.cuda = SimpleNamespace(Device=Device, runtime=runtime)

    def _fail(self, where: str) -> None:
        if self.fails[where]:
            raise RuntimeError(self.fails[where])

    def _count(self) -> int:
        self._fail("count")
        return self.count

    def asarray(self, data: Any) -> Any:
        assert self.on, "memory of no card"
        if data.nbytes > self.room:
            raise MemoryError("out of memory")
        place = FIRST + APART * len(self.arrays)
        made = SimpleNamespace(values=np.array(data), data=SimpleNamespace(ptr=place))
        self.arrays.append(made)
        return made

    def asnumpy(self, array: Any) -> Any:
        assert self.on and self.synchronized, "read before the kernel has ended"
        return array.values.copy()

    def RawModule(self, *, path: str) -> Any:
        self.said.append(("load", Path(path).suffix, Path(path).read_bytes()))
        self._fail("load")
        return SimpleNamespace(get_function=lambda name: FakeFunction(self, name))


class FakeFunction:
    def __init__(self, cupy: FakeCupy, name: str) -> None:
        self.cupy, self.name = cupy, name
        self.max_dynamic_shared_size_bytes = 48 << 10

    def __call__(self, grid: Any, block: Any, arguments: Any, *, shared_mem: int) -> None:
        cupy = self.cupy
        cupy.said.append(("launch", self.name, grid, block, shared_mem, self.max_dynamic_shared_size_bytes))
        cupy._fail("launch")
        if shared_mem > self.max_dynamic_shared_size_bytes:
            raise RuntimeError("CUDA_ERROR_INVALID_VALUE: invalid argument")
        given: list[Any] = []
        for value in arguments:
            assert isinstance(value, np.generic), "cupy takes other numbers for 64-bit ones"
            if value.dtype == np.uint64:
                place = (int(value) - FIRST + APART // 2) // APART
                given.append(Within(cupy.arrays[place].values, int(value) - FIRST - APART * place))
            else:
                given.append(value.item())
        kernel = cupy.kernel
        run_kernel(kernel.ir, kernel.name, given, grid[0], block[0], shared_mem)
