"""The program that writes a trace of itself. Imports `events`, `compact`, `tables`."""
