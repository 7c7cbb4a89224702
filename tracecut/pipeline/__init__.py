"""`tracecut optimize` from settings to result: the stages, their order and their output. Imports `report`."""
