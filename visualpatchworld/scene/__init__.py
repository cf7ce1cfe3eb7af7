"""Stage 1: an observation becomes a scene graph, and a scene graph becomes a state vector."""
