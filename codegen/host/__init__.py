"""Code for the CPU: loops outlined, versions, and the program woven from them. Imports `schedule`."""
