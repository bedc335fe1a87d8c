"""Simulated experiments of which it is known what a table should say, by the statements of tables."""
