"""The static tables of a traced program, and how its records are read with them. Imports `events`, `compact`."""
