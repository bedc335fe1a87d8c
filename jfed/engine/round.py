"""One round of a block of runs: the only file that knows all four interfaces.

    observe, probe | select, plan, respond | train, aggregate | update, count

Between the bars are functions of one run, vmapped; training and probing are flat lists of jobs that the
lane lays out. A selection-only run is the same round without the third part.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int, UInt8

from jfed.core import ops, prng
from jfed.core.interfaces import Model, Selector
from jfed.core.once import once
from jfed.core.total import fold
from jfed.core.types import Cohort, Costs, Dims, Feedback, Outcome, Plan, Probe, View, Weights
from jfed.engine import ending
from jfed.engine.evaluate import client_quality
from jfed.engine.jobs import Data
from jfed.engine.lanes import LANES, Lane
from jfed.engine.spec import Parts, Spec, build
from jfed.engine.state import RunParams, RunState
from jfed.engine.train import Now, Trained, make_train


class Record(NamedTuple):
    """The record of one round.

    Attributes:
        num_selected: clients in the cohort.
        num_succeeded: clients of the cohort that returned.
        expected_succeeded: sum_i p_i x_i, the expectation of `num_succeeded` over the draw of the cohort, as in
            the regret of E3CS (Definition 2), whether or not the server uses all that return; NaN for a scheme without
            inclusion probabilities.
        num_probed: clients asked for a loss.
        num_steps: local SGD steps done, without those that only evaluate a model.
        round_time_s: longest wait for a client of the cohort; `Outcome.idle_s` without a cohort.
        watched: values that selector and controller show of their states, by name.
        selected: bit-packed cohort, (ceil(K / 8),) bytes; None where it is not recorded.
        spent: what the cohort spent of each resource beside time, whether its clients returned or not; None in a world
            that states time alone.
    """

    num_selected: Int[Array, ""]
    num_succeeded: Int[Array, ""]
    expected_succeeded: Float[Array, ""]
    num_probed: Int[Array, ""]
    num_steps: Int[Array, ""]
    round_time_s: Float[Array, ""]
    watched: dict[str, Float[Array, ""]]
    selected: UInt8[Array, " bytes"] | None
    spent: Float[Array, " others"] | None = None


Round = Callable[
    [prng.Keys, RunParams, RunState, Data | Int[Array, "runs clients"], Int[Array, ""], Int[Array, ""]],
    tuple[RunState, Record],
]


def first_view(dims: Dims, num_samples: Array, t: Array, horizon: Array) -> View:
    """Return the view of a round before the world fills it in."""
    nothing = jnp.full(dims.num_clients, jnp.nan, jnp.result_type(float))
    return View(
        round=t,
        horizon=horizon,
        available=jnp.ones(dims.num_clients, bool),
        num_samples=num_samples,
        context=jnp.ones((dims.num_clients, len(dims.features)), jnp.result_type(float)),
        probed=nothing,
        probed_accuracy=nothing,
        oracle=None,
    )


def _view_axes(selector: Selector) -> View:
    """Return the batched axes of a view: the round and the horizon are the same for all runs."""
    axes: dict[str, Any] = dict.fromkeys(View._fields, 0)
    return View(**axes | {"round": None, "horizon": None, "oracle": 0 if selector.needs_oracle else None})


def make_init(spec: Spec) -> Callable[[prng.Keys, RunParams, Weights, Int[Array, " clients"], Any], RunState]:
    """Return the function (keys, params, weights, num_samples, positions) -> state of ONE run before round 1.

    Initial states are drawn at round 0 of their streams. `weights`, the initial model, and `positions` are None in a
    selection-only run.
    """
    parts = build(spec)
    algorithm, ends = parts.algorithm, ending.of(parts.controller)

    def init(
        keys: prng.Keys, params: RunParams, weights: Weights, num_samples: Int[Array, " clients"], positions: Any
    ) -> RunState:
        world = prng.at(keys.environment, 0)
        zero = jnp.zeros(spec.dims.num_clients, jnp.int32)
        state = RunState(
            environment=parts.environment.init(prng.at(world, 0), params.environment, num_samples),
            selector=parts.selector.init(prng.at(keys.selector, 0), params.selector),
            controller=parts.controller.init(prng.at(world, 1), params.controller, num_samples),
            times_selected=zero,
            times_succeeded=zero,
            ended_round=ends.first(),
        )
        if spec.training is None or parts.model is None or algorithm is None:
            return state
        server = None
        if algorithm.init is not None:  # with the key of an extra client after the last
            server = algorithm.init(prng.at(keys.training, 0, spec.dims.num_clients, 1), params.algorithm, weights)
        return state._replace(
            weights=weights,
            broken_round=jnp.int32(0),
            server=server,
            clients=_memories(parts, keys, weights, positions),
            best=weights if algorithm.estimates else None,
            mean=weights if spec.training.final_model == "mean" else None,
        )

    return init


def _memories(parts: Parts, keys: prng.Keys, weights: Any, positions: Int[Array, "clients samples"]) -> Any:
    if parts.algorithm is None or parts.algorithm.remember is None:
        return None
    own = [prng.at(keys.training, 0, client) for client in range(positions.shape[0])]
    return jax.vmap(parts.algorithm.remember, in_axes=(0, None, 0))(jnp.stack(own), weights, positions)


def watched(parts: Parts, state: RunState) -> dict[str, Array]:
    """Return the values that selector and controller show of their states, by name."""
    shown = {}
    for room in ("selector", "controller"):
        watch = getattr(parts, room).watch
        if watch is not None:
            shown |= {f"{room}_{name}": value for name, value in watch(getattr(state, room)).items()}
    return shown


# ------------------------------------------------------------------------------------- the parts of one run


def make_look(spec: Spec) -> Callable[..., tuple[Any, View, Probe | None]]:
    """Return the observation of a round: (keys, params, state, num_samples, t, horizon) -> (world, view, probe)."""
    parts = build(spec)

    def look(
        keys: prng.Keys, params: RunParams, state: RunState, num_samples: Array, t: Array, horizon: Array
    ) -> tuple[Any, View, Probe | None]:
        view = first_view(spec.dims, num_samples, t, horizon)
        key = prng.at(keys.environment, t, 0)
        world, view = parts.environment.observe(key, state.environment, params.environment, view)
        if not parts.selector.needs_oracle:
            view = view._replace(oracle=None)
        if parts.selector.probe is None:
            return world, view, None
        key = prng.at(keys.selector, t, 0)
        return world, view, parts.selector.probe(key, state.selector, params.selector, view)

    return look


def make_choose(spec: Spec) -> Callable[..., tuple[RunState, Cohort, Plan, Outcome]]:
    """Return the choice and its outcome: (keys, params, state, view, t) -> (state, cohort, plan, outcome)."""
    parts = build(spec)
    ends = ending.of(parts.controller)

    def choose(
        keys: prng.Keys, params: RunParams, state: RunState, view: View, t: Array
    ) -> tuple[RunState, Cohort, Plan, Outcome]:
        chosen, cohort = parts.selector.select(prng.at(keys.selector, t, 1), state.selector, params.selector, view)
        controlled, plan = parts.controller.plan(state.controller, params.controller, view, cohort)
        ended = ends.after_plan(state.ended_round, controlled, t)
        cohort = cohort._replace(selected=cohort.selected & ending.goes_on(ended))
        key = prng.at(keys.environment, t, 1)
        world, outcome = parts.environment.respond(key, state.environment, params.environment, view, cohort, plan)
        if outcome.steps is not None:
            plan = plan._replace(steps=jnp.minimum(plan.steps, outcome.steps))
        chosen = ending.while_it_lasts(ended, chosen, state.selector)
        state = state._replace(environment=world, selector=chosen, controller=controlled, ended_round=ended)
        return state, cohort, plan, outcome

    return choose


def make_learn(spec: Spec) -> Callable[..., tuple[RunState, Record]]:
    """Return the update: (params, state, view, cohort, plan, outcome, trained, t) -> (state, record)."""
    parts = build(spec)
    selector, controller, ends = parts.selector, parts.controller, ending.of(parts.controller)
    trains = parts.algorithm is not None

    def learn(
        params: RunParams, state: RunState, view: View, cohort: Cohort, plan: Plan, outcome: Outcome,
        trained: Trained, t: Array,
    ) -> tuple[RunState, Record]:  # fmt: skip
        returned = outcome.returned(cohort.selected)
        waited = jnp.where(cohort.selected, outcome.latency_s, 0.0)
        nothing = jnp.zeros((1, spec.dims.num_clients))
        costs = outcome.costs or Costs(step=nothing, exchange=outcome.latency_s[None])
        feedback = Feedback(
            selected=cohort.selected,
            succeeded=returned,
            latency_s=waited,
            loss=trained.loss,
            costs=jax.tree.map(lambda x: jnp.where(cohort.selected, x, 0.0), costs),
            share=trained.share,
            estimates=trained.estimates,
            kept=trained.kept,
            idle_s=outcome.idle_s,
            facts=trained.facts,
        )
        going, learns = ending.goes_on(state.ended_round), True if plan.learns is None else plan.learns
        chose = selector.update(state.selector, params.selector, view, cohort, feedback)
        controlled = controller.update(state.controller, params.controller, view, cohort, feedback)
        controlled = ending.while_it_lasts(state.ended_round, controlled, state.controller)
        after = state._replace(
            selector=ending.while_it_lasts(state.ended_round, chose, state.selector),
            controller=controlled,
            times_selected=state.times_selected + cohort.selected,
            times_succeeded=state.times_succeeded + returned,
            ended_round=ends.after_round(state.ended_round, controlled, t),
        )
        many, inclusion = ops.count(cohort.selected), once(cohort.inclusion)
        spent = plan.steps * costs.step[1:] + costs.exchange[1:]
        record = Record(
            num_selected=many,
            num_succeeded=ops.count(returned),
            expected_succeeded=jnp.where(going, ops.total(jnp.where(outcome.succeeded, inclusion, 0.0)), 0.0),
            num_probed=ops.count(going & ~jnp.isnan(view.probed)),
            num_steps=ops.total(jnp.where(returned & trains & learns, plan.steps, 0)),
            round_time_s=jnp.where(going, jnp.where(many > 0, fold(jnp.maximum, waited), outcome.idle_s), 0.0),
            watched=watched(parts, after),
            selected=jnp.packbits(cohort.selected) if spec.record_selected else None,
            spent=ops.total(jnp.where(cohort.selected, spent, 0.0).T) if len(spent) else None,
        )
        return after, record

    return learn


# ------------------------------------------------------------------------------------------------ the round


def _answered(
    lane: Lane, model: Model, keys: prng.Keys, state: RunState, data: Data, view: View, probe: Probe, t: Array
) -> View:
    """Return the view with the probed clients' loss and accuracy of the global model."""
    going = ending.goes_on(state.ended_round)
    probe = probe._replace(asked=probe.asked & going[..., None])
    own = jax.vmap(lambda key: prng.at(key, t, 2))(keys.selector)
    quality = client_quality(lane, model, state.weights, data, probe, own)
    silent = probe.asked & (data.num_samples == 0)  # asked, but without images: their loss is 0
    return view._replace(probed=jnp.where(silent, 0.0, quality.loss), probed_accuracy=quality.accuracy)


