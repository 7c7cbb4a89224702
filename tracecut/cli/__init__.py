"""The command line, one file a command. Imports `api`, `pipeline`, `report`."""
