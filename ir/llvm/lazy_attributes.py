"""Attributes that are computed on first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value", covariant=True)


class once(Generic[Value]):
    """As `functools.cached_property`, which takes a lock up to Python 3.11: of a module that is most of its time."""

    def __init__(self, made: Callable[[Any], Value]) -> None:
        self.made = made
        self.name = made.__name__
        self.__doc__ = made.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> once[Value]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: object | None, owner: type) -> once[Value] | Value:
        if instance is None:
            return self
        value = instance.__dict__[self.name] = self.made(instance)
        return value
