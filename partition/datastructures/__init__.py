"""Data structures and conversions that several families share. Imports `ir`, `support`."""
