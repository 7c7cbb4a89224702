"""The independent checker of schedules. Imports `codegen.schedule` and what a run is evaluated with, never what built
the schedule.
"""
