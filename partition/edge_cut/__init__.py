"""Job partitions by way of an edge cut: split-and-connect, weighted vertices."""
