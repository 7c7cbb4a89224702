"""The output folder of `tracecut optimize`, and the result read from it."""
