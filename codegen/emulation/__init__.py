"""Emitted kernels on this CPU: the very IR that their PTX is made of, counted, traced and checked for races."""
