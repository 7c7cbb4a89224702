"""How Numba compiles kernels."""
