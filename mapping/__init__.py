"""Which processing unit runs what. Imports `support`, `ir`, `partition`."""

from .in_order import place_in_order

__all__ = ["place_in_order"]
