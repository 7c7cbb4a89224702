"""GPU kernels in reports."""
