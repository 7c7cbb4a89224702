"""Scores of the nodes of a graph, and linear systems, by repeated products with one matrix."""
