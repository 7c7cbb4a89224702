"""How sums of several jobs are made: the two values of `reduce`. Imports nothing, since every run of a program asks."""

FAST, ORDERED = "fast", "ordered"  # whatever is fastest, or the same bits for any number of threads
