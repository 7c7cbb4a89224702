"""What exports and launches need to know of a kernel, whatever else it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tracecut.codegen.gpu.index_copies import Bytes
from tracecut.codegen.ptx.module import Parameter


class Place(Protocol):
    """A place in one of the kernel's arrays, as `Address`."""

    @property
    def array(self) -> int: ...
    @property
    def offset(self) -> int: ...


class Held(Protocol):
    """One of the kernel's arrays, as `KernelArray`."""

    @property
    def name(self) -> str: ...
    @property
    def data(self) -> Bytes: ...
    @property
    def object(self) -> int: ...
    @property
    def fixed(self) -> bool: ...


class Launchable(Protocol):
    """A kernel with what it is called with; fields as of `Kernel`."""

    @property
    def name(self) -> str: ...
    @property
    def variant(self) -> str: ...
    @property
    def arch(self) -> str: ...
    @property
    def ir(self) -> str: ...
    @property
    def parameters(self) -> tuple[Parameter, ...]: ...
    @property
    def arguments(self) -> Sequence[int | float | Place]: ...
    @property
    def arrays(self) -> Sequence[Held]: ...
    @property
    def blocks(self) -> int: ...
    @property
    def threads(self) -> int: ...
    @property
    def shared_bytes(self) -> int: ...
    @property
    def ptx(self) -> str: ...
    @property
    def cubin(self) -> bytes: ...
