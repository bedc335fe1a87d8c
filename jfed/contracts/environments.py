"""Rules for worlds: draws that depend on seed and round alone, with the frequencies that the world declares."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jfed.contracts import draws
from jfed.contracts.finding import Rules, require, shared
from jfed.contracts.options import BATCH, ROUNDS, SIZES, K, arrays, frozen, made, named
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
    wide,
)
from jfed.core.interfaces import Environment
from jfed.core.types import Cohort, Costs, Dims, Oracle, Outcome, Plan, Problem, View

LABELS = np.eye(4, dtype=int)[np.arange(K) % 4] * np.array(SIZES)[:, None]  # images of each client by label
FEW = (0, 1, 2)  # clients of a cohort
EACH = 64  # draws from each first state, which may be expensive to make


class Visit(NamedTuple):
    """A made-up run through a world.

    Attributes:
        seed: seed of the key.
        params: params of the world.
        selected: (K,), the cohort of every round.
        steps: (K,), local steps of each client.
    """

    seed: Any
    params: Any
    selected: Any
    steps: Any


class EnvironmentBench(WalkBench):
    """One world under test."""

    makes = Environment

    @shared
    def costs(self) -> Costs | None:
        """The costs that the world declares; None if there are none."""
        return self.options.costs(K)

    @shared
    def problem(self) -> Problem:
        """A setting with what the world declares about itself."""
        own = self.options
        labels = LABELS if own.needs_labels() else None
        return Problem(K, 3, ROUNDS, own.expected_availability(), 0.01, own.demand_range(), self.costs, labels=labels)

    @shared
    def dims(self) -> Dims:
        """Sizes of the world's programs."""
        return Dims(K, K, BATCH, self.options.features, 1 if self.costs is None else len(self.costs.step))

    def view(self, t: Any) -> View:
        """Return the view in round t before `observe`."""
        nothing = jnp.full(K, jnp.nan, jnp.result_type(float))
        context = jnp.ones((K, len(self.options.features)), nothing.dtype)
        sizes = jnp.array(SIZES, jnp.int32)
        return View(t, jnp.int32(ROUNDS), jnp.ones(K, bool), sizes, context, nothing, nothing, None)

    def round(self, member: Any, key: Array, state: Any, t: Any, visit: Visit) -> tuple[Any, View, Outcome]:
        """Return the state after round t, its view and its outcome."""
        state, view = member.observe(jax.random.fold_in(key, 2 * t), state, visit.params, self.view(t))
        cohort = Cohort(visit.selected & view.available, jnp.full(K, jnp.nan, jnp.result_type(float)))
        plan = Plan(visit.steps)
        state, outcome = member.respond(jax.random.fold_in(key, 2 * t + 1), state, visit.params, view, cohort, plan)
        return state, view, outcome

    def walk(self, member: Any, case: Visit) -> tuple[Any, Any]:
        """Return the first state, and the states, views and outcomes of all rounds."""
        key = jax.random.key(case.seed)

        def step(state: Any, t: Array) -> tuple[Any, Any]:
            state, view, outcome = self.round(member, key, state, t, case)
            return state, (state, view, outcome)

        start = member.init(jax.random.fold_in(key, 0), case.params, jnp.array(SIZES, jnp.int32))
        return start, jax.lax.scan(step, start, jnp.arange(1, ROUNDS + 1, dtype=jnp.int32))[1]

    @shared
    def cases(self) -> dict[str, Visit]:
        """A run, one with another cohort, and one with another key."""
        few = np.isin(np.arange(K), FEW)
        run = Visit(0, self.params, few, np.ones(K, np.int32))  # a step, which an oracle assumes in round 1
        return {"run": run, "another cohort": run._replace(selected=few[::-1]), "another key": run._replace(seed=1)}

    def trace(self, case: Visit) -> Shapes:
        """Return the shapes of what each function returns; `more` has the views around `observe` and the outcome."""
        member, visit, key, t = self.member, case, jax.random.key(0), jnp.int32(1)
        start = traced("init", member.init, key, visit.params, jnp.array(SIZES, jnp.int32))
        view = traced("view", self.view, t)
        result = traced("observe", member.observe, key, start, visit.params, view)
        require(
            isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], View),
            f"observe must return (state, View), found {type(result).__name__}.",
        )
        seen, after = result
        cohort = Cohort(visit.selected, jnp.full(K, jnp.nan, jnp.result_type(float)))
        result = traced("respond", member.respond, key, seen, visit.params, after, cohort, Plan(visit.steps))
        require(
            isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], Outcome),
            f"respond must return (state, Outcome), found {type(result).__name__}.",
        )
        states = {"init": start, "observe returns a state": seen, "respond returns a state": result[0]}
        return Shapes(states, more=(view, after, result[1]))


