"""Kernels as CUDA C that people can read, compile and change."""
