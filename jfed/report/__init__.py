"""Tables, notes and figures of finished runs; needs no jax."""
