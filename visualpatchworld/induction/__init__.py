"""Stage 3b: from experience to a program of dynamics, reward and end."""
