"""Initial partitions of the coarsest level."""
