"""Neighbourhood expansion: clusters grown one after the other."""
