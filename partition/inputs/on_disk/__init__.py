"""Matrices that are larger than the memory: their rows in temporary files, in pieces of bounded size."""
