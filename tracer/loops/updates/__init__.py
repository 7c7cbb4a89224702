"""Updates that may be done in any order: reductions, and what does the same in all iterations."""
