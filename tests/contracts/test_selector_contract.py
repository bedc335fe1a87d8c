"""The contract of every scheme: the rules that ship with jfed, and exact counts, which jfed's own schemes promise."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jfed import catalog, contracts
from jfed.contracts.finding import findings
from jfed.contracts.scheme import SelectorBench
from jfed.contracts.selectors import RULES
from jfed.core.types import Dims, Problem, View
from jfed.selectors import (
    clustered_similarity,
    cs_ucb,
    divfl,
    e3cs,
    eiffel,
    f3ast,
    fedcs,
    norms,
    optimal_sampling,
    pow_d,
    rbcs_f,
)

pytestmark = pytest.mark.check

K, ROUNDS = 8, 24
# These draw nothing after the start, or only to break ties, of which there are none here.
DETERMINISTIC = {"fedcs", "fedcs deadline", "local-accuracy", "rbcs-f true", "cs-ucb best", "everybody", "agnostic",
                 "eiffel", "best"}  # fmt: skip
PLAIN: dict[str, Any] = {kind.called()[0].name: kind() for kind in catalog.members("selector")}
VARIANTS: dict[str, Any] = PLAIN | {
    "e3cs exact clipped": e3cs.Options(quota="inc", sampler="exact", clip_exponent=True),
    "rpow-d": pow_d.Options(form="rpow-d"),
    "rbcs-f true": rbcs_f.Options(beta=0.1, estimate="truth"),
    "cs-ucb truncated": cs_ucb.Options(bonus="truncated"),
    "cs-ucb best": cs_ucb.Options(estimate="truth"),
    "f3ast corrected": f3ast.Options(form="corrected"),
    "fedcs deadline": fedcs.Options(rule="deadline", deadline_s=9.0, limited=True),
    "clustered-similarity pairs": clustered_similarity.Options(tree="pairs", measure="distance"),
    "divfl-stochastic": divfl.Options(search="stochastic"),
    "norm-importance": norms.Options(form="importance"),
    "optimal-sampling-approximate": optimal_sampling.Options(form="approximate"),
}
# Of k draws some may be of one client; and coins may all fall on one side.
DRAWS = {"clustered-size", "clustered-similarity", "clustered-similarity pairs", "norm-importance"}
COINS = {"optimal-sampling", "optimal-sampling-approximate"}
VARIANTS["eiffel"] = eiffel.Options(budget=4.0)  # half of it is enough for any client
VARIANTS["rbcs-f"] = rbcs_f.Options(beta=0.1)  # a promise that k = 1 of 8 clients can keep
SLOW = {"frequencies", "one trace"}  # test_any_scheme_in_any_world.py shows the latter, too


@functools.cache
def bench(variant) -> SelectorBench:
    return SelectorBench(VARIANTS[variant], catalog.ROOMS["selector"])


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_rules_that_ship_hold(variant):
    quick = [name for name, _ in RULES if name not in SLOW]
    found = findings(variant, bench(variant).home, RULES, bench(variant), quick)
    assert [finding for finding in found if finding.sentence] == [] and [f.rule for f in found] == quick
    assert (next(f.note for f in found if f.rule == "keys") == "deterministic") == (variant in DETERMINISTIC)


@pytest.mark.proof
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_slow_rules_hold(variant):
    found = findings(variant, bench(variant).home, RULES, bench(variant), SLOW)
    assert [finding for finding in found if finding.sentence] == [] and len(found) == len(SLOW)


@pytest.mark.parametrize("variant", VARIANTS)
def test_exactly_k_are_selected(variant):
    one = bench(variant)
    for name, seen in one.walked.items():
        counts, here = seen.cohort.selected.sum(-1), (~one.cases[name].away).sum(-1)
        k = K if variant in ("everybody", "agnostic") else one.size(name)
        if variant == "eiffel":  # it spends a budget instead
            assert ((counts >= np.minimum(here, 1)) & (counts <= here)).all() and (counts[1:] < K).all()
        elif variant in DRAWS:
            assert ((counts >= np.minimum(here, 1)) & (counts <= np.minimum(k, here))).all()
        elif variant in COINS:
            assert (counts <= here).all()
        elif one.member.probe is None or name not in ("losses are NaN", "no client has images"):
            np.testing.assert_array_equal(counts, np.minimum(k, here))


@pytest.mark.parametrize("variant", VARIANTS)
def test_inclusion_probabilities_sum_to_the_cohort(variant):
    for seen in bench(variant).walked.values():
        if variant not in DRAWS | COINS and not np.isnan(seen.cohort.inclusion).all():
            np.testing.assert_allclose(seen.cohort.inclusion.sum(-1), seen.cohort.selected.sum(-1), rtol=1e-3)


ASKING = [name for name in VARIANTS if VARIANTS[name].make(Dims(K, K)).probe is not None and name != "tifl"]


@pytest.mark.parametrize("variant", ASKING)  # TiFL asks in some rounds only, for another one's choice
def test_whom_a_scheme_asks(variant):
    one = bench(variant)
    for name, seen in one.walked.items():
        assert not (seen.cohort.selected & ~seen.asked).any()
        k, here = one.size(name), (~one.cases[name].away).sum(-1)
        d = min(K, -(-3 * k // 2)) if variant == "pow-d" else K
        np.testing.assert_array_equal(seen.asked.sum(-1), np.minimum(d, here))


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


def test_every_scheme_has_a_name_for_tables():
    for name in catalog.names("selector"):
        for mode in ("faithful", "corrected"):
            options = catalog.scheme(name, mode)
            assert catalog.label(options) == name == catalog.canonical_name("selector", name)
            assert catalog.room_of(options) == "selector"
    assert {type(catalog.scheme(name)) for name in catalog.names("selector")} == set(catalog.members("selector"))


def test_variants_are_the_programs_of_the_names():
    programs = {type(options) for kind in catalog.members("selector") for options in contracts.variants(kind)}
    assert programs == set(catalog.members("selector"))
    forms = [options.form for options in contracts.variants(pow_d.Options)]
    assert forms == ["pow-d", "cpow-d", "rpow-d"]
    assert [options.sampler for options in contracts.variants(e3cs.Options)] == ["sequential", "exact"]


def test_oracles_are_those_that_tables_mark():
    for name in catalog.names("selector"):
        knows = name.startswith(("fedcs", "best-", "rbcs-f-true-")) or name == "cs-ucb-best"
        assert catalog.scheme(name).make(Dims(K, K)).needs_oracle == knows
