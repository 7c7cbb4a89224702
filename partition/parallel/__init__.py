"""Threads: pools, barriers, ordered pieces."""
