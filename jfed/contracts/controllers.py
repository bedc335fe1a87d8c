"""Rules for controllers: whole numbers of local steps, none for clients without images, and an end that is final."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jfed.contracts.finding import Rules, require, shared
from jfed.contracts.options import BATCH, ROUNDS, K, arrays, frozen, made, named
from jfed.contracts.programs import traced
from jfed.contracts.sweeps import sweep
from jfed.contracts.walks import (
    Shapes,
    WalkBench,
    batches,
    constant,
    functions,
    pure,
    require_numbers,
    static_half,
    watch,
    wide,
)
from jfed.core.interfaces import Controller
from jfed.core.types import Cohort, Costs, Dims, Estimates, Feedback, Plan, Problem, View

SIZES = (0, 1, 3, 4, 5, 8, 9, 20)


class Course(NamedTuple):
    """A made-up run.

    Attributes:
        seed: seed of the key.
        params: params of the controller.
        came: (rounds, K), whether each client would return.
    """

    seed: Any
    params: Any
    came: Any


class ControllerBench(WalkBench):
    """One controller under test."""

    makes = Controller

    @shared
    def problem(self) -> Problem:
        """A setting in a world that declares the costs of a step and of an exchange."""
        costs = Costs(np.full((1, K), 0.01), np.full((1, K), 0.1))  # type: ignore[arg-type]
        return Problem(K, 3, ROUNDS, learning_rate=0.01, costs=costs, first_cohort=3)

    @shared
    def dims(self) -> Dims:
        """Sizes of the controller's programs."""
        return Dims(K, K, BATCH)

    def view(self, t: Any) -> View:
        """Return the view in round t."""
        nothing = jnp.full(K, jnp.nan, jnp.result_type(float))
        context, sizes = jnp.ones((K, 1), nothing.dtype), jnp.array(SIZES, jnp.int32)
        return View(t, jnp.int32(ROUNDS), jnp.ones(K, bool), sizes, context, nothing, nothing, None)

    def cohort(self, t: Any) -> Cohort:
        """Return a cohort of three clients, which change from round to round."""
        return Cohort((jnp.arange(K) + t) % K < 3, jnp.full(K, jnp.nan, jnp.result_type(float)))

    def told(self, cohort: Cohort, t: Any, plan: Plan, course: Course) -> Feedback:
        """Return the feedback in round t."""
        float_ = jnp.result_type(float)
        back = cohort.selected & course.came[t - 1]
        spent = jnp.where(cohort.selected, 1.0, 0.0).astype(float_)
        costs = Costs(0.1 * spent[None], 0.5 * spent[None])
        latency = costs.step[0] * plan.steps + costs.exchange[0]
        loss = jnp.where(back, 1 / (1 + 0.1 * t), jnp.nan).astype(float_)
        estimates = None
        if self.options.needs_estimates():
            size = jnp.where(back, 0.5, jnp.nan).astype(float_)
            estimates = Estimates(loss, loss, size, size, back, size)
        share = jnp.where(back, 1 / 3, 0.0).astype(float_)
        return Feedback(
            selected=cohort.selected, succeeded=back, latency_s=latency.astype(float_), loss=loss, costs=costs,
            share=share, estimates=estimates, kept=jnp.bool_(True), idle_s=jnp.ones((), float_),
        )  # fmt: skip

    def walk(self, member: Any, case: Course) -> tuple[Any, tuple[Any, ...]]:
        """Return the first state; of each round, state, steps, `learns`, and whether the run was over after each half.

        The halves of a round are the plan and the update. As in the engine, nothing is updated once a run is over.
        """
        ended = member.ended or (lambda state: jnp.bool_(False))

        def step(carry: tuple[Any, Array], t: Array) -> tuple[Any, Any]:
            state, over = carry
            view, cohort = self.view(t), self.cohort(t)
            state, plan = member.plan(state, case.params, view, cohort)
            planned = ended(state)
            new = member.update(state, case.params, view, cohort, self.told(cohort, t, plan, case))
            stop = over | planned
            state = jax.tree.map(lambda old, now: jnp.where(stop, old, now), state, new)
            updated = ended(state)
            learns = jnp.bool_(True) if plan.learns is None else plan.learns
            return (state, stop | updated), (state, plan.steps, learns, planned, updated)

        sizes = jnp.array(SIZES, jnp.int32)
        start = member.init(jax.random.key(case.seed), case.params, sizes)
        carry = (start, jnp.bool_(False))
        return start, jax.lax.scan(step, carry, jnp.arange(1, ROUNDS + 1, dtype=jnp.int32))[1]

    @shared
    def cases(self) -> dict[str, Course]:
        """Runs in which some clients return or none does, and one with another key."""
        came = np.random.default_rng(0).uniform(size=(ROUNDS, K)) < 0.7
        run = Course(0, self.params, came)
        return {
            "some return": run,
            "no client returns": run._replace(came=np.zeros_like(came)),
            "with another key": run._replace(seed=1),
        }

    def trace(self, case: Course) -> Shapes:
        """Return the shapes of what each function returns: the states, the watched numbers, and the end."""
        member, course, key, t = self.member, case, jax.random.key(0), jnp.int32(1)
        start = traced("init", member.init, key, course.params, jnp.array(SIZES, jnp.int32))
        view, cohort = self.view(t), self.cohort(t)
        result = traced("plan", member.plan, start, course.params, view, cohort)
        require(
            isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], Plan),
            f"plan must return (state, Plan), found {type(result).__name__}.",
        )
        planned, plan = result
        require(
            getattr(plan.steps, "shape", None) == (K,) and plan.steps.dtype == jnp.int32,
            f"A plan's steps must be int32[{K}], a whole number for each client, found"
            f" {getattr(plan.steps, 'dtype', type(plan.steps).__name__)}{list(getattr(plan.steps, 'shape', ()))}.",
        )
        require(
            plan.learns is None or (plan.learns.shape, plan.learns.dtype) == ((), jnp.bool_),
            "A plan's `learns` must be None or a single bool.",
        )
        fed = traced("feedback", lambda p: self.told(cohort, t, p, course), plan)
        after = traced("update", member.update, planned, course.params, view, cohort, fed)
        ended = None if member.ended is None else traced("ended", member.ended, start)
        shown = None if member.watch is None else traced("watch", member.watch, start)
        states = {"init": start, "plan returns a state": planned, "update returns a state": after}
        return Shapes(states, shown, ended)


