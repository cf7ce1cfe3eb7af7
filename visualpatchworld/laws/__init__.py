"""Stage 3a: the grammar of laws: plain functions whose source goes into programs, and the forms that they make up."""
