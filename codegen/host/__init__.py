"""Code for the CPU: outlining of loops, vector versions, and weaving. Imports `schedule`."""
