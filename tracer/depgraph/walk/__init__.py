"""The walks over a trace that make the edges of the dependence graph. Imports `state`, `trace`."""
