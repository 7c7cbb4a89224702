"""Expressions of a loop nest on the numbers of a run: all iterations at once."""
