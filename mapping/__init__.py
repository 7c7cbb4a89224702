"""Machines, and which processing unit runs what."""

from .in_order import place_in_order

__all__ = ["place_in_order"]
