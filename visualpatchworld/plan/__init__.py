"""Stage 4: acting with a program in receding-horizon control."""