# --------------------------------------------------------------------------------------------------- rules


def steps(bench: ControllerBench) -> None:
    """Check that local steps are not negative, and 0 for clients without images."""
    planned = bench.together[1][1]
    require((planned >= 0).all(), f"A client is to make {planned.min()} local steps: they must not be negative.")
    require(
        not planned[..., np.array(SIZES) == 0].any(),
        "A client without images is to make local steps: give it none, as in jnp.where(view.num_samples > 0, ...).",
    )


def ends(bench: ControllerBench) -> str | None:
    """Check that `ended` returns a single bool that stays true once it is true."""
    ended = bench.shapes.more
    if ended is None:
        return None
    require(
        getattr(ended, "shape", None) == () and ended.dtype == jnp.bool_,
        f"ended must return a single bool, found {getattr(ended, 'dtype', type(ended).__name__)}"
        f"{list(getattr(ended, 'shape', ()))}.",
    )
    *_, planned, updated = bench.together[1]
    flags = np.stack([planned, updated], -1).reshape(len(planned), -1)
    require(
        (np.diff(flags.astype(int), axis=1) >= 0).all(),
        "A run that was over goes on: `ended` was true and is false again after the next plan, which must not undo it.",
    )
    return None if flags.any() else "the run did not end within the rounds of this check"


def sound(bench: ControllerBench) -> None:
    """Check that no number of the state becomes NaN, even if no client returns."""
    require_numbers(bench, {name: seen[0] for name, seen in bench.walked.items()})


def sweeps(bench: ControllerBench) -> str | None:
    """Check that a run works from end to end, with one program for two values of each number."""
    bench.shapes  # noqa: B018
    needs = bench.options.needs_estimates()
    more: dict[str, Any] = {"training__algorithm": "adaptive"} if needs else {}
    settings = [bench.options, *bench.varied.values()]
    sweep({"controller": settings}, training=needs, selector="uniform", environment="edge", **more)
    return "needs clients that estimate their losses" if needs else None


RULES: Rules = (
    ("options", frozen),
    ("names", named),
    ("params", arrays),
    ("make", made),
    ("functions", functions),
    ("state", constant),
    ("float64", wide),
    ("watch", watch),
    ("pure", pure),
    ("static half", static_half),
    ("batches", batches),
    ("steps", steps),
    ("ends", ends),
    ("sound", sound),
    ("one trace", sweeps),
)
