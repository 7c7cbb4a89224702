"""GPU kernels of captured regions, with their arrays: variants, runs on this CPU, the memory model's choice.

Imports `gpu`, `ptx`, `emulation`, `runtime`.
"""
