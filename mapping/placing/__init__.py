"""Which core each cluster of a given clustering gets: one file a method. Imports `mapping.tasks`."""