def make_round(spec: Spec) -> Round:
    """Return one round of a block of runs: (keys, params, state, data, round, horizon) -> (state, record).

    Keys, params and state have a leading axis runs. `data` is the block's `Data`, or just the clients' numbers of
    images, (runs, K), in a selection-only run. Round and horizon are scalars.
    """
    parts, lane = build(spec), LANES[spec.lane]
    train = None if parts.algorithm is None else make_train(spec)
    seen = _view_axes(parts.selector)
    look = jax.vmap(make_look(spec), in_axes=(0, 0, 0, 0, None, None), out_axes=(0, seen, 0))
    choose = jax.vmap(make_choose(spec), in_axes=(0, 0, 0, seen, None))
    learn = jax.vmap(make_learn(spec), in_axes=(0, 0, seen, 0, 0, 0, 0, None))

    def one_round(
        keys: prng.Keys, params: RunParams, state: RunState, data: Data | Array, t: Array, horizon: Array
    ) -> tuple[RunState, Record]:
        num_samples = data.num_samples if isinstance(data, Data) else data
        world, view, probe = look(keys, params, state, num_samples, t, horizon)
        state = state._replace(environment=world)
        if probe is not None:
            assert parts.model is not None and isinstance(data, Data)
            view = _answered(lane, parts.model, keys, state, data, view, probe, t)
        state, cohort, plan, outcome = choose(keys, params, state, view, t)
        trained = Trained(loss=jnp.full(cohort.selected.shape, jnp.nan, jnp.result_type(float)))
        if train is not None:
            assert isinstance(data, Data) and state.broken_round is not None
            # A client that does not return is not trained: its model is lost, and nothing else of it is kept.
            returned: Bool[Array, "runs clients"] = outcome.returned(cohort.selected)
            # Neither is a client of a broken run, whose model stays broken.
            plan = plan._replace(steps=jnp.where(state.broken_round[:, None] == 0, plan.steps, 0))
            state, trained = train(keys, params, state, data, Now(t, cohort, returned, plan))
        return learn(params, state, view, cohort, plan, outcome, trained, t)

    return one_round
