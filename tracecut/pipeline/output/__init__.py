"""The output folder of the main job, and the result read from it."""
