"""One round of a block of runs: the only file that knows all four interfaces.

    observe, probe | select, plan, respond | train, aggregate | update, count

Between the bars stand functions of one run, vmapped; training and probing are flat lists of jobs that the
lane lays out. A selection-only run is the same round without the third part.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int, UInt8

from jfed import ops, prng
from jfed.algorithms.deadline import share
from jfed.engine.evaluate import client_quality
from jfed.engine.lanes import LANES, Data, Jobs
from jfed.engine.spec import Spec, build
from jfed.types import Cohort, Dims, Feedback, Outcome, Plan, Probe, View


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
    """

    environment: Any
    selector: Any
    controller: Any
    weights: Any
    times_selected: Int[Array, " clients"]
    times_succeeded: Int[Array, " clients"]
    broken_round: Any


class Record(NamedTuple):
    """What is kept of one round.

    Attributes:
        num_selected: clients in the cohort.
        num_succeeded: of them, who returned.
        expected_succeeded: sum_i p_i x_i, the expectation of `num_succeeded` over the draw of the cohort, as in
            the regret of E3CS (Definition 2); NaN for a scheme without inclusion probabilities.
        num_probed: clients asked for a loss.
        num_steps: local SGD steps done.
        round_time_s: the longest wait for any of the cohort.
        watched: what the selector shows of its state, by name.
        selected: bit-packed cohort, (ceil(K / 8),) bytes, or () where it is not recorded.
    """

    num_selected: Int[Array, ""]
    num_succeeded: Int[Array, ""]
    expected_succeeded: Float[Array, ""]
    num_probed: Int[Array, ""]
    num_steps: Int[Array, ""]
    round_time_s: Float[Array, ""]
    watched: dict[str, Float[Array, ""]]
    selected: UInt8[Array, " bytes"] | tuple[()]


Round = Callable[
    [prng.Keys, RunParams, RunState, Data | Int[Array, "runs clients"], Int[Array, ""], Int[Array, ""]],
    tuple[RunState, Record],
]


def first_view(dims: Dims, num_samples: Array, t: Array, horizon: Array) -> View:
    """What is known of a round before the world says anything."""
    nothing = jnp.full(dims.num_clients, jnp.nan, jnp.result_type(float))
    return View(
        round=t,
        horizon=horizon,
        available=jnp.ones(dims.num_clients, bool),
        num_samples=num_samples,
        context=jnp.ones((dims.num_clients, dims.num_features), jnp.result_type(float)),
        probed=nothing,
        probed_accuracy=nothing,
        oracle=None,
    )


def make_init(spec: Spec) -> Callable[[prng.Keys, RunParams, Int[Array, " clients"]], RunState]:
    """The state of ONE run before round 1. Initial states are drawn at round 0 of their streams."""
    parts = build(spec)

    def init(keys: prng.Keys, params: RunParams, num_samples: Int[Array, " clients"]) -> RunState:
        world = prng.at(keys.environment, 0)
        zero = jnp.zeros(spec.dims.num_clients, jnp.int32)
        return RunState(
            environment=parts.environment.init(prng.at(world, 0), params.environment, num_samples),
            selector=parts.selector.init(prng.at(keys.selector, 0), params.selector),
            controller=parts.controller.init(prng.at(world, 1), params.controller, num_samples),
            weights=() if parts.model is None else parts.model.init(prng.at(keys.model, 0)),
            times_selected=zero,
            times_succeeded=zero,
            broken_round=() if parts.model is None else jnp.int32(0),
        )

    return init


