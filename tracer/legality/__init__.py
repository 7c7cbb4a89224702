"""What a loop does on the numbers of a run, ending in a verdict. Imports `loops`, `ir`."""
