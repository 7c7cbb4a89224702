"""Random loop kernels in C, and a brute-force oracle that says which of them may run in another order."""
