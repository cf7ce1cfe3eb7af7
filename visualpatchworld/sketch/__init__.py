"""Stage 3a: sketches, the qualitative forms a world's dynamics may have, as ordinary Python with constants yet unknown."""
