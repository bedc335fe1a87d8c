"""Comparisons of schemes: frames of runs in, families of corrected rows with verdicts out."""
