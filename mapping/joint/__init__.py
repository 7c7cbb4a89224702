"""Partitioning into a machine: cut and hops together, by multilevel bisections and sweeps. Imports ir, partition."""
