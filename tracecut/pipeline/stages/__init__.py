"""What the stages of `tracecut optimize` are made of, one file each."""
