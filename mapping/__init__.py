"""Machines, and which processing unit runs what."""

from .in_order import place_in_order
from .target_sizes import target_sizes

__all__ = ["place_in_order", "target_sizes"]
