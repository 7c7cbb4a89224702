"""From a scope on the data of a run to its schedule. Imports `plan`, `graph`, `guards`."""
