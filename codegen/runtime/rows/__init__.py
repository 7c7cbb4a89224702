"""Rows behind pointers in a program that runs: where their pointers stand, and how a scope is entered by that."""
