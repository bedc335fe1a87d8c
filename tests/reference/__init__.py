"""Plain NumPy references of selection schemes, algorithms and local training, for tests only.

They are written from the papers, independently of the engine that they check.
"""