# --------------------------------------------------------------------------------------------------- rules


def described(bench: EnvironmentBench) -> None:
    """Check that what a world declares is valid: features, classes, availability, demands and costs."""
    options = bench.options
    features = options.features
    require(
        isinstance(features, tuple) and features and all(isinstance(name, str) for name in features),
        f"features must be a tuple of names, found {features!r}.",
    )
    classes = np.asarray(options.client_class(bench.problem))
    require(
        classes.shape == (K,) and classes.dtype.kind in "iu" and (classes >= 0).all() and (classes < K).all(),
        f"client_class must give each of the {K} clients a whole number from 0 to {K - 1}, found {classes.tolist()}.",
    )
    chance = options.expected_availability()
    require(0 <= chance <= 1, f"expected_availability must lie in [0, 1], found {chance!r}.")
    low, high = options.demand_range()
    require(0 < low <= high, f"demand_range must be a positive range (low, high), found {(low, high)!r}.")
    if (costs := bench.costs) is not None:
        step, exchange = np.asarray(costs.step), np.asarray(costs.exchange)
        require(
            step.shape == exchange.shape and step.ndim == 2 and step.shape[1] == K,
            f"costs must give a step and an exchange for each of {K} clients, (resources, clients), found"
            f" {step.shape} and {exchange.shape}.",
        )
        require((step >= 0).all() and (exchange >= 0).all(), "costs must not be negative.")
    names, many = options.spends(), 0 if costs is None else len(costs.step) - 1
    require(
        len(names) == len(set(names)) == many and all(str(name).isidentifier() for name in names),
        f"spends must name the {many} resources that costs has beside time, found {names!r}.",
    )


def shaped(bench: EnvironmentBench) -> None:
    """Check the shapes and types of the view and the outcome, also of fields that a world must leave alone."""
    before, view, outcome = bench.shapes.more
    float_ = jnp.result_type(float)
    wanted = {
        "view.available": (view.available, (K,), jnp.bool_),
        "view.context": (view.context, (K, len(bench.options.features)), float_),
        "outcome.succeeded": (outcome.succeeded, (K,), jnp.bool_),
        "outcome.latency_s": (outcome.latency_s, (K,), float_),
        "outcome.idle_s": (outcome.idle_s, (), float_),
    }
    require(
        isinstance(view.oracle, Oracle),
        "observe must fill in view.oracle, as in view._replace(oracle=jfed.Oracle(success_rate, latency_s)); only"
        " schemes that declare needs_oracle see it.",
    )
    wanted |= {
        f"outcome.{name}": (getattr(outcome, name), (K,), dtype)
        for name, dtype in (("steps", jnp.int32), ("used", jnp.bool_))
        if getattr(outcome, name) is not None
    }
    wanted |= {f"view.oracle.{name}": (getattr(view.oracle, name), (K,), float_) for name in Oracle._fields}
    for name, (x, shape, dtype) in wanted.items():
        found = (getattr(x, "shape", None), getattr(x, "dtype", None))
        hint = " (one column for each of `features`)" if name == "view.context" else ""
        require(
            found == (shape, dtype),
            f"{name} must be {jnp.dtype(dtype).name}{list(shape)}{hint}, found {found[1]}{list(found[0] or ())}.",
        )
    for name in ("round", "horizon", "num_samples", "probed", "probed_accuracy"):
        old, new = getattr(before, name), getattr(view, name)
        require((old.shape, old.dtype) == (new.shape, new.dtype), f"observe must leave view.{name} as it is.")
    resources = bench.dims.resources
    if bench.costs is None:
        fine = outcome.costs is None or outcome.costs.step.shape == outcome.costs.exchange.shape == (1, K)
        require(
            fine, "outcome.costs has other shapes than (1, clients), but costs(num_clients) is None: define it, too."
        )
    else:
        require(
            outcome.costs is not None and outcome.costs.step.shape == outcome.costs.exchange.shape == (resources, K),
            f"costs(num_clients) has {resources} types of resources, so outcome.costs must have a step and an exchange"
            f" of shape {[resources, K]}.",
        )


