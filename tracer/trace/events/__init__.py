"""What can happen in a trace: its words, memory operations, calls of libraries."""
