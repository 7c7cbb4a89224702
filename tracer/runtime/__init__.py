"""The C library that is linked into programs, and its binding. Imports `toolchain`."""
