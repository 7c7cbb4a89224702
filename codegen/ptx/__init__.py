"""Code for GPUs: PTX kernels of a region. Imports `schedule`, `host`."""
