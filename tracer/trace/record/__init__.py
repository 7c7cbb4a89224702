"""The run that is recorded: shared memory, the recorder, the reader. Imports `instrument`, `file`."""
