"""Numba kernels: those that import Numba on their first call instead of with their module, and options of the others.

Importing Numba takes half a second, as long as all other imports of a short trace. Inputs that are processed in plain
Python (see `plain_kernels.py`) never need it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

# A way in from C is a seventh of the time in which a kernel is compiled, and nobody takes it.
WITHOUT: dict[str, Any] = {"no_cfunc_wrapper": True}

TYPE_CHECKING = False
if TYPE_CHECKING:
    from numba import njit

    kept = njit(cache=True, nogil=True)  # Numba's types do not know of the third option
else:

    def kept(function: FunctionType) -> Any:
        """Decorator: a kernel whose machine code is kept for other processes, and that threads run beside others."""
        import numba

        return numba.njit(cache=True, nogil=True, **WITHOUT)(function)


class Kernel:
    """A function that `numba.njit` compiles on its first call.

    Kernels of the same module may call each other. `py_func`: the Python function, as in Numba. `signature`: the only
    argument types, as Numba writes them; empty: those of each call.
    """

    def __init__(self, function: FunctionType, signature: str, options: dict[str, Any]) -> None:
        self.py_func, self._signature, self._options = function, signature, options
        self._made: Any = None

    def __call__(self, *args: Any) -> Any:
        return self.dispatcher(*args)

    @property
    def dispatcher(self) -> Any:
        """The dispatcher of Numba. Kernels that the function calls are replaced by their dispatchers, since Numba can
        call no other objects."""
        if self._made is not None:
            return self._made
        import numba

        # set before the next line, since kernels may call each other recursively
        self._made = numba.njit(**self._options, **WITHOUT)(self.py_func)
        names = self.py_func.__globals__
        for name in self.py_func.__code__.co_names:
            if isinstance(names.get(name), Kernel):
                names[name] = names[name].dispatcher
        if self._signature:
            self._made.compile(self._signature)
            self._made.disable_compile()
        return self._made


def compiled(signature: str = "", **options: Any) -> Callable[[Callable[..., Any]], Kernel]:
    """Decorator: a `Kernel`. signature: the only argument types. options: of `numba.njit`."""

    def wrap(function: Callable[..., Any]) -> Kernel:
        assert isinstance(function, FunctionType)
        return Kernel(function, signature, options)

    return wrap
