"""VisualPatchWorld: readable programs of how a world evolves under action, from experiments and traces, and planning with them."""
