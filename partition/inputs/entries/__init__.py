"""The entries of matrix files, parsed piece by piece by compiled code."""
