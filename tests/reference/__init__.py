"""Plain NumPy reference of E3CS, its baselines and its local training, for tests only.

Written from the paper, without a look at the engine that it checks.
"""
