"""C text of the kernels: `kernels.c` and the templates that it includes for each value and index type."""
