"""Runs whose loss exploded count as failed."""

import numpy as np
import xarray as xr

from jfed.results import load, sound


def runs(losses, broken=None):
    """Return results with these test losses, (runs, evaluations)."""
    losses = np.array(losses, float)
    n = len(losses)
    given = {"method": "a", "mode": "faithful", "oracle": 0, "dataset": "digits", "world": "w"}
    made = xr.Dataset(
        {"test_loss": (("run", "eval_round"), losses), "broken_round": ("run", broken or [0] * n)},
        {"seed": ("run", np.arange(n)), **{name: ("run", [value] * n) for name, value in given.items()}},
    )
    return made.assign_coords({f"{kind}_seed": ("run", np.arange(n)) for kind in ("data", "model", "environment")})


NAN, INF = np.nan, np.inf
LOSSES = [[2.3, 0.5], [2.3, 88.0], [2.3, 88.1], [1e30, 1e29], [500.0, 1.0], [2.0, INF], [3.0, NAN], [100.0, NAN]]
DIVERGED = [False, False, True, True, False, True, False, True]  # the last loss that is known decides


def test_a_loss_that_exploded():
    assert sound.diverged(runs(LOSSES)).tolist() == DIVERGED
    assert not sound.diverged(runs(LOSSES).drop_vars("test_loss")).any()


def test_diverged_and_broken_runs_have_no_score():
    results = runs(LOSSES, broken=[1, *[0] * 7])
    frame = load.tidy(results, {"x": load.score(results, "test_loss")})
    assert frame.x.isna().tolist() == [True, *DIVERGED[1:]]
    assert not sound.diverged(runs(LOSSES, broken=[0, 0, 3, *[0] * 5]))[2]  # a broken run is told as such
