"""The independent checker of schedules. Imports `codegen.schedule` and the evaluation of a run, never the code that
builds schedules.
"""
