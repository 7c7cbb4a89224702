"""What a trace records of each block: segments, repeated segments, strided loops. Imports `events`."""
