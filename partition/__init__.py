"""Partitioning and ordering: one function a method, one registry."""

from .api import order, partition
from .methods import METHODS, Method, methods

__all__ = ["METHODS", "Method", "methods", "order", "partition"]
