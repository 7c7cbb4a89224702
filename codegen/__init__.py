"""From loops and their data to schedules and code. Imports `partition`, `mapping`, `tracer`, `ir`, `support`."""
