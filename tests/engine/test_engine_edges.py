"""Edge cases of the engine: no client returns, clients without images, models that diverge, hidden truth."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import (
    BATCH,
    LAYOUT,
    SELECTION,
    SIZES,
    TRAINING,
    K,
    Stepper,
    assert_same_tree,
    points,
    run,
)

from jfed.algorithms import deadline
from jfed.core import prng
from jfed.core.learning import Answers, Report
from jfed.engine.spec import build
from jfed.runner import units

pytestmark = pytest.mark.check


def test_a_run_in_which_nobody_returns_keeps_its_model_bit_for_bit():
    stepper = Stepper(points(TRAINING, "e3cs-0.5", environment__success_rates=(0.0,)), [0, 1], LAYOUT)
    before = stepper.host()
    record, _ = stepper.step(1)
    assert_same_tree(before.weights, stepper.host().weights)
    assert record.num_succeeded.tolist() == [0, 0]
    assert record.num_steps.tolist() == [0, 0]
    flat = run(points(TRAINING, "e3cs-0.5", environment__success_rates=(0.0,)), [0, 1])
    assert (flat.times_succeeded == 0).all()
    assert (flat.test_loss == flat.test_loss[:, :1]).all()


def test_clients_with_few_or_no_images_and_the_steps_they_make():
    delta = {"training__samples_per_client": SIZES, "cohort_size": K, "environment__success_rates": (1.0,)}
    where = points(TRAINING, "e3cs-0.5", **delta)
    done = run(where, [0, 1])
    kept = [n - int(0.1 * n + 1e-9) for n in SIZES]
    assert done.num_samples.values.tolist() == [kept, kept]
    for i, seed in enumerate((0, 1)):
        keys = prng.keys(jax.tree.map(jnp.asarray, prng.seeds(seed)))
        which = np.asarray(jax.random.randint(prng.at(keys.environment, 0, 1), (K,), 0, 4))
        steps = sum((1 + which[c]) * -(-n // BATCH) for c, n in enumerate(kept))
        assert (done.num_steps[i] == steps).all()
    assert np.isfinite(done.test_loss).all()
    assert (done.test_loss[:, -1] != done.test_loss[:, 0]).all()


@pytest.mark.parametrize("quota", [0.0, 1.0])
def test_all_clients_or_the_full_quota(quota):
    done = run(points(TRAINING, f"e3cs-{quota:g}", cohort_size=K), [0, 1])
    assert (done.num_selected == K).all()
    full = run(points(SELECTION, "e3cs-1", environment__success_rates=(1.0,)), range(2))
    np.testing.assert_allclose(full.expected_succeeded, SELECTION.cohort_size, rtol=1e-6)


def test_a_diverged_client_that_failed_poisons_nothing_and_one_that_returned_is_seen():
    stepper = Stepper(points(TRAINING, "e3cs-0.5"), [0, 1], LAYOUT)
    algorithm = build(stepper.unit.spec).algorithm
    weights = {"w": jnp.arange(6.0).reshape(2, 3)}
    updates = {"w": jnp.stack([jnp.full((2, 3), jnp.nan), jnp.ones((2, 3)), jnp.full((2, 3), jnp.inf)])}
    share = jnp.array([0.5, 0.25, 0.25])

    def averaged(returned):
        params = jax.tree.map(lambda x: jnp.asarray(x[0]), stepper.block.params.algorithm)
        answers = Answers(updates, Report(jnp.zeros(3)), share, returned)
        return algorithm.aggregate(None, weights, params, answers).weights

    moved = averaged(jnp.array([False, True, False]))
    np.testing.assert_array_equal(moved["w"], weights["w"] + 0.25)
    still = averaged(jnp.zeros(3, bool))
    assert_same_tree(weights, still)
    assert not np.isfinite(averaged(jnp.ones(3, bool))["w"]).any()


def test_the_three_readings_of_the_deadline():
    n = jnp.array([1, 1, 2, 0])
    selected, returned = jnp.array([1, 1, 0, 1], bool), jnp.array([1, 0, 0, 1], bool)
    for reading, expected in {"all": [1, 1, 2, 0], "selected": [2, 2, 4, 0], "returned": [4, 4, 8, 0]}.items():
        got = deadline.share(reading, n, selected, returned)
        np.testing.assert_allclose(got, np.array(expected) / 4)
    nobody = deadline.share("returned", n, selected, jnp.zeros(4, bool))
    assert np.isfinite(nobody).all()
    empty = deadline.share("returned", n, selected, jnp.array([0, 0, 0, 1], bool))  # returned, but without data
    assert np.isfinite(empty).all() and empty[3] == 0


def test_a_selector_sees_the_truth_only_if_it_declares_so(monkeypatch):
    from jfed.selectors import uniform

    seen, original = [], uniform.Options.make

    def spy(needs: bool):
        def make(self, dims):
            plain = original(self, dims)

            def select(key, state, params, view):
                seen.append(view.oracle is not None)
                return plain.select(key, state, params, view)

            return plain._replace(select=select, needs_oracle=needs)

        return make

    from jfed.engine.round import make_init, make_round

    for needs in (False, True):
        monkeypatch.setattr(uniform.Options, "make", spy(needs))
        (unit,) = units.plan(points(SELECTION, "uniform"), [0, 1], LAYOUT)
        block = unit.block()

        def one(seeds, params, num_samples, unit=unit):
            keys = jax.vmap(prng.keys)(seeds)
            state = jax.vmap(make_init(unit.spec))(keys, params, None, num_samples, None)
            t = jnp.int32(1)
            return make_round(unit.spec)(keys, params, state, num_samples, t, t)

        jax.eval_shape(one, *jax.tree.map(jnp.asarray, (block.seeds, block.params, block.num_samples)))
    assert seen == [False, True]
