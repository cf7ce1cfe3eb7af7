"""Stage 3b: level 1 chooses the form by experiments, level 2 fits its constants to rollouts."""
