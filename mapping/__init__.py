"""Machines, and which processing unit runs what."""

from .place import place_in_order

__all__ = ["place_in_order"]
