"""The schedule: what it is, and its file form."""
