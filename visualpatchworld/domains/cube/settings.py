"""Tuned values of Cube, each with its reason."""

EPISODE_STEPS = 200  # as upstream's episodes
