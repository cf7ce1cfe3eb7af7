"""Stage 3c: programs as text; written from the functions that were fitted, loaded, checked and rolled out."""
