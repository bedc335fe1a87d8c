"""Executors: where the units of a command are computed. Files stay the truth: a run's numbers are the same on all."""
