"""Refinement: local search on a partition."""
