"""Schedules of GPU kernels: blocks, and which data each keeps in shared memory. Imports `schedule`."""
