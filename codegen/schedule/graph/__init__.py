"""The locality graph of a scope, and orders of its jobs. Imports `plan`."""
