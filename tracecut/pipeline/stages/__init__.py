"""The implementation of the stages of `tracecut optimize`."""
