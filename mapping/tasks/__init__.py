"""The tasks of a clustered graph: which core runs what, and the values that cores exchange. Imports `ir`."""