def own_way(bench: EnvironmentBench) -> str | None:
    """Check that draws depend on seed and round alone, never on which clients are selected."""
    (_, view, outcome), (_, seen, other), (_, elsewhere, then) = bench.walked.values()
    pairs = {"available": (view.available, seen.available), "to return": (outcome.succeeded, other.succeeded)}
    for name, (one, two) in pairs.items():
        require(
            (one[0] == two[0]).all(),
            f"Which clients are {name} in the first round depends on the cohort: draw for all clients, selected or not,"
            " so that all schemes get the same world.",
        )
    moving = zip(jax.tree.leaves((view, outcome)), jax.tree.leaves((elsewhere, then)), strict=True)
    return "deterministic" if all(np.array_equal(a, b, a.dtype.kind == "f") for a, b in moving) else None


def sound(bench: EnvironmentBench) -> None:
    """Check that times are finite and not negative, contexts finite, and success rates in [0, 1]."""
    _, view, outcome = bench.together[1]
    numbers = {"latency_s": outcome.latency_s, "idle_s": outcome.idle_s, "oracle.latency_s": view.oracle.latency_s}
    if outcome.costs is not None:
        numbers |= {"costs.step": outcome.costs.step, "costs.exchange": outcome.costs.exchange}
    for name, x in numbers.items():
        bad = x[~(np.isfinite(x) & (x >= 0))]
        require(
            bad.size == 0,
            f"{name} must be finite and not negative, also of clients that fail, since the server waits for them; found"
            f" {bad[:1].sum():g}.",
        )
    require_numbers(bench, {name: seen[0] for name, seen in bench.walked.items()})
    require(np.isfinite(view.context).all(), "The contexts of clients (view.context) must be finite.")
    rate = view.oracle.success_rate
    require(((rate >= 0) & (rate <= 1)).all(), "oracle.success_rate must lie in [0, 1].")


def frequencies(bench: EnvironmentBench) -> str | None:
    """Check that clients are available and return as often as the world declares."""
    bench.shapes  # noqa: B018
    member, visit = bench.member, bench.on_device()

    def one(key: Array) -> tuple[Array, Array, Array]:
        start = member.init(jax.random.fold_in(key, 0), visit.params, jnp.array(SIZES, jnp.int32))

        def drawn(key: Array) -> tuple[Array, Array, Array]:
            _, view, outcome = bench.round(member, key, start, jnp.int32(1), visit)
            assert view.oracle is not None  # another rule requires it
            return view.available, outcome.succeeded, view.oracle.success_rate

        return jax.vmap(drawn)(jax.random.split(jax.random.fold_in(key, 1), EACH))

    available, succeeded, rate = draws.many(one, number=draws.DRAWS // EACH)
    succeeded, rate = succeeded.reshape(-1, K), rate.reshape(-1, K)
    chance = bench.options.expected_availability()
    apart = draws.apart(available.mean((1, 2))[:, None] - chance)
    require(
        apart is None,
        f"Clients are available in {available.mean():.4g} of the draws, but expected_availability says {chance:g}.",
    )
    apart = draws.apart(succeeded - rate, rate * (1 - rate), slack=5e-3)
    client = apart[0] if apart else 0
    require(
        apart is None,
        f"Client {client} would return in {succeeded[:, client].mean():.4g} of the draws, but oracle.success_rate says"
        f" {rate[:, client].mean():.4g}.",
    )
    return None


def sweeps(bench: EnvironmentBench) -> None:
    """Check that a run works from end to end, with one program for two values of each number."""
    bench.shapes  # noqa: B018
    needs = bench.options.needs_labels()
    results = sweep({"environment": [bench.options, *bench.varied.values()]}, training=needs, selector="uniform")
    time = results["round_time_s"]
    require(np.isfinite(time).all() and (time >= 0).all(), "In a run of a few rounds a time is negative or not finite.")


RULES: Rules = (
    ("options", frozen),
    ("names", named),
    ("described", described),
    ("params", arrays),
    ("make", made),
    ("functions", functions),
    ("shapes", shaped),
    ("state", constant),
    ("float64", wide),
    ("pure", pure),
    ("static half", static_half),
    ("batches", batches),
    ("own way", own_way),
    ("sound", sound),
    ("frequencies", frequencies),
    ("one trace", sweeps),
)
