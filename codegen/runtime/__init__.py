"""The rescheduled program while it runs: its host, its layouts, its executor. Imports `schedule`, `tracer`."""
