"""The command line, one file per command. Imports `api`, `pipeline`, `report`."""
