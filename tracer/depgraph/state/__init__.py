"""What a walk over a trace keeps: shadow memory, call frames, output, and tables of steps. Imports `trace`."""
