"""Anybody's CSV file as a frame: `jfed.results.frames.read_csv` puts these parts together.

In order: `cells` splits the file, `wide` turns a column per run into rows, `keys` finds schemes and seeds, `numerals`
reads numbers, and `rounds` takes one score per run from a log with several rounds per run.
"""
