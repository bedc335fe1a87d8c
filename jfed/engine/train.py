"""Training in a round: from who returns to jobs for the lane, and from what comes back to the next model."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int

from jfed.algorithms.deadline import share
from jfed.core import ops, prng
from jfed.core.types import Cohort, Estimates, Memory, Plan, Report
from jfed.engine.lanes import LANES, Data, Jobs
from jfed.engine.spec import Spec, build


class RunParams(NamedTuple):
    """The dynamic half of a run, by room; `algorithm` is () in a selection-only run."""

    environment: Any
    selector: Any
    controller: Any
    algorithm: Any


class RunState(NamedTuple):
    """What a run carries from round to round.

    Attributes:
        environment, selector, controller: the members' states.
        weights: the global model; () in a selection-only run.
        times_selected: so far.
        times_succeeded: so far, while selected.
        broken_round: first round after which the model was not finite, 0 if there is none; () like `weights`.
        clients: what the algorithm keeps of each client; () if it keeps nothing.
        best: the best model so far, by the clients' estimates; () likewise.
        mean: of the models after each round; () unless it is the one that counts.
        ended_round: the round after which the controller ended the run, 0 before; () if it never ends one.
    """

    environment: Any
    selector: Any
    controller: Any
    weights: Any
    times_selected: Int[Array, " clients"]
    times_succeeded: Int[Array, " clients"]
    broken_round: Any
    clients: Any = ()
    best: Any = ()
    mean: Any = ()
    ended_round: Any = ()


class Trained(NamedTuple):
    """What training tells of the clients of each run; see `Feedback`."""

    loss: Float[Array, "runs clients"]
    estimates: Estimates | None
    share: Float[Array, "runs clients"] | None
    kept: Bool[Array, " runs"] | None


Train = Callable[..., tuple[RunState, Trained]]


def make_train(spec: Spec) -> Train:
    """One round's training of a block of runs; leading axis runs on everything but the round.

    (keys, params, state, data, returned, cohort, sound, plan, round) -> (state, what selector and controller are told);
    `sound` says whose model is still finite.
    """
    algorithm = build(spec).algorithm
    assert algorithm is not None and spec.training is not None
    lane, reading = LANES[spec.lane], spec.training.average_over
    num_clients, slots = spec.dims.num_clients, spec.dims.slots

    def train(
        keys: prng.Keys, params: RunParams, state: RunState, data: Data, returned: Array, cohort: Cohort, sound: Array,
        plan: Plan, t: Array,
    ) -> tuple[RunState, Trained]:  # fmt: skip
        runs = returned.shape[0]
        client = jax.vmap(lambda mask: ops.first_slots(mask, slots))(returned)
        used = (client < num_clients) & sound[:, None]
        safe = jnp.minimum(client, num_clients - 1)
        row = jnp.arange(runs, dtype=jnp.int32)[:, None]
        steps = jnp.where(used, plan.steps[row, safe], 0)
        works = steps > 0
        job_keys = jax.vmap(lambda key, who: jax.vmap(lambda c: prng.at(key, t, c))(who))(keys.training, safe)
        jobs = Jobs(
            run=jnp.broadcast_to(row, safe.shape).reshape(-1),
            client=safe.reshape(-1),
            steps=steps.reshape(-1),
            key=job_keys.reshape(-1),
        )
        memory = Memory(state.clients, state.best)
        result = lane.train(algorithm, state.weights, params.algorithm, data, jobs, memory)
        updates, report, own = jax.tree.map(lambda x: x.reshape(runs, slots, *x.shape[1:]), result)
        share_of = jax.vmap(
            functools.partial(share, reading), in_axes=(0, 0, 0, None if cohort.importance is None else 0)
        )
        weight = share_of(data.num_samples, cohort.selected, returned, cohort.importance)
        weights, report = jax.vmap(algorithm.aggregate)(
            state.weights, params.algorithm, updates, report, weight[row, safe], used
        )
        report = told(report, works)

        def by_client(x: Array) -> Array:
            blank = jnp.zeros((runs, num_clients), bool) if x.dtype == bool else jnp.full((runs, num_clients), jnp.nan)
            return blank.at[row, client].set(x, mode="drop")

        found = jax.tree.map(by_client, report)
        kept = jax.vmap(finite)(weights)
        trained = Trained(found.loss, found.estimates, jnp.where(returned, weight, 0.0), kept)
        if algorithm.remember is None:
            breaks = sound & ~kept
            state = state._replace(weights=weights, broken_round=jnp.where(breaks, t, state.broken_round))
            return averaged(state, t), trained
        moves = kept if plan.learns is None else kept & plan.learns
        who = jnp.where(works, client, num_clients)
        clients = jax.tree.map(lambda old, new: old.at[row, who].set(new, mode="drop"), state.clients, own)
        assert report.estimates is not None
        now, best = (jnp.sum(jnp.where(works, weight[row, safe] * x, 0.0), 1) for x in report.estimates[:2])
        state = state._replace(
            weights=where(moves, weights, state.weights),
            clients=clients,
            best=where(now < best, state.weights, state.best),
        )
        return averaged(state, t), trained

    return train


def told(report: Report, works: Bool[Array, "runs slots"]) -> Report:
    """The reports of those who made a step; who made none, having no images, knows of no loss, whatever the lane."""

    def known(loss: Array) -> Array:
        return jnp.where(works, loss, jnp.nan)

    found = report.estimates
    if found is not None:
        found = found._replace(loss=known(found.loss), best_loss=known(found.best_loss), known=found.known & works)
    return Report(known(report.loss), found)


def averaged(state: RunState, t: Int[Array, ""]) -> RunState:
    """With the model of round t in the mean of all, where that is kept, and the run goes on."""
    if isinstance(state.mean, tuple):
        return state
    mean = jax.tree.map(lambda mean, now: mean + (now - mean) / t, state.mean, state.weights)
    if not isinstance(state.ended_round, tuple):
        mean = where(state.ended_round == 0, mean, state.mean)
    return state._replace(mean=mean)


def where(mask: Array, new: Any, old: Any) -> Any:
    """Leaf by leaf, by a mask over their leading axes."""
    return jax.tree.map(lambda x, y: jnp.where(mask.reshape(*mask.shape, *[1] * (x.ndim - mask.ndim)), x, y), new, old)


def finite(weights: Any) -> Bool[Array, ""]:
    """Whether every weight is."""
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(weights)]))
