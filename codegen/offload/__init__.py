"""Loops of a running program on a card, or on an emulated one: their kernels, the data there, and the hooks."""
