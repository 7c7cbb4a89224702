"""From sources to a canonical module: compilers, passes, Numba. Imports `ir.llvm`, `support`."""
