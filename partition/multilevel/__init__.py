"""The multilevel scheme: coarsen, partition, refine."""
