"""Partitioning and ordering: one function per method, one registry."""

from .api import order, partition
from .methods import METHODS, Method, methods

__all__ = ["METHODS", "Method", "methods", "order", "partition"]
