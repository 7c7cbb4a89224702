"""From a program to its loops, traces and dependence graph. Imports `ir` and `support`."""
