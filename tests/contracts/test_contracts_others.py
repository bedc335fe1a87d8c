"""The rules for worlds, controllers, models and algorithms each catch a toy that breaks them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import toys
from broken import require_caught, toy
from flax import linen

import jfed
from jfed.contracts.check import BENCHES

pytestmark = pytest.mark.check


def seeing(**changed):
    def part(self, dims, good):
        def observe(*given):
            state, view = good(*given)
            return state, view._replace(**{name: change(view) for name, change in changed.items()})

        return observe

    return part


def responding(**changed):
    def part(self, dims, good):
        def respond(key, state, params, view, cohort, plan):
            state, outcome = good(key, state, params, view, cohort, plan)
            return state, outcome._replace(**{name: change(outcome, cohort) for name, change in changed.items()})

        return respond

    return part


def world(**changed):
    return toy(toys.ToyWorld, respond=responding(**changed))


WORLDS = [
    ("described", "whole number from 0 to 7", toy(toys.ToyWorld, client_class=lambda self, problem: np.arange(8) + 1)),
    ("described", "expected_availability must lie in", toy(toys.ToyWorld, expected_availability=lambda self: 1.5)),
    ("described", r"\(resources, clients\), found \(8,\)",
     toy(toys.ToyWorld, costs=lambda self, many: jfed.Costs(np.ones(many), np.ones(many)))),
    ("described", "spends must name the 1 resources that costs has beside time, found",
     toy(toys.ToyWorld, costs=lambda self, many: jfed.Costs(np.ones((2, many)), np.ones((2, many))))),
    ("shapes", "observe must fill in view.oracle", toy(toys.ToyWorld, observe=seeing(oracle=lambda view: None))),
    ("shapes", r"view.context must be float32\[8, 2\] \(one column for each of `features`\), found float32\[8, 1\]",
     toy(toys.ToyWorld, features=("power", "demand"), observe=seeing(context=lambda view: view.context[:, :1]))),
    ("shapes", r"outcome.latency_s must be float32\[8\], found int32\[8\]",
     world(latency_s=lambda outcome, cohort: outcome.latency_s.astype(jnp.int32))),
    ("shapes", r"outcome.steps must be int32\[8\], found float32\[8\]",
     world(steps=lambda outcome, cohort: outcome.latency_s)),
    ("shapes", r"outcome.used must be bool\[8\], found int32\[8\]",
     world(used=lambda outcome, cohort: cohort.selected.astype(jnp.int32))),
    ("shapes", "outcome.costs must have a step and an exchange of shape",
     toy(toys.ToyWorld, costs=lambda self, many: jfed.Costs(np.ones((1, many)), np.ones((1, many))))),
    ("own way", "Which clients are to return in the first round depends on the cohort",
     world(succeeded=lambda outcome, cohort: cohort.selected)),
    ("sound", "latency_s must be finite and not negative, also of clients that fail, .* found -1",
     world(latency_s=lambda outcome, cohort: -outcome.latency_s)),
    ("frequencies", "expected_availability says 0.5", toy(toys.ToyWorld, expected_availability=lambda self: 0.5)),
    ("frequencies", "oracle.success_rate says",
     world(succeeded=lambda outcome, cohort: outcome.succeeded | (jnp.arange(8) == 3))),
]  # fmt: skip


def planning(change):
    def part(self, dims, good):
        def plan(state, params, view, cohort):
            state, plan = good(state, params, view, cohort)
            return change(state, plan)

        return plan

    return part


def controller(change, **more):
    return toy(toys.ToyController, plan=planning(change), **more)


CONTROLLERS = [
    ("functions", r"must be int32\[8\], .* found float32\[8\]",
     controller(lambda state, plan: (state, jfed.Plan(plan.steps / 1)))),
    ("steps", "must not be negative", controller(lambda state, plan: (state, jfed.Plan(plan.steps - 3)))),
    ("steps", "A client without images", controller(lambda state, plan: (state, jfed.Plan(plan.steps + 1)))),
    ("ends", "was true and is false again", controller(
     lambda state, plan: (state._replace(rounds=0 * state.rounds), plan),
     update=lambda self, dims, good: lambda state, *more: state._replace(rounds=state.rounds + 9))),
    ("ends", "ended must return a single bool", toy(toys.ToyController,
     ended=lambda self, dims, good: lambda state: state.rounds)),
]  # fmt: skip


class Mixed(linen.Module):
    @linen.compact
    def __call__(self, x):
        x = linen.Dense(10, param_dtype=x.dtype)(x.reshape(x.shape[0], -1))
        return x - x.mean(0)


class Cold(linen.Module):
    scale: float = 0.0

    @linen.compact
    def __call__(self, x):
        return self.scale * linen.Dense(10)(x.reshape(x.shape[0], -1))


def model(module, **more):
    return toy(toys.ToyModel, module=lambda self, inputs: module, **more)


MODELS = [
    ("static fields", r"width must be static", toy(toys.ToyModel, annotations={"width": int}, width=3)),
    ("shapes", "grade must return Grades", toy(toys.ToyModel, grade=lambda self, logits, labels: logits[:, 0])),
    ("alone", "depend on the other images of its batch", model(Mixed())),
    ("learns", "is zero for all weights: nothing is learnt", model(Cold())),
    ("learns", "Logits of random weights are not finite", model(Cold(float("nan")))),
    ("float64", "weights are still float32: give the layers param_dtype", model(Cold(1.0))),
]  # fmt: skip


def drifting(self, dims, good):
    return lambda *given: jax.tree.map(lambda x: x + 1e-3 if x.dtype.kind == "f" else x, good(*given))


def idle(self, dims, loss):
    return toys.ToyAlgorithm.make(self, dims, lambda *given: 0.0 * loss(*given))


ALGORITHMS = [
    pytest.param("still", "The model moved in rounds in which", toy(toys.ToyAlgorithm, aggregate=drifting),
     marks=pytest.mark.proof),
    pytest.param("learns", "The model never moves", toy(toys.ToyAlgorithm, make=idle), marks=pytest.mark.proof),
]  # fmt: skip
TABLES = {"environment": WORLDS, "controller": CONTROLLERS, "model": MODELS}


@pytest.mark.parametrize(("rule", "sentence", "kind"), [*WORLDS, *CONTROLLERS, *MODELS, *ALGORITHMS])
def test_a_broken_rule_is_named_in_a_sentence(rule, sentence, kind):
    require_caught(rule, sentence, kind)


def test_every_rule_of_a_room_has_a_toy_that_breaks_it():
    shared = {rule for rule, _ in BENCHES["selector"][1]}
    for field, table in TABLES.items():
        own = {rule for rule, _ in BENCHES[field][1]} - shared
        assert own - {rule for rule, *_ in table} <= {"first weights", "runs"}, field
