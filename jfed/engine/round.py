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

from jfed.core import prng
from jfed.core.types import Cohort, Costs, Dims, Feedback, Outcome, Plan, Probe, View
from jfed.engine.evaluate import client_quality
from jfed.engine.lanes import LANES, Data
from jfed.engine.spec import Parts, Spec, build
from jfed.engine.train import RunParams, RunState, Trained, make_train, where


class Record(NamedTuple):
    """What is kept of one round.

    Attributes:
        num_selected: clients in the cohort.
        num_succeeded: of them, who returned.
        expected_succeeded: sum_i p_i x_i, the expectation of `num_succeeded` over the draw of the cohort, as in
            the regret of E3CS (Definition 2); NaN for a scheme without inclusion probabilities.
        num_probed: clients asked for a loss.
        num_steps: local SGD steps done, without those that only look at a model.
        round_time_s: the longest wait for any of the cohort.
        watched: what selector and controller show of their states, by name.
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
        context=jnp.ones((dims.num_clients, len(dims.features)), jnp.result_type(float)),
        probed=nothing,
        probed_accuracy=nothing,
        oracle=None,
    )


def make_init(spec: Spec) -> Callable[[prng.Keys, RunParams, Int[Array, " clients"], Any], RunState]:
    """The state of ONE run before round 1. Initial states are drawn at round 0 of their streams.

    Of the data it takes the clients' numbers of images and their positions, which are () in a selection-only run.
    """
    parts = build(spec)

    def init(keys: prng.Keys, params: RunParams, num_samples: Int[Array, " clients"], positions: Any) -> RunState:
        world = prng.at(keys.environment, 0)
        zero = jnp.zeros(spec.dims.num_clients, jnp.int32)
        weights = () if parts.model is None else parts.model.init(prng.at(keys.model, 0))
        remembers = parts.algorithm is not None and parts.algorithm.remember is not None
        return RunState(
            environment=parts.environment.init(prng.at(world, 0), params.environment, num_samples),
            selector=parts.selector.init(prng.at(keys.selector, 0), params.selector),
            controller=parts.controller.init(prng.at(world, 1), params.controller, num_samples),
            weights=weights,
            times_selected=zero,
            times_succeeded=zero,
            broken_round=() if parts.model is None else jnp.int32(0),
            clients=_memories(parts, keys, weights, positions) if remembers else (),
            best=weights if remembers else (),
            mean=weights if spec.training is not None and spec.training.final_model == "mean" else (),
            ended_round=() if parts.controller.ended is None else jnp.int32(0),
        )

    return init


def _memories(parts: Parts, keys: prng.Keys, weights: Any, positions: Int[Array, "clients samples"]) -> Any:
    assert parts.algorithm is not None and parts.algorithm.remember is not None
    own = [prng.at(keys.training, 0, client) for client in range(positions.shape[0])]
    return jax.vmap(parts.algorithm.remember, in_axes=(0, None, 0))(jnp.stack(own), weights, positions)


def watched(parts: Parts, state: RunState) -> dict[str, Array]:
    """What selector and controller show of their states."""
    shown = {}
    for room in ("selector", "controller"):
        watch = getattr(parts, room).watch
        if watch is not None:
            shown |= {f"{room}_{name}": value for name, value in watch(getattr(state, room)).items()}
    return shown


def make_round(spec: Spec) -> Round:
    """One round of a block of runs: (keys, params, state, data, round, horizon) -> (state, record).

    Keys, params and state have a leading axis runs. `data` is the block's `Data`, or just the clients' numbers of
    images, (runs, K), in a selection-only run. Round and horizon are scalars.
    """
    parts, num_clients = build(spec), spec.dims.num_clients
    selector, algorithm, model = parts.selector, parts.algorithm, parts.model
    lane, trains = LANES[spec.lane], algorithm is not None
    train = make_train(spec) if trains else None

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
        if parts.controller.ended is not None:
            before = state.ended_round
            over = (before == 0) & parts.controller.ended(controlled)  # this round is not held
            held = (before == 0) & ~over
            cohort = cohort._replace(selected=cohort.selected & held)
            chosen = where(held, chosen, state.selector)
            state = state._replace(ended_round=jnp.where(over, t - 1, before))
        key = prng.at(keys.environment, t, 1)
        world, outcome = parts.environment.respond(key, state.environment, params.environment, view, cohort, plan)
        state = state._replace(environment=world, selector=chosen, controller=controlled)
        return state, cohort, plan, outcome

    def learn(
        params: RunParams, state: RunState, view: View, cohort: Cohort, plan: Plan, outcome: Outcome,
        trained: Trained, t: Array,
    ) -> tuple[RunState, Record]:  # fmt: skip
        returned = cohort.selected & outcome.succeeded
        waited = jnp.where(cohort.selected, outcome.latency_s, 0.0)
        costs = outcome.costs or Costs(jnp.zeros((1, num_clients)), outcome.latency_s[None])
        spent = jax.tree.map(lambda x: jnp.where(cohort.selected, x, 0.0), costs)
        feedback = Feedback(
            cohort.selected, returned, waited, trained.loss, spent, trained.share, trained.estimates, trained.kept,
            outcome.idle_s,
        )  # fmt: skip
        before, learns = state, True if plan.learns is None else plan.learns
        state = state._replace(
            selector=selector.update(state.selector, params.selector, view, cohort, feedback),
            controller=parts.controller.update(state.controller, params.controller, view, cohort, feedback),
            times_selected=state.times_selected + cohort.selected,
            times_succeeded=state.times_succeeded + returned,
        )
        going = jnp.bool_(True)
        if parts.controller.ended is not None:
            going = before.ended_round == 0
            frozen = [("selector", before.selector), ("controller", before.controller)]
            state = state._replace(**{name: where(going, getattr(state, name), old) for name, old in frozen})
            state = state._replace(
                ended_round=jnp.where(going & parts.controller.ended(state.controller), t, before.ended_round)
            )
        record = Record(
            num_selected=cohort.selected.sum(dtype=jnp.int32),
            num_succeeded=returned.sum(dtype=jnp.int32),
            expected_succeeded=jnp.where(going, jnp.sum(jnp.where(outcome.succeeded, cohort.inclusion, 0.0)), 0.0),
            num_probed=jnp.sum(going & ~jnp.isnan(view.probed), dtype=jnp.int32),
            num_steps=jnp.sum(jnp.where(returned & trains & learns, plan.steps, 0), dtype=jnp.int32),
            round_time_s=jnp.where(going, jnp.where(cohort.selected.any(), jnp.max(waited), outcome.idle_s), 0.0),
            watched=watched(parts, state),
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
            if parts.controller.ended is not None:
                probe = probe._replace(asked=probe.asked & (state.ended_round == 0)[:, None])
            probe_keys = jax.vmap(lambda key: prng.at(key, t, 2))(keys.selector)
            quality = client_quality(lane, model, state.weights, data, probe, probe_keys)
            silent = probe.asked & (num_samples == 0)  # asked, but with nothing to lose
            view = view._replace(probed=jnp.where(silent, 0.0, quality.loss), probed_accuracy=quality.accuracy)
        axes = _view_axes(selector)[1]
        state, cohort, plan, outcome = jax.vmap(choose, in_axes=(0, 0, 0, axes, None))(keys, params, state, view, t)
        nothing = jnp.full(cohort.selected.shape, jnp.nan, jnp.result_type(float))
        trained = Trained(nothing, None, None, None)
        if train is not None:
            assert isinstance(data, Data)
            # A client that does not return is not trained: its model is lost, and nothing else of it is kept.
            returned: Bool[Array, "runs clients"] = cohort.selected & outcome.succeeded
            # Nor is one whose run is broken: nothing can come of it.
            sound = state.broken_round == 0
            plan = plan._replace(steps=jnp.where(sound[:, None], plan.steps, 0))
            state, trained = train(keys, params, state, data, returned, cohort, sound, plan, t)
        return jax.vmap(learn, in_axes=(0, 0, axes, 0, 0, 0, 0, None))(
            params, state, view, cohort, plan, outcome, trained, t
        )

    return one_round


def _view_axes(selector: Any) -> Any:
    """Batched axes of (world, view, probe): the round and the horizon are the same for all runs."""
    view = View(None, None, 0, 0, 0, 0, 0, 0 if selector.needs_oracle else None)  # type: ignore[arg-type]
    return 0, view, 0
