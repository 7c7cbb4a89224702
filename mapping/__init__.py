"""Which processing unit runs what. Imports `support`, `ir`, `partition`."""
