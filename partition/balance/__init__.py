"""The balance bound: what is possible, and how a partition is brought within it."""
