"""Laws that sketches are made of: plain functions over numbers and pairs of numbers, the same under numpy and jax.numpy."""
