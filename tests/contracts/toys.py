"""A toy of each room, in one file as a user of jfed would write it."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen

import jfed
from jfed.algorithms import local_sgd


class State(NamedTuple):
    returned: jax.Array
    latency_s: jax.Array


@dataclass(frozen=True)
class ToyScheme(jfed.SelectorOptions):
    """Selection of k available clients by lot."""

    chance: float = 0.5
    form: str = jfed.static("plain")

    def make(self, dims):
        def init(key, params):
            return State(jnp.zeros(dims.num_clients, jnp.int32), jnp.zeros(dims.num_clients))

        def select(key, state, params, view):
            lot = jax.random.uniform(key, (dims.num_clients,))
            chosen = jfed.ops.smallest(params.chance * lot, params.k, among=view.available)
            share = jnp.minimum(params.k / jnp.maximum(view.available.sum(), 1), 1.0)
            return state, jfed.Cohort(chosen, jnp.where(view.available, share, 0.0))

        def update(state, params, view, cohort, feedback):
            return State(state.returned + feedback.succeeded, state.latency_s + feedback.latency_s)

        def watch(state):
            return {"returned": jnp.sum(state.returned)}

        return jfed.Selector(init, select, update, watch=watch)


@dataclass(frozen=True)
class ToyWorld(jfed.EnvironmentOptions):
    """Clients that are available and return by chance, and take a second."""

    availability: float = 0.75
    returns: float = 0.5

    def expected_availability(self):
        return self.availability

    def make(self, dims):
        def init(key, params, num_samples):
            return State(jnp.zeros(dims.num_clients, jnp.int32), jnp.zeros(dims.num_clients))

        def observe(key, state, params, view):
            here = jax.random.uniform(key, (dims.num_clients,)) < params.availability
            rate = jnp.broadcast_to(params.returns, (dims.num_clients,))
            return state, view._replace(available=here, oracle=jfed.Oracle(rate, 1 + jnp.zeros_like(rate)))

        def respond(key, state, params, view, cohort, plan):
            succeeded = jax.random.uniform(key, (dims.num_clients,)) < params.returns
            latency_s = 1 + 0 * view.context[:, 0]
            state = State(state.returned + (succeeded & cohort.selected), state.latency_s + latency_s)
            return state, jfed.Outcome(succeeded, latency_s, jnp.ones((), latency_s.dtype))

        return jfed.Environment(init, observe, respond)


class Spent(NamedTuple):
    rounds: jax.Array


@dataclass(frozen=True)
class ToyController(jfed.ControllerOptions):
    """A fixed number of steps, for five rounds."""

    steps: int = 2
    rounds: int = 2

    def make(self, dims):
        def init(key, params, num_samples):
            return Spent(jnp.int32(0))

        def plan(state, params, view, cohort):
            return state, jfed.Plan(jnp.where(view.num_samples > 0, params.steps, 0))

        def update(state, params, view, cohort, feedback):
            return Spent(state.rounds + 1)

        return jfed.Controller(init, plan, update, ended=lambda state: state.rounds >= 5)


@dataclass(frozen=True)
class ToyAlgorithm(local_sgd.Options):
    """Local SGD under another name."""

    names = (jfed.Name("toy-algorithm"),)


class Two(linen.Module):
    classes: int

    @linen.compact
    def __call__(self, x):
        x = linen.tanh(linen.Dense(4, param_dtype=x.dtype)(x.reshape(x.shape[0], -1)))
        return linen.Dense(self.classes, param_dtype=x.dtype)(x)


@dataclass(frozen=True)
class ToyModel(jfed.ModelOptions):
    """Two dense layers."""

    def module(self, inputs):
        return Two(inputs.num_classes)


@dataclass(frozen=True)
class ToyData(jfed.DataOptions):
    """Points of two classes and three owners."""

    seed: int = jfed.static(0)

    def load(self, data_dir=None):
        rng, labels = np.random.default_rng(self.seed), np.arange(30) % 2
        points = rng.normal(size=(30, 4)) + labels[:, None]
        return jfed.arrays(points, labels, clients=np.arange(30) % 3, name="toys").load()

    def has_owners(self):
        return True


# The toys that keep every rule, by room
GOOD = {
    "selector": "ToyScheme",
    "environment": "ToyWorld",
    "controller": "ToyController",
    "algorithm": "ToyAlgorithm",
    "model": "ToyModel",
    "dataset": "ToyData",
}
