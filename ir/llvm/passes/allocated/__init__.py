"""Passes for memory that each iteration of a loop allocates and frees: allocated once, or kept to the next one."""
