"""Coarsening: the levels of a hierarchy."""
