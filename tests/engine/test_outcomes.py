"""`jfed.outcomes` returns the draws that all schemes get."""

import numpy as np
import pytest

import jfed
from jfed.envs import exchange, volatility, wireless

pytestmark = pytest.mark.check

WORLDS = (wireless.Options(model_bits=5e4, availability=0.7), volatility.Options(availability=0.6))


@pytest.mark.parametrize(
    "world", [WORLDS[0], pytest.param(WORLDS[1], marks=pytest.mark.proof)], ids=["wireless", "volatility"]
)
def test_every_scheme_meets_these_draws(world):
    base = jfed.Config(num_clients=6, cohort_size=3, num_rounds=12, environment=world)
    seeds = [3, 0, 7]
    drawn = jfed.outcomes(base, seeds)
    assert drawn.latency_s.shape == drawn.available.shape == (3, 12, 6) and drawn.idle_s.shape == (3, 12)
    record = jfed.Layout(record_selected=True)
    results = jfed.run(jfed.methods(base, ["uniform", "cs-ucb"]), seeds, layout=record, progress=False)
    for name in ("uniform", "cs-ucb"):
        for i, seed in enumerate(seeds):
            rows = (results["method"].values == name) & (results["seed"].values == seed)
            (one,) = results["selected"].values[rows]
            selected = np.unpackbits(one.astype(np.uint8), axis=1, count=6).astype(bool)
            assert not (selected & ~drawn.available[i]).any()
            waited = np.where(selected, drawn.latency_s[i], 0).max(1)
            waited = np.where(selected.any(1), waited, drawn.idle_s[i])
            np.testing.assert_allclose(results["round_time_s"].values[rows][0], waited, rtol=1e-6)
            returned = (selected & drawn.succeeded[i]).sum(1)
            np.testing.assert_array_equal(results["num_succeeded"].values[rows][0], returned)


def test_expected_times_are_those_of_the_draws():
    base = jfed.Config(num_clients=3, cohort_size=1, num_rounds=20_000, environment=wireless.Options(model_bits=5e4))
    drawn = jfed.outcomes(base, [1])
    error = drawn.latency_s[0].std(0) / np.sqrt(20_000)
    assert (np.abs(drawn.latency_s[0].mean(0) - drawn.expected_latency_s[0, 0]) < 4.5 * error + 2e-3).all()
    assert (drawn.expected_latency_s == drawn.expected_latency_s[:, :1]).all()


def test_more_seeds_than_are_drawn_at_a_time_and_a_world_that_remembers():
    base = jfed.Config(num_clients=4, cohort_size=1, num_rounds=3, environment=exchange.Options())
    many, one = jfed.outcomes(base, range(70)), jfed.outcomes(base, [66])
    for name in many._fields:
        np.testing.assert_array_equal(getattr(many, name)[66], getattr(one, name)[0])
    results = jfed.run(jfed.methods(base, ["uniform"]), [66], progress=False, layout=jfed.Layout(record_selected=True))
    first = np.unpackbits(results["selected"].values[0, 0].astype(np.uint8), count=4).astype(
        bool
    )  # no client had taken part before
    assert np.isclose(results["round_time_s"].values[0, 0], one.latency_s[0, 0, first].max(), rtol=1e-6)
    with pytest.raises(jfed.ConfigError, match="at least one seed"):
        jfed.outcomes(base, [])
    with pytest.raises(jfed.ConfigError, match="Cannot select k = 5 of K = 4 clients"):
        jfed.outcomes(jfed.replace(base, {"cohort_size": 5}), [0])
