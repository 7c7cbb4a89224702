"""Partitions by coordinates: curves, plane cuts, k-means."""
