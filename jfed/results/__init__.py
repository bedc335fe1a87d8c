"""The only package that writes and reads results on disk; it needs no jax."""
