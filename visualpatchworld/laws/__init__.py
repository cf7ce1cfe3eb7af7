"""Stage 3a: the qualitative forms a world's dynamics may have, and the laws they are made of, with constants yet unknown."""
