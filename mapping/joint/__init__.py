"""Partitioning into a machine: cut and hops together, by multilevel local search. Imports `ir`, `partition`."""
