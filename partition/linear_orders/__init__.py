"""Linear orders of jobs and data."""
