"""Passes that put a loop in the place of another one, which is kept aside for where the new one does not hold.

Loops over pieces and tiles become one loop over all of their elements; those that a computed number may end become
loops that none of them ends.
"""
