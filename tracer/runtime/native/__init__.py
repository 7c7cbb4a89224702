"""The run-time support in C: one unit (`runtime.c`), compiled with each program; `compat.c` by itself."""
