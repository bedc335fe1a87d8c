"""Tests, intervals and summaries of scores, one row per scheme and seed; needs no jax."""
