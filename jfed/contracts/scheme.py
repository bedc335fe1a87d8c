"""A scheme under test: how it walks through the rounds of made-up worlds.

One program walks through several cases: small and large cohorts, clients that are away, and rounds in which no client
returns, losses are NaN or no client has images.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jfed.contracts.finding import Broken, Failed, require, shared
from jfed.contracts.options import ROUNDS, SIZES, K
from jfed.contracts.programs import traced
from jfed.contracts.walks import Shapes, WalkBench
from jfed.core.errors import ConfigError
from jfed.core.interfaces import Selector
from jfed.core.types import Cohort, Dims, Facts, Feedback, Oracle, Probe, Problem, View

FEATURES = ("power", "demand", "distance")


class Case(NamedTuple):
    """A made-up world.

    Attributes:
        seed: seed of the key.
        params: params of the scheme.
        away: (rounds, K), whether each client is away, and so cannot be selected.
        came: (rounds, K), whether it would return.
        loss: (rounds, K), its loss.
        num_samples: (K,), its number of images.
    """

    seed: Any
    params: Any
    away: Any
    came: Any
    loss: Any
    num_samples: Any


class Seen(NamedTuple):
    """A scheme's choices in each round; leading axis rounds, after an axis of cases if there are several.

    Attributes:
        state: state after the round.
        cohort: the cohort.
        asked: whether each client was probed.
        watched: what `watch` returned.
    """

    state: Any
    cohort: Cohort
    asked: Any
    watched: Any


class SelectorBench(WalkBench):
    """One scheme under test."""

    makes = Selector

    @shared
    def problem(self) -> Problem:
        """A cohort of 3, or of another size where the scheme refuses that."""
        refused: Exception | None = None
        for size in (3, 4, 2, K, 1):
            problem = Problem(K, size, ROUNDS, learning_rate=0.01)
            try:
                self.options.params(problem)
            except ConfigError as error:
                refused = refused or error
                continue
            except Exception as error:
                raise Failed("params") from error
            return problem
        raise Broken(f"params refuses its own defaults with {K} clients, whatever the cohort's size: {refused}")

    @shared
    def dims(self) -> Dims:
        """Sizes of the scheme's programs."""
        return Dims(K, K, features=FEATURES)

    @shared
    def cases(self) -> dict[str, Case]:
        """Made-up worlds by name."""
        rng = np.random.default_rng(0)
        near = rng.uniform(size=(ROUNDS, K)) < 0.4
        loss, came = rng.uniform(0.5, 3, (ROUNDS, K)), rng.uniform(size=(ROUNDS, K)) < 0.6
        plain = Case(0, self.params, np.zeros((ROUNDS, K), bool), came, loss, np.array(SIZES, np.int32))
        near[3] = True  # a round without available clients
        worlds = {
            "all clients are available": plain,
            "with another key": plain._replace(seed=1),
            "some are away": plain._replace(away=near),
            "all are away": plain._replace(away=np.ones_like(near)),
            "no client returns": plain._replace(came=np.zeros_like(near)),
            "losses are NaN": plain._replace(loss=np.full_like(loss, np.nan)),
            "no client has images": plain._replace(num_samples=np.zeros(K, np.int32)),
        }
        for size in (1, K):
            try:
                params = self.options.params(self.problem._replace(cohort_size=size))
            except ConfigError:  # a promise that such a cohort cannot keep
                continue
            worlds[f"k = {size}"] = plain._replace(params=params, away=near)
        return worlds

    def size(self, name: str) -> int:
        """Return the cohort's size in a case."""
        return int(name.removeprefix("k = ")) if name.startswith("k = ") else self.problem.cohort_size

    def view(self, t: Any, case: Case, oracle: bool) -> View:
        """Return the view in round t of a case."""
        index = jnp.arange(K)
        context = 1 + 0.5 * jnp.sin(jnp.arange(K * len(FEATURES)) + t).reshape(K, -1)
        nothing = jnp.full(K, jnp.nan, jnp.result_type(float))
        truth = Oracle((0.1 + 0.8 * index / K).astype(nothing.dtype), context.sum(-1)) if oracle else None
        away = jnp.asarray(case.away)[t - 1]
        return View(t, jnp.int32(ROUNDS), ~away, jnp.asarray(case.num_samples), context, nothing, nothing, truth)

    def answered(self, view: View, probe: Probe, loss: Array) -> View:
        """Return the view with the answers of the probed clients; as in the engine, a NaN loss counts as infinite."""
        told = jnp.where(view.num_samples == 0, 0.0, jnp.where(jnp.isnan(loss), jnp.inf, loss))
        right = jnp.where((view.num_samples == 0) | jnp.isnan(loss), jnp.nan, 1 / (1 + loss))
        return view._replace(
            probed=jnp.where(probe.asked, told, jnp.nan), probed_accuracy=jnp.where(probe.asked, right, jnp.nan)
        )

    def chosen(self, member: Any, key: Array, state: Any, t: Any, case: Case) -> tuple[Any, View, Cohort, Any]:
        """Return the state, the view, the cohort and the probed clients of round t."""
        view, loss = self.view(t, case, member.needs_oracle), jnp.asarray(case.loss)[t - 1]
        asked = jnp.zeros(K, bool)
        if member.probe is not None:
            probe = member.probe(jax.random.fold_in(key, 2 * t), state, case.params, view)
            view, asked = self.answered(view, probe, loss), probe.asked
        state, cohort = member.select(jax.random.fold_in(key, 2 * t + 1), state, case.params, view)
        return state, view, cohort, asked

    def facts(self, member: Any, loss: Array) -> Facts:
        """Return made-up facts of the kinds that the scheme wants; NaN where the loss is."""
        wanted = dict.fromkeys(member.wants, loss)
        if "sketch" in wanted:
            wanted["sketch"] = loss[:, None] * jnp.cos(jnp.arange(member.sketch_size)).astype(loss.dtype)
        return Facts(**wanted)

    def told(self, member: Any, view: View, cohort: Cohort, t: Any, case: Case) -> Feedback:
        """Return the feedback in round t."""
        loss, came = jnp.asarray(case.loss)[t - 1], jnp.asarray(case.came)[t - 1]
        back = cohort.selected & came
        waited = jnp.where(cohort.selected, view.context.sum(-1), 0.0)
        weight = jnp.where(back, view.num_samples, 0) / jnp.maximum(view.num_samples.sum(), 1)
        heard = jnp.where(back, loss, jnp.nan)
        return Feedback(
            selected=cohort.selected, succeeded=back, latency_s=waited, loss=heard, share=weight,
            kept=jnp.bool_(True), idle_s=jnp.ones((), waited.dtype), facts=self.facts(member, heard),
        )  # fmt: skip

    def walk(self, member: Any, case: Case) -> tuple[Any, Seen]:
        """Return the first state, and what the scheme does in each round of a case."""
        key = jax.random.key(case.seed)

        def step(state: Any, t: Array) -> tuple[Any, Seen]:
            state, view, cohort, asked = self.chosen(member, key, state, t, case)
            state = member.update(state, case.params, view, cohort, self.told(member, view, cohort, t, case))
            shown = {} if member.watch is None else member.watch(state)
            return state, Seen(state, cohort, asked, shown)

        start = member.init(jax.random.fold_in(key, 0), case.params)
        return start, jax.lax.scan(step, start, jnp.arange(1, ROUNDS + 1, dtype=jnp.int32))[1]

    def trace(self, case: Case, oracle: bool | None = None) -> Shapes:
        """Return the shapes of what each function returns: the states, the watched numbers and the cohort."""
        member, key, t = self.member, jax.random.key(0), jnp.int32(1)
        seen = member.needs_oracle if oracle is None else oracle
        facts = ", ".join(Facts._fields)
        wrong = next((name for name in member.wants if name not in Facts._fields), None)
        require(wrong is None, f"wants names an unknown fact {wrong!r}; the choices are: {facts}.")
        start = traced("init", member.init, key, case.params)
        view = traced("view", lambda: self.view(t, case, seen))
        if member.probe is not None:
            probe = traced("probe", member.probe, key, start, case.params, view)
            require(
                isinstance(probe, Probe) and probe.asked.shape == (K,) and probe.asked.dtype == bool,
                "probe must return a Probe whose `asked` is a mask of all clients.",
            )
        result = traced("select", member.select, key, start, case.params, view)
        require(
            isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], Cohort),
            f"select must return (state, Cohort), found {type(result).__name__}.",
        )
        chosen, cohort = result
        for name, wanted in (("selected", "bool"), ("inclusion", "float"), ("importance", "float")):
            x = getattr(cohort, name)
            if name == "importance" and x is None:
                continue
            require(
                getattr(x, "shape", None) == (K,) and str(x.dtype).startswith(wanted),
                f"The cohort's {name} must be a {'mask' if wanted == 'bool' else 'number'} for each client, {wanted}"
                f"[{K}] here, found {getattr(x, 'dtype', type(x).__name__)}{list(getattr(x, 'shape', ()))}.",
            )
        feedback = traced("feedback", lambda v, c: self.told(member, v, c, t, case), view, cohort)
        after = traced("update", member.update, chosen, case.params, view, cohort, feedback)
        shown = None if member.watch is None else traced("watch", member.watch, start)
        states = {"init": start, "select returns a state": chosen, "update returns a state": after}
        return Shapes(states, shown, cohort)
