"""Partitioners of others, each run in a worker process behind checked input."""
