"""Measures computed from finished runs: kept quotas, optima, costs, fairness; needs no jax."""
