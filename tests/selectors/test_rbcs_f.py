"""Tests that RBCS-F selects min(k, number available) clients, however many runs share a program."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from stepping import on_device

import jfed
from jfed.core.types import Dims, Feedback, Problem, View
from jfed.envs import exchange
from jfed.selectors import rbcs_f

K, SIZE, ROUNDS = 10, 4, 30
WIDTHS = [1, 3, 65]  # one run, an odd number, one more than a block has by default
OPTIONS = rbcs_f.Options(V=5.0)


@pytest.mark.parametrize("runs", WIDTHS)
def test_side_by_side(runs):
    rng = np.random.default_rng(runs)
    shape = (runs, ROUNDS, K)
    available = rng.uniform(size=shape) < rng.choice([0.2, 0.4, 0.8], (runs, ROUNDS, 1))
    available[:, 4], available[:, 5] = False, True
    selector = OPTIONS.make(Dims(K, SIZE))
    params = on_device(OPTIONS.params(Problem(K, SIZE, ROUNDS)))
    nothing = jnp.full(K, jnp.nan)

    def walk(key, *rows):
        def one(state, row):
            t, here, context, latency = row
            view = View(
                round=t,
                horizon=jnp.int32(ROUNDS),
                available=here,
                num_samples=jnp.ones(K, jnp.int32),
                context=context,
                probed=nothing,
                probed_accuracy=nothing,
                oracle=None,
            )
            state, cohort = selector.select(jax.random.fold_in(key, t), state, params, view)
            fed = Feedback(
                selected=cohort.selected,
                succeeded=cohort.selected,
                latency_s=jnp.where(cohort.selected, latency, 0.0),
                loss=nothing,
            )
            return selector.update(state, params, view, cohort, fed), cohort.selected

        return jax.lax.scan(one, selector.init(key, params), (jnp.arange(1, ROUNDS + 1, dtype=jnp.int32), *rows))[1]

    context, latency = rng.uniform(0.5, 2, (*shape, 1)).astype(np.float32), rng.uniform(1, 9, shape).astype(np.float32)
    keys = jax.vmap(jax.random.key)(jnp.arange(runs))
    selected = np.asarray(jax.jit(jax.vmap(walk))(keys, available, context, latency))
    wanted = np.minimum(SIZE, available.sum(-1))
    assert set(wanted.ravel().tolist()) >= {0, 1, 2, 3, SIZE} and not (selected & ~available).any()
    np.testing.assert_array_equal(selected.sum(-1), wanted)


@pytest.mark.proof
@pytest.mark.parametrize("seeds", WIDTHS)
def test_in_one_block_of_the_engine(seeds):
    config = jfed.Config(K, SIZE, ROUNDS, environment=exchange.Options(availability=0.4), selector=OPTIONS)
    layout = jfed.Layout(block_size=seeds, record_selected=True)
    results = jfed.run([jfed.Point(config, {"V": 5.0})], range(seeds), layout=layout, progress=False)
    available = jfed.outcomes(config, range(seeds)).available
    selected = np.unpackbits(results["selected"].values.astype(np.uint8), axis=2, count=K).astype(bool)
    wanted = np.minimum(SIZE, available.sum(-1))
    assert selected.shape == available.shape and set(wanted.ravel().tolist()) >= {1, 2, 3, SIZE}
    assert not (selected & ~available).any()
    np.testing.assert_array_equal(selected.sum(-1), wanted)
    np.testing.assert_array_equal(results["num_selected"].values, wanted)
