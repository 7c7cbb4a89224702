"""The balance bound: the least possible imbalance, and rebalancing of partitions."""
