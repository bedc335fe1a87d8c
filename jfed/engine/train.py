"""Training in a round: jobs for the clients that return, and the next model from their answers."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int

from jfed.algorithms.deadline import share
from jfed.core import ops, prng
from jfed.core.learning import Answer, Answers, Report
from jfed.core.types import Cohort, Estimates, Facts, Plan
from jfed.engine import ending
from jfed.engine.facts import facts
from jfed.engine.jobs import Carried, Data, Jobs
from jfed.engine.lanes import LANES
from jfed.engine.spec import Spec, build
from jfed.engine.state import RunParams, RunState
from jfed.models.losses import mean_loss


class Trained(NamedTuple):
    """The outcome of training for the clients of each run; the fields are those of `Feedback`."""

    loss: Float[Array, "runs clients"]
    estimates: Estimates | None = None
    share: Float[Array, "runs clients"] | None = None
    kept: Bool[Array, " runs"] | None = None
    facts: Facts = Facts()


class Now(NamedTuple):
    """The part of a round that precedes training; leading axis runs on everything but the round.

    Attributes:
        round: t.
        cohort: selected clients.
        returned: clients of the cohort that return.
        plan: numbers of local steps.
    """

    round: Int[Array, ""]
    cohort: Cohort
    returned: Bool[Array, "runs clients"]
    plan: Plan


class Slots(NamedTuple):
    """The returned clients of each run, in as many slots as a cohort can have members.

    Attributes:
        client: number of the client in a slot; K in an empty slot.
        used: whether a slot holds a client, in a run whose model is finite; broken runs are not trained.
        row: number of the run, as an index.
    """

    client: Int[Array, "runs slots"]
    used: Bool[Array, "runs slots"]
    row: Int[Array, "runs 1"]


Train = Callable[[prng.Keys, RunParams, RunState, Data, Now], tuple[RunState, Trained]]


def make_train(spec: Spec) -> Train:
    """Return the training of one round of a block: (keys, params, state, data, now) -> (state, trained)."""
    parts, training = build(spec), spec.training
    assert parts.algorithm is not None and parts.model is not None and training is not None
    algorithm, model, selector, lane = parts.algorithm, parts.model, parts.selector, LANES[spec.lane]
    num_clients, num_slots = spec.dims.num_clients, spec.dims.slots

    def places(returned: Bool[Array, "runs clients"], sound: Bool[Array, " runs"]) -> Slots:
        client = jax.vmap(lambda mask: ops.first_slots(mask, num_slots))(returned)
        row = jnp.arange(returned.shape[0], dtype=jnp.int32)[:, None]
        return Slots(client, (client < num_clients) & sound[:, None], row)

    def jobs_of(slots: Slots, keys: prng.Keys, now: Now) -> Jobs:
        safe = jnp.minimum(slots.client, num_clients - 1)
        own = jax.vmap(lambda key, who: jax.vmap(lambda c: prng.at(key, now.round, c))(who))(keys.training, safe)
        return Jobs(
            run=jnp.broadcast_to(slots.row, safe.shape).reshape(-1),
            client=safe.reshape(-1),
            steps=jnp.where(slots.used, now.plan.steps[slots.row, safe], 0).reshape(-1),
            key=own.reshape(-1),
            returns=slots.used.reshape(-1),
        )

    def weighed(data: Data, now: Now) -> Float[Array, "runs clients"]:
        """Return each client's share in the average, by the reading of the deadline."""
        importance = now.cohort.importance
        axes = (0, 0, 0, None if importance is None else 0)
        one = jax.vmap(functools.partial(share, training.average_over), in_axes=axes)
        return one(data.num_samples, now.cohort.selected, now.returned, importance)

    def by_client(slots: Slots, tree: Any) -> Any:
        """Return the values of slots as arrays over clients; NaN or False for clients without a slot."""
        who = jnp.where(slots.used, slots.client, num_clients)

        def one(x: Array) -> Array:
            shape = (x.shape[0], num_clients, *x.shape[2:])
            blank = jnp.zeros(shape, bool) if x.dtype == bool else jnp.full(shape, jnp.nan)
            return blank.at[slots.row, who].set(x, mode="drop")

        return jax.tree.map(one, tree)

    def told(keys: prng.Keys, state: RunState, data: Data, jobs: Jobs, moves: Any, slots: Slots) -> Facts:
        """Return the facts that the selector wants; the projection has the key of an extra client, in round 0."""
        if not selector.wants:
            return Facts()
        fixed = jax.vmap(lambda key: prng.at(key, 0, num_clients))(keys.training)
        found = facts(lane, model, mean_loss(model), selector, state.weights, data, jobs, moves, fixed)
        return by_client(slots, jax.tree.map(lambda x: x.reshape(*slots.used.shape, *x.shape[1:]), found))

    def remembered(state: RunState, slots: Slots, works: Array, memory: Any) -> Any:
        who = jnp.where(works, slots.client, num_clients)  # other clients keep their memory
        return jax.tree.map(lambda old, new: old.at[slots.row, who].set(new, mode="drop"), state.clients, memory)

    def moved(state: RunState, sound: Array, counts: Array, now: Now, weights: Any, kept: Array) -> RunState:
        """Return the state with the new model where it replaces the old one, and with the round that broke it."""
        if algorithm.estimates:
            learns = kept if now.plan.learns is None else kept & now.plan.learns
            return state._replace(weights=ops.where(learns, weights, state.weights))
        assert state.broken_round is not None
        broken = jnp.where(sound & ~kept, now.round, state.broken_round)
        changes = None if algorithm.init is None else counts  # an average of no answers changes nothing
        if now.plan.learns is not None:
            changes = now.plan.learns if changes is None else changes & now.plan.learns
        weights = weights if changes is None else ops.where(changes, weights, state.weights)
        return state._replace(weights=weights, broken_round=broken)

    def train(
        keys: prng.Keys, params: RunParams, state: RunState, data: Data, now: Now
    ) -> tuple[RunState, Trained]:  # fmt: skip
        sound = state.broken_round == 0
        slots = places(now.returned, sound)
        jobs = jobs_of(slots, keys, now)
        carried = Carried(state.weights, state.server, state.clients, state.best)
        own = params.algorithm
        if algorithm.at_round is not None:
            own = jax.vmap(algorithm.at_round, in_axes=(0, None))(own, now.round)
        answer = lane.train(algorithm, carried, own, data, jobs)
        slotted: Answer = jax.tree.map(lambda x: x.reshape(*slots.used.shape, *x.shape[1:]), answer)
        weight = weighed(data, now)
        weigh = weight[slots.row, jnp.minimum(slots.client, num_clients - 1)]
        answers = Answers(slotted.move, slotted.report, weigh, slots.used, slotted.more)
        made = jax.vmap(algorithm.aggregate)(state.server, state.weights, own, answers)
        works = jobs.steps.reshape(slots.used.shape) > 0
        made = made._replace(reports=of_workers(made.reports, works))
        kept = jax.vmap(finite)(made.weights)
        found = by_client(slots, made.reports)
        trained = Trained(
            loss=found.loss,
            estimates=found.estimates,
            share=jnp.where(now.returned, weight, 0.0),
            kept=kept,
            facts=told(keys, state, data, jobs, answer.move, slots),
        )
        counts = (slots.used & (weigh > 0)).any(1)  # whether an answer came back that changes the model
        after = moved(state, sound, counts, now, made.weights, kept)
        if algorithm.remember is not None:
            after = after._replace(clients=remembered(state, slots, works, slotted.memory))
        if algorithm.init is not None:
            learns = True if now.plan.learns is None else now.plan.learns
            changes = counts & kept & learns
            after = after._replace(server=ops.where(changes, made.server, state.server))
        if algorithm.estimates:
            assert made.reports.estimates is not None
            here, best = made.reports.estimates.loss, made.reports.estimates.best_loss
            now_, best_ = (jnp.sum(jnp.where(works, weigh * x, 0.0), 1) for x in (here, best))
            after = after._replace(best=ops.where(now_ < best_, state.weights, state.best))
        return averaged(after, now.round), trained

    return train


def of_workers(report: Report, works: Bool[Array, "runs slots"]) -> Report:
    """Return the reports with NaN for the losses of clients that made no step, so that all lanes agree."""

    def known(loss: Array) -> Array:
        return jnp.where(works, loss, jnp.nan)

    found = report.estimates
    if found is not None:
        found = found._replace(loss=known(found.loss), best_loss=known(found.best_loss), known=found.known & works)
    return Report(known(report.loss), found)


def averaged(state: RunState, t: Int[Array, ""]) -> RunState:
    """Return the state with the model of round t in the mean, if a mean is kept and the run goes on."""
    if state.mean is None:
        return state
    mean = jax.tree.map(lambda mean, now: mean + (now - mean) / t, state.mean, state.weights)
    return state._replace(mean=ending.while_it_lasts(state.ended_round, mean, state.mean))


def finite(weights: Any) -> Bool[Array, ""]:
    """Return whether every weight is finite."""
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(weights)]))
