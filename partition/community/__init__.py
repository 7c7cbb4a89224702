"""Partitioning by communities."""
