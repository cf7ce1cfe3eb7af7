"""The search for a law: one table of rows, one score in bits, one beam over sums of terms, one fit of all constants."""
