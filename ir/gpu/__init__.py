"""GPUs as data files, and a model of their memory: addresses in, counts and times out. Imports `ir/machine`."""
