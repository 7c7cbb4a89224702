"""ParCubed: parallel partitioning by joining neighbours in shared memory."""
