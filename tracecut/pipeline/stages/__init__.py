"""The stages of the main job, one file each."""
