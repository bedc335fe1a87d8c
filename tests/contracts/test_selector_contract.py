"""What every selection scheme owes the engine: exact counts, fixed shapes, honest keys, no peeking.

One program per scheme walks through 50 rounds of a made-up world for several settings at once.
"""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jfed import catalog
from jfed.core.options import is_static
from jfed.core.types import Cohort, Dims, Feedback, Oracle, Problem, View
from jfed.selectors import cs_ucb, e3cs, eiffel, fedcs, pow_d, rbcs_f

K, ROUNDS = 8, 50
# Nothing is drawn after the start, or it decides ties only, of which there are none here.
DETERMINISTIC = {"fedcs", "fedcs deadline", "round-robin", "local-accuracy", "rbcs-f true", "cs-ucb best", "everybody",
                 "agnostic", "eiffel"}  # fmt: skip
FEATURES = ("power", "demand", "distance")
PLAIN: dict[str, Any] = {kind.called()[0].name: kind() for kind in catalog.members("selector")}
VARIANTS: dict[str, Any] = PLAIN | {
    "e3cs exact clipped": e3cs.Options(quota="inc", sampler="exact", clip_exponent=True),
    "rpow-d": pow_d.Options(form="rpow-d"),
    "rbcs-f true": rbcs_f.Options(beta=0.1, estimate="truth"),
    "cs-ucb truncated": cs_ucb.Options(bonus="truncated"),
    "cs-ucb best": cs_ucb.Options(estimate="truth"),
    "fedcs deadline": fedcs.Options(rule="deadline", deadline_s=9.0, limited=True),
}
VARIANTS["eiffel"] = eiffel.Options(budget=4.0)  # of which half is enough for any of them
VARIANTS["rbcs-f"] = rbcs_f.Options(beta=0.1)  # which k = 1 of 8 clients can keep
# k, whether some clients are away; the last two differ from the first in the key alone, and in nothing
SETTINGS = [(3, False), (1, False), (K, False), (3, True), (3, False), (3, False)]
SEEDS = [0, 0, 0, 0, 1, 0]


