"""Child processes: how they are started, watched, limited and ended. Imports `support`."""
