"""Which order is fastest: trials on a replica of the data, timed side by side. Imports `schedule`, `runtime`."""
