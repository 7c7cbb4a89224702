"""Kernels that are compiled with less work than Numba's own take: half of the time of those that call many others.

What Numba does for each kernel that another one calls, and nobody needs where all is compiled for the outermost one:
a way in from Python, machine code, and all passes of LLVM, which run once more on the kernel that it ends in. Here it
stays IR that is linked into its callers, a *part*, until it is called from Python. So do the functions of NumPy and of
Python that kernels use.

Numba also finds out anew in each place what a sum of two integers is; here it looks once.

All of it reaches into Numba while a kernel is compiled, under Numba's own lock, and leaves Numba as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from numba.core import base, codegen, compiler, cpu, dispatcher, sigutils, targetconfig, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.types import functions

# Types without functions in them: what an operation on them is does not depend on where it stands.
PLAIN = (types.Number, types.Boolean, types.Array, types.Literal, types.SliceType, types.NoneType)


class Part(codegen.JITCodeLibrary):
    """The library of a kernel that is only to be linked into others: IR, without machine code."""

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """There is no machine code to point to."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        return _Unbound(self._codegen)


class _Unbound:
    """The code generator as a part sees it: what is not in the memory has no environment there."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def set_env(self, name: str, environment: object) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class QuickDispatcher(CPUDispatcher):
    """A function of `numba.njit` whose callees are parts."""

    _cache: Any
    _compiler: Any

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        own = self._compiler
        self._compiler = _Compiler(own.py_func, own.targetdescr, own.targetoptions, own.locals, own.pipeline_class)

    def compile(self, signature: Any) -> Any:
        """As in Numba; a part while another kernel is compiled, and with machine code at any other time."""
        with global_compiler_lock:
            kind, _ = sigutils.normalize_signature(signature)
            known: Any = self.overloads.get(tuple(kind))
            if known is not None and (_work.depth or not isinstance(known.library, Part)):
                return known.entry_point
            if known is not None:
                del self.overloads[tuple(kind)]
            cache = self._cache
            if _work.depth:
                self._cache = _Kept(cache)
            try:
                with _work.inside():
                    return super().compile(signature)
            finally:
                self._cache = cache

    def add_overload(self, result: Any) -> None:
        """As in Numba; calls from Python do not find parts."""
        if isinstance(result.library, Part):
            self.overloads[tuple(result.signature.args)] = result
        else:
            super().add_overload(result)


def quick(function: FunctionType, *, cache: bool = False, **options: Any) -> QuickDispatcher:
    """The kernel of a function. options: of `numba.njit`."""
    found = QuickDispatcher(function, targetoptions={"nopython": True, "boundscheck": None, **options})
    if cache:
        found.enable_caching()
    return found


_OwnCompiler: Any = dispatcher._FunctionCompiler  # type: ignore[attr-defined]


class _Compiler(_OwnCompiler):  # type: ignore[misc]
    def _compile_core(self, arguments: Any, result: Any) -> Any:
        flags = compiler.Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        typing, target = self.targetdescr.typing_context, self.targetdescr.target_context
        kind = Part if _work.depth > 1 else codegen.JITCodeLibrary
        library = kind(target.codegen(), self.py_func.__qualname__)
        library.enable_object_caching()
        return compiler.compile_extra(
            typing,
            target,
            self.py_func,
            args=arguments,
            return_type=result,
            flags=flags,
            locals=self.locals,
            library=library,
            pipeline_class=self.pipeline_class,
        )


class _Kept:
    """The cache of a kernel while a part of it is made: what was kept is taken, but there is nothing to keep."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def load_overload(self, *asked: Any) -> Any:
        return self._cache.load_overload(*asked)

    def save_overload(self, *made: Any) -> None:
        pass


class _Work:
    """What is being compiled. Only the holder of Numba's lock looks at it."""

    def __init__(self) -> None:
        self.depth = 0  # kernels of ours that are, each for the one before
        self.subroutine = False  # the next library is that of a function within Numba

    @contextmanager
    def inside(self) -> Iterator[None]:
        """While one more kernel is compiled."""
        before = [(owner, name, vars(owner).get(name)) for owner, name, _ in _CHANGES] if not self.depth else []
        if not self.depth:
            for owner, name, ours in _CHANGES:
                setattr(owner, name, ours)
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1
            for owner, name, theirs in before:
                if theirs is None:
                    delattr(owner, name)
                else:
                    setattr(owner, name, theirs)


_work = _Work()
_known: dict[Any, Any] = {}  # operation, types and flags → what `get_call_type` found
_call_type = functions.BaseFunction.get_call_type
_subroutine = base.BaseContext._compile_subroutine_no_cache
_library = codegen.Codegen.create_library


def _known_call_type(self: Any, context: Any, arguments: Any, words: Any) -> Any:
    if words or not all(map(_plain, arguments)):
        return _call_type(self, context, arguments, words)
    flags = targetconfig.ConfigStack.top_or_none()
    named = None if flags is None else repr(sorted(flags._values.items(), key=lambda item: item[0]))
    key = id(self), id(context), tuple(arguments), named
    if key not in _known:
        _known[key] = self, context, _call_type(self, context, arguments, words)  # the first two: they stay
    return _known[key][2]


def _plain(kind: Any) -> bool:
    inner: Any = kind
    return isinstance(kind, PLAIN) or (isinstance(kind, types.BaseTuple) and all(map(_plain, inner.types)))


def _marked_subroutine(self: Any, *arguments: Any, **options: Any) -> Any:
    _work.subroutine = True
    return _subroutine(self, *arguments, **options)


def _part_or_library(self: Any, name: str, **options: Any) -> Any:
    """What nobody calls from Python is a part: subroutines, and functions without a way in."""
    flags = targetconfig.ConfigStack.top_or_none()
    if _work.subroutine or (flags is not None and flags.no_cpython_wrapper):
        _work.subroutine = False
        return Part(self, name, **options)
    return _library(self, name, **options)


def _without_parts(way_in: Callable[..., None]) -> Callable[..., None]:
    def made(self: Any, library: Any, *arguments: Any, **options: Any) -> None:
        if not isinstance(library, Part):
            way_in(self, library, *arguments, **options)

    return made


_CHANGES: tuple[tuple[type, str, Any], ...] = (
    (functions.Function, "get_call_type", _known_call_type),
    (base.BaseContext, "_compile_subroutine_no_cache", _marked_subroutine),
    (codegen.Codegen, "create_library", _part_or_library),
    (cpu.CPUContext, "create_cpython_wrapper", _without_parts(cpu.CPUContext.create_cpython_wrapper)),
    (cpu.CPUContext, "create_cfunc_wrapper", _without_parts(cpu.CPUContext.create_cfunc_wrapper)),
)
