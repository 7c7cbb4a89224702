"""The instruction-level tracer: what a program is asked to report, how it reports it, and the files that keep it."""
