"""Time and traffic of a placed clustering on a modelled machine. Imports `mapping.tasks`, `ir.machine`."""
