"""Maps work to processing units. Imports `support`, `ir`, `partition`."""