def make_round(spec: Spec) -> Round:
    """One round of a block of runs: (keys, params, state, data, round, horizon) -> (state, record).

    Keys, params and state have a leading axis runs. `data` is the block's `Data`, or just the clients' numbers of
    images, (runs, K), in a selection-only run. Round and horizon are scalars.
    """
    parts, num_clients, slots = build(spec), spec.dims.num_clients, spec.dims.slots
    selector, algorithm, model = parts.selector, parts.algorithm, parts.model
    lane, trains = LANES[spec.lane], algorithm is not None

    def look(
        keys: prng.Keys, params: RunParams, state: RunState, num_samples: Array, t: Array, horizon: Array
    ) -> tuple[Any, View, Probe | None]:
        view = first_view(spec.dims, num_samples, t, horizon)
        key = prng.at(keys.environment, t, 0)
        world, view = parts.environment.observe(key, state.environment, params.environment, view)
        if not selector.needs_oracle:
            view = view._replace(oracle=None)
        if selector.probe is None:
            return world, view, None
        key = prng.at(keys.selector, t, 0)
        return world, view, selector.probe(key, state.selector, params.selector, view)

    def choose(
        keys: prng.Keys, params: RunParams, state: RunState, view: View, t: Array
    ) -> tuple[RunState, Cohort, Plan, Outcome]:
        chosen, cohort = selector.select(prng.at(keys.selector, t, 1), state.selector, params.selector, view)
        controlled, plan = parts.controller.plan(state.controller, params.controller, view, cohort)
        key = prng.at(keys.environment, t, 1)
        world, outcome = parts.environment.respond(key, state.environment, params.environment, view, cohort, plan)
        state = state._replace(environment=world, selector=chosen, controller=controlled)
        return state, cohort, plan, outcome

    def train(
        keys: prng.Keys, params: RunParams, state: RunState, data: Data, returned: Array, selected: Array,
        sound: Array, plan: Plan, t: Array,
    ) -> tuple[Any, Float[Array, "runs clients"]]:  # fmt: skip
        assert algorithm is not None and spec.training is not None
        runs = returned.shape[0]
        client = jax.vmap(lambda mask: ops.first_slots(mask, slots))(returned)
        used = (client < num_clients) & sound[:, None]
        safe = jnp.minimum(client, num_clients - 1)
        row = jnp.arange(runs, dtype=jnp.int32)[:, None]
        job_keys = jax.vmap(lambda key, who: jax.vmap(lambda c: prng.at(key, t, c))(who))(keys.training, safe)
        jobs = Jobs(
            run=jnp.broadcast_to(row, safe.shape).reshape(-1),
            client=safe.reshape(-1),
            steps=jnp.where(used, plan.steps[row, safe], 0).reshape(-1),
            key=job_keys.reshape(-1),
        )
        result = lane.train(algorithm, state.weights, params.algorithm, data, jobs)
        updates, report = jax.tree.map(lambda x: x.reshape(runs, slots, *x.shape[1:]), result)
        reading = spec.training.missing
        weight = jax.vmap(lambda n, s, r: share(reading, n, s, r))(data.num_samples, selected, returned)
        weights = jax.vmap(algorithm.aggregate)(state.weights, updates, weight[row, safe], used)
        loss = jnp.full((runs, num_clients), jnp.nan, jnp.result_type(float))
        return weights, loss.at[row, client].set(report.loss, mode="drop")

    def learn(
        params: RunParams,
        state: RunState,
        view: View,
        cohort: Cohort,
        plan: Plan,
        outcome: Outcome,
        loss: Array,
    ) -> tuple[RunState, Record]:
        returned = cohort.selected & outcome.succeeded
        waited = jnp.where(cohort.selected, outcome.latency_s, 0.0)
        feedback = Feedback(cohort.selected, returned, waited, loss)
        learned = selector.update(state.selector, params.selector, view, cohort, feedback)
        state = state._replace(
            selector=learned,
            controller=parts.controller.update(state.controller, params.controller, view, cohort, feedback),
            times_selected=state.times_selected + cohort.selected,
            times_succeeded=state.times_succeeded + returned,
        )
        record = Record(
            num_selected=cohort.selected.sum(dtype=jnp.int32),
            num_succeeded=returned.sum(dtype=jnp.int32),
            expected_succeeded=jnp.sum(jnp.where(outcome.succeeded, cohort.inclusion, 0.0)),
            num_probed=jnp.sum(~jnp.isnan(view.probed), dtype=jnp.int32),
            num_steps=jnp.sum(jnp.where(returned & trains, plan.steps, 0), dtype=jnp.int32),
            round_time_s=jnp.where(cohort.selected.any(), jnp.max(waited), outcome.idle_s),
            watched={} if selector.watch is None else selector.watch(learned),
            selected=jnp.packbits(cohort.selected) if spec.record_selected else (),
        )
        return state, record

    def one_round(
        keys: prng.Keys, params: RunParams, state: RunState, data: Data | Array, t: Array, horizon: Array
    ) -> tuple[RunState, Record]:
        num_samples = data.num_samples if isinstance(data, Data) else data
        world, view, probe = jax.vmap(look, in_axes=(0, 0, 0, 0, None, None), out_axes=_view_axes(selector))(
            keys, params, state, num_samples, t, horizon
        )
        state = state._replace(environment=world)
        if probe is not None:
            assert model is not None and isinstance(data, Data)
            probe_keys = jax.vmap(lambda key: prng.at(key, t, 2))(keys.selector)
            quality = client_quality(lane, model, state.weights, data, probe, probe_keys)
            silent = probe.asked & (num_samples == 0)  # asked, but with nothing to lose
            view = view._replace(probed=jnp.where(silent, 0.0, quality.loss), probed_accuracy=quality.accuracy)
        axes = _view_axes(selector)[1]
        state, cohort, plan, outcome = jax.vmap(choose, in_axes=(0, 0, 0, axes, None))(keys, params, state, view, t)
        loss = jnp.full(cohort.selected.shape, jnp.nan, jnp.result_type(float))
        if algorithm is not None:
            assert isinstance(data, Data)
            # A client that does not return is not trained: its model is lost, and nothing else of it is kept.
            returned: Bool[Array, "runs clients"] = cohort.selected & outcome.succeeded
            # Nor is one whose run is broken: nothing can come of it.
            sound = state.broken_round == 0
            plan = Plan(jnp.where(sound[:, None], plan.steps, 0))
            weights, loss = train(keys, params, state, data, returned, cohort.selected, sound, plan, t)
            breaks = sound & ~jax.vmap(_finite)(weights)
            state = state._replace(weights=weights, broken_round=jnp.where(breaks, t, state.broken_round))
        return jax.vmap(learn, in_axes=(0, 0, axes, 0, 0, 0, 0))(params, state, view, cohort, plan, outcome, loss)

    return one_round


def _finite(weights: Any) -> Bool[Array, ""]:
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(weights)]))


def _view_axes(selector: Any) -> Any:
    """Batched axes of (world, view, probe): the round and the horizon are the same for all runs."""
    view = View(None, None, 0, 0, 0, 0, 0, 0 if selector.needs_oracle else None)  # type: ignore[arg-type]
    return 0, view, 0
