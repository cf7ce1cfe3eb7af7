"""The grammar of laws: plain functions whose source goes into programs, the same under numpy and jax.numpy."""
