"""The main job from settings to result. Imports all stages, and `report`."""
