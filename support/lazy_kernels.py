"""Kernels of Numba that load Numba when one of them is first called, not with their module.

Loading it takes half a second, as long as all else that a short trace imports. What is walked through in plain Python
(see `plain_kernels.py`) never needs it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any


class Kernel:
    """What `numba.njit` makes of a function, made when it is called.

    Kernels of the same module may call each other. `py_func`: the function, as that of Numba has it. `signature`: the
    only types that it takes, as Numba writes them; none: those that it is called with.
    """

    def __init__(self, function: FunctionType, signature: str, options: dict[str, Any]) -> None:
        self.py_func, self._signature, self._options = function, signature, options
        self._made: Any = None

    def __call__(self, *args: Any) -> Any:
        return self.dispatcher(*args)

    @property
    def dispatcher(self) -> Any:
        """Numba's. What the function calls becomes Numba's by its name, since that knows no other callables."""
        if self._made is not None:
            return self._made
        import numba

        self._made = numba.njit(**self._options)(self.py_func)  # there before the next line asks for it in a circle
        names = self.py_func.__globals__
        for name in self.py_func.__code__.co_names:
            if isinstance(names.get(name), Kernel):
                names[name] = names[name].dispatcher
        if self._signature:
            self._made.compile(self._signature)
            self._made.disable_compile()
        return self._made


def compiled(signature: str = "", **options: Any) -> Callable[[Callable[..., Any]], Kernel]:
    """Decorator: a `Kernel`. signature: of the only types that it takes. options: as of `numba.njit`."""

    def wrap(function: Callable[..., Any]) -> Kernel:
        assert isinstance(function, FunctionType)
        return Kernel(function, signature, options)

    return wrap
