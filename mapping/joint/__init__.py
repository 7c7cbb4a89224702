"""Joint partitioning and placement: minimises hops by multilevel local search. Imports `ir`, `partition`."""