class Walk:
    """All settings of one scheme: a batched walk, and the same walks one by one."""

    def __init__(self, variant: str) -> None:
        self.variant, options = variant, VARIANTS[variant]
        self.name = catalog.label(options)
        self.selector = options.make(Dims(K, K, features=FEATURES))
        per_setting = [options.params(Problem(K, k, ROUNDS)) for k, _ in SETTINGS]
        self.params = jax.tree.map(lambda *xs: jnp.stack([jnp.asarray(x) for x in xs]), *per_setting)
        rng = np.random.default_rng(0)
        self.away = jnp.array(
            [rng.uniform(size=(ROUNDS, K)) < 0.4 if some else np.zeros((ROUNDS, K)) for _, some in SETTINGS], bool
        )
        self.loss = jnp.asarray(rng.uniform(0.5, 3, (ROUNDS, K)), jnp.float32)
        self.came = jnp.asarray(rng.uniform(size=(ROUNDS, K)) < 0.6)
        self.context = jnp.asarray(rng.uniform(0.5, 2, (ROUNDS, K, len(FEATURES))), jnp.float32)
        keys = jax.vmap(jax.random.key)(jnp.array(SEEDS))
        inputs = (keys, self.params, self.away)
        batched, single = jax.jit(lambda xs: (jax.vmap(self.walk)(*xs), jax.lax.map(lambda x: self.walk(*x), xs)))(
            inputs
        )
        self.batched, self.single = jax.tree.map(np.array, (batched, single))

    def view(self, t, away) -> View:
        rates, context = jnp.tile(jnp.array([0.1, 0.3, 0.6, 0.9]), K // 4), self.context[t - 1]
        return View(
            round=t,
            horizon=jnp.int32(ROUNDS),
            available=~away,
            num_samples=jnp.array([5, 1, 7, 20, 3, 3, 9, 2], jnp.int32),
            context=context,
            probed=jnp.full(K, jnp.nan),
            probed_accuracy=jnp.full(K, jnp.nan),
            oracle=Oracle(rates, context.sum(-1)) if self.selector.needs_oracle else None,
        )

    def round(self, key, state, params, t, away, loss, came):
        view = self.view(t, away)
        asked = jnp.zeros(K, bool)
        if self.selector.probe is not None:
            asked = self.selector.probe(jax.random.fold_in(key, 2 * t), state, params, view).asked
            answers = jnp.where(asked, loss, jnp.nan)
            view = view._replace(probed=answers, probed_accuracy=answers / 3)
        state, cohort = self.selector.select(jax.random.fold_in(key, 2 * t + 1), state, params, view)
        back = cohort.selected & came
        waited = jnp.where(cohort.selected, view.context.sum(-1) * loss, 0.0)
        heard = jnp.where(back, loss, jnp.nan)
        fed = Feedback(selected=cohort.selected, succeeded=back, latency_s=waited, loss=heard)
        return self.selector.update(state, params, view, cohort, fed), (cohort, asked)

    def walk(self, key, params, away):
        def step(state, x):
            state, seen = self.round(key, state, params, *x)
            return state, (state, *seen)

        start = self.selector.init(jax.random.fold_in(key, 0), params)
        rounds = jnp.arange(1, ROUNDS + 1, dtype=jnp.int32)
        _, (states, cohort, asked) = jax.lax.scan(step, start, (rounds, away, self.loss, self.came))
        return states, cohort, asked


@pytest.fixture(scope="module")
def walk():
    return functools.cache(Walk)


@pytest.fixture(params=VARIANTS)
def walked(request, walk):
    return walk(request.param)


def test_exactly_k_are_selected(walked):
    _, cohort, _ = walked.batched
    for i, (k, some_away) in enumerate(SETTINGS):
        k = K if walked.name in ("everybody", "agnostic") else k
        counts = cohort.selected[i].sum(-1)
        here = (~np.array(walked.away[i])).sum(-1)
        if walked.name == "eiffel":  # which spends a budget
            assert ((counts >= np.minimum(here, 1)) & (counts <= here)).all() and (counts[1:] < K).all()
            continue
        if some_away:
            assert not (cohort.selected[i] & np.array(walked.away[i])).any()
            np.testing.assert_array_equal(counts, np.minimum(k, here))
        else:
            assert (counts == k).all()
    assert cohort.selected.dtype == bool and cohort.selected.shape == (len(SETTINGS), ROUNDS, K)


def test_inclusion_probabilities_sum_to_the_cohort_or_are_not_given(walked):
    _, cohort, _ = walked.batched
    assert cohort.inclusion.shape == cohort.selected.shape
    if np.isnan(cohort.inclusion).any():
        assert np.isnan(cohort.inclusion).all()
        return
    assert (cohort.inclusion >= 0).all() and (cohort.inclusion <= 1).all()
    np.testing.assert_allclose(cohort.inclusion.sum(-1), cohort.selected.sum(-1), rtol=1e-3)
    assert not (cohort.selected & (cohort.inclusion == 0)).any()


def test_the_same_key_gives_the_same_and_another_key_another(walked):
    _, cohort, _ = walked.batched
    np.testing.assert_array_equal(cohort.selected[0], cohort.selected[5])
    if walked.variant not in DETERMINISTIC:
        assert (cohort.selected[0] != cohort.selected[4]).any()


def test_batched_is_the_same_as_one_by_one(walked):
    for a, b in zip(jax.tree.leaves(walked.batched), jax.tree.leaves(walked.single), strict=True):
        if a.dtype.kind == "f":
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
        else:
            np.testing.assert_array_equal(a, b)


def test_no_state_becomes_nan_in_fifty_rounds(walked):
    states, _, _ = walked.batched
    for leaf in jax.tree.leaves(states):
        assert not np.isnan(leaf).any() if leaf.dtype.kind == "f" else True


def test_shapes_and_types_of_params_and_state_last(walked):
    def sketch(tree):
        # A weak type in the initial state alone would compile every chunk twice.
        return jax.tree.map(lambda x: (x.shape, x.dtype, x.weak_type), tree)

    key = jax.random.key(0)
    params = jax.tree.map(lambda x: x[0], walked.params)
    away, loss, came = walked.away[0, 0], walked.loss[0], walked.came[0]
    start = jax.eval_shape(walked.selector.init, key, params)
    after, (cohort, _) = jax.eval_shape(walked.round, key, start, params, jnp.int32(1), away, loss, came)
    assert sketch(start) == sketch(after)
    assert type(start) is type(after)
    assert isinstance(cohort, Cohort)
    assert all(leaf.dtype in (jnp.int32, jnp.float32, jnp.bool_) for leaf in jax.tree.leaves(params))


def test_whom_a_scheme_asks(walked):
    _, cohort, asked = walked.batched
    if walked.selector.probe is None:
        assert not asked.any()
        return
    assert not (asked & np.array(walked.away)).any()
    assert not (cohort.selected & ~asked).any()
    for i, (k, _) in enumerate(SETTINGS):
        here = (~np.array(walked.away[i])).sum(-1)
        d = K if walked.name == "local-accuracy" else min(K, -(-3 * k // 2))
        np.testing.assert_array_equal(asked[i].sum(-1), np.minimum(d, here))


def test_on_how_many_images_a_candidate_answers():
    problem = Problem(K, 3, ROUNDS)
    for form, images in (("pow-d", np.iinfo(np.int32).max), ("cpow-d", 7)):
        options = pow_d.Options(b=7, form=form)
        selector, params = options.make(Dims(K, K)), jax.tree.map(jnp.asarray, options.params(problem))
        nothing = jnp.full(K, jnp.nan)
        view = View(
            round=jnp.int32(1),
            horizon=jnp.int32(2),
            available=jnp.ones(K, bool),
            num_samples=jnp.full(K, 9),
            context=jnp.ones((K, 1)),
            probed=nothing,
            probed_accuracy=nothing,
            oracle=None,
        )
        state = selector.init(jax.random.key(0), params)
        assert int(selector.probe(jax.random.key(0), state, params, view).num_images) == images


@pytest.mark.parametrize("name", PLAIN)
def test_options(name):
    options = VARIANTS[name]
    assert hash(options) == hash(dataclasses.replace(options))
    for field in dataclasses.fields(options):
        assert field.default is not dataclasses.MISSING or not is_static(field)
        hash(getattr(options, field.name))
    for k in (1, 3, K):
        problem = Problem(K, k, ROUNDS)
        params = options.params(problem)
        assert all(isinstance(leaf, np.ndarray) for leaf in jax.tree.leaves(params))
        assert k <= options.slots(problem) <= K
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.anything = 1


def test_every_scheme_has_a_name_for_tables():
    for name in catalog.names("selector"):
        for mode in ("faithful", "corrected"):
            options = catalog.scheme(name, mode)
            assert catalog.label(options) == name == catalog.canonical_name("selector", name)
            assert catalog.room_of(options) == "selector"
    assert {type(catalog.scheme(name)) for name in catalog.names("selector")} == set(catalog.members("selector"))


def test_oracles_are_those_that_tables_mark():
    for name in catalog.names("selector"):
        knows = name.startswith(("fedcs", "best-", "rbcs-f-true-")) or name == "cs-ucb-best"
        assert catalog.scheme(name).make(Dims(K, K)).needs_oracle == knows
