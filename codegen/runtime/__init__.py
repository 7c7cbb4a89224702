"""The run time of a rescheduled program: host, layouts, executor. Imports `schedule`, `tracer`."""
