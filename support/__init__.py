"""What knows nothing of programs or graphs: errors, files, arrays, memory, progress. Imports nothing of tracecut."""
