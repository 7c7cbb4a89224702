"""Partitioning and ordering: one function a method, one registry (DESIGN §6)."""

from .registry import METHODS, Method, methods, order, partition

__all__ = ["METHODS", "Method", "methods", "order", "partition"]
