"""Threads: pools, barriers, ordered pieces of work."""
