"""Streaming vertex cuts, one job after the other."""
