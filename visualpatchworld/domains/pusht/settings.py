"""Tuned values of PushT, each with its reason."""

EPISODE_STEPS = 125  # four or five pushes with the ways between them; human demonstrations have about as many
