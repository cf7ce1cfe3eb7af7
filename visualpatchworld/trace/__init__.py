"""Stage 2: episodes in files become episodes in memory, and episodes become transition records."""
