"""Sparse matrices times vectors: formats, kernels for the CPU, and the choice between them. Imports no other room."""
