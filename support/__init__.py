"""Basics without programs or graphs: errors, files, arrays, memory, progress. Imports nothing of tracecut."""
