"""External partitioners, each in a worker process with validated input."""
