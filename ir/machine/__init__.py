"""Machines: cores, caches, and the simulator of a cache. Imports `support`."""
