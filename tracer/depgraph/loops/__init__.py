"""Dependences between the iterations of loops, and the locality graph of jobs. Imports `state`, `walk`, `trace`."""
