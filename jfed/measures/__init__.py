"""What is computed from finished runs: promises kept, optima, costs, fairness; needs no jax."""
