"""The one room that writes and reads results on disk; needs no jax."""
