"""Partitioning and ordering: one function a method, one registry (DESIGN §6)."""

from .catalogue import METHODS, Method, methods
from .registry import order, partition

__all__ = ["METHODS", "Method", "methods", "order", "partition"]
