"""GPUs as data, and what their memory makes of a kernel's accesses."""
