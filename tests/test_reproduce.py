"""The comparison of runs that are made again with those that the repository has."""

import numpy as np
import pandas as pd
import pytest

from tools import reproduce

pytestmark = pytest.mark.check
NAME = "cs_ucb_channels"


def runs(noise=0.0, shift=0.0, channels=(2, 4, 5), seeds=8):
    """Return a table of runs; `noise` changes half of the seeds by chance, `shift` all by as much."""
    rng, rows = np.random.default_rng(0), []
    for scheme, mean in (("uniform", 10.0), ("round-robin", 11.0), ("cs-ucb", 5.0)):
        for n in channels:
            for seed in range(seeds):
                own = mean + n + 0.1 * seed
                moved = noise * rng.normal() if seed % 2 else 0.0
                rows.append({"experiment": NAME, "scheme": scheme, "model_bits": 5e3, "num_channels": n, "seed": seed,
                             "num_rounds": 5000, "gap": own + moved + shift * (scheme == "cs-ucb")})  # fmt: skip
    return pd.DataFrame(rows)


def compared(new, kept):
    return reproduce.compared("cs_ucb_numerical", NAME, new, kept)


def test_equal_runs_came_out_as_before():
    found = compared(runs(), runs())
    assert (found.runs, found.same, found.good) == (72, 72, True)
    assert found.apart == (0.0, "") and found.verdicts == ()


def test_runs_that_differ_by_chance_are_compared_by_their_means():
    found = compared(runs(noise=1e-2), runs())
    assert found.good and found.same == 36 and 0 < found.apart[0] <= reproduce.CHANCE


def test_a_mean_that_moved_is_told():
    found = compared(runs(noise=1e-3, shift=0.1), runs())
    assert not found.good and found.apart[0] > reproduce.CHANCE
    assert found.apart[1].startswith("gap (cs-ucb, ")


def test_a_verdict_that_turned_is_told():
    found = compared(runs(shift=20.0), runs())
    assert not found.good
    assert found.verdicts == ("U-5 (model_bits = 5000): supported before, contradicted now",)


def test_the_repository_may_have_further_settings_but_not_fewer():
    assert compared(runs(channels=(2,)), runs()).runs == 24
    lost = compared(runs(), runs(channels=(2,)))
    assert not lost.good and lost.wrong == "48 of 72 runs are on one side only"
    assert compared(runs(seeds=7), runs()).wrong == "9 of 72 runs are on one side only"


def test_runs_that_no_column_tells_apart_are_told():
    twice = pd.concat([runs(), runs().assign(gap=0.0)])
    assert compared(twice, runs()).wrong.startswith("several runs have the same scheme, model_bits, num_channels, seed")


def test_a_command_that_fails_is_told(tmp_path):
    one = reproduce.Making("no_such_experiment", "a minute", 1, [NAME])
    (found,) = reproduce.made(one, tmp_path, {NAME: runs()})
    assert not found.good and found.wrong == reproduce.NOT_MADE
    assert "not as before" in reproduce.table([found]).rows[0]
