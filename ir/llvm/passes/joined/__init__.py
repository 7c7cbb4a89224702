"""Passes that make one loop over all elements of two: one over pieces of them, and one over the elements of a piece."""
