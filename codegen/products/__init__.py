"""`spmv`: products of sparse matrices on this CPU or on a card, whose kernels and forms are here. Imports `sparse`."""
