"""Rounds that end early: only the first clients count, and only the steps for which there is time."""

import jax
import numpy as np
import pytest
from support import BATCH, K, Stepper, assert_same_tree, run, unpack

import jfed
from jfed.controllers import fixed
from jfed.envs import composed
from jfed.envs.composed import Always, Coins, Deadline, First, Tempo
from jfed.selectors import uniform


def test_a_round_ends_with_the_first_that_return():
    """Of 4 asked, 2 count; times without local steps are those that the world draws without any scheme."""
    world = composed.Options(
        success=Coins((0.5, 0.9)), speed=Tempo((0.0,), (0.5, 1.0, 2.0), 0.4), waiting=First(2.0, 3.0)
    )
    config = jfed.Config(K, 4, 30, selector=uniform.Options(), environment=world)
    drawn = jfed.outcomes(config, [0, 1])
    layout = jfed.Layout(block_size=2, chunk_rounds=30, record_selected=True)
    results = run([jfed.Point(config, {"method": "uniform"})], [0, 1], layout)
    cohorts = np.unpackbits(results["selected"].values.astype(np.uint8), axis=2, count=K).astype(bool)
    few = 0
    for seed, t in np.ndindex(2, 30):
        mine = np.flatnonzero(cohorts[seed, t])
        back = mine[drawn.succeeded[seed, t, mine]]
        times = np.sort(drawn.latency_s[seed, t, back])
        few += len(times) < 2
        want = times[1] if len(times) >= 2 else drawn.latency_s[seed, t, mine].max()
        assert results["num_selected"].values[seed, t] == len(mine) == 4
        assert results["num_succeeded"].values[seed, t] == min(2, len(times))
        assert results["round_time_s"].values[seed, t] == pytest.approx(want, rel=1e-5)
    assert 0 < few < 60


@pytest.mark.check
def test_clients_stop_in_time_for_the_deadline():
    """Three steps of eight fit: the model is that of three planned steps, bit for bit."""
    training = jfed.Training(samples_per_client=20, batch_size=BATCH, test_set="official")
    config = jfed.Config(K, 3, 3, selector=uniform.Options(), training=training)

    def stepped(steps, waiting):
        world = composed.Options(success=Always(), speed=Tempo((0.1,), (0.05,), 0.0), waiting=waiting)
        own = jfed.replace(config, {"environment": world, "controller": fixed.Options(steps)})
        stepper = Stepper([jfed.Point(own, {})], [0])
        records = [stepper.step(t)[0] for t in (1, 2, 3)]
        return stepper.host().weights, records

    cut, records = stepped(8, Deadline(0.42, partial=True))
    planned, others = stepped(3, Deadline(0.42, partial=True))
    free, many = stepped(8, Deadline(2.0, partial=True))
    assert [r.num_steps.item() for r in records] == [r.num_steps.item() for r in others] == [9] * 3
    assert [r.num_steps.item() for r in many] == [24] * 3
    assert all(r.round_time_s.item() == pytest.approx(0.35) for r in records)
    assert (unpack(records[0], K) == unpack(others[0], K)).all()
    assert_same_tree(cut, planned)
    assert any(a.tobytes() != b.tobytes() for a, b in zip(jax.tree.leaves(cut), jax.tree.leaves(free), strict=True))
