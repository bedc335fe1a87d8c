"""Results made of given numbers, for tests of the page about them."""

import numpy as np
import xarray as xr

from jfed.results.meaning import describe


def results(schemes, seeds=6, rounds=12, clients=8, training=False, **coords):
    """Return a Dataset as `jfed.load` returns it, of schemes whose rates of return are given.

    Args:
        schemes: rate of return by scheme.
        seeds: number of seeds.
        rounds: number of rounds.
        clients: number of clients, half of which are of class 0.
        training: whether there is a test accuracy, which rises to the scheme's rate.
        **coords: further coordinates, one value per run.
    """
    rng = np.random.default_rng(0)
    names = np.repeat(list(schemes), seeds)
    rates = np.repeat(list(schemes.values()), seeds)
    runs, seed = len(names), np.tile(np.arange(seeds), len(schemes))
    k = max(1, clients // 2)
    returned = rng.binomial(k, rates[:, None], (runs, rounds)).astype(np.int32)
    counts = rng.binomial(rounds, rates[:, None] / 2, (runs, clients)).astype(np.int32)
    variables = {
        "num_selected": (("run", "round"), np.full((runs, rounds), k, np.int32)),
        "num_succeeded": (("run", "round"), returned),
        "round_time_s": (("run", "round"), np.ones((runs, rounds), np.float32)),
        "times_selected": (("run", "client"), counts),
        "times_succeeded": (("run", "client"), counts // 2),
        "client_class": (("run", "client"), np.tile(np.arange(clients) % 2, (runs, 1)).astype(np.int32)),
    }
    axes = {"round": np.arange(1, rounds + 1)}
    if training:
        axes["eval_round"] = axes["round"]
        rising = rates[:, None] * (1 - np.exp(-np.arange(1, rounds + 1) / rounds))
        noise = rng.normal(0, 0.01, (runs, rounds))
        variables["test_accuracy"] = (("run", "eval_round"), np.clip(rising + noise, 0, 1).astype(np.float32))
        variables["test_loss"] = (("run", "eval_round"), np.abs(1 - rising + noise).astype(np.float32))
        variables["client_accuracy"] = (("run", "client"), rng.uniform(0, 1, (runs, clients)).astype(np.float32))
    own = {
        "method": names, "mode": np.full(runs, "faithful"), "seed": seed, "world": np.full(runs, "volatility"),
        "oracle": np.zeros(runs, int), "dataset": np.full(runs, "digits" if training else "none"),
        "config": np.full(runs, "0"), **coords,
    }  # fmt: skip
    return describe(xr.Dataset(variables, axes | {name: ("run", values) for name, values in own.items()}))
