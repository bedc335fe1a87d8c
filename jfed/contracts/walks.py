"""Walks of members through some rounds of made-up cases, and the rules that need nothing else.

A room defines its cases, how a member walks through their rounds, and which shapes its functions return. The rules are
the same for all rooms: a state never changes its types, functions are pure, and a batch of runs gives what single runs
give.
"""

import abc
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jfed.contracts.finding import require, shared
from jfed.contracts.options import Bench
from jfed.contracts.programs import equal, host, program, require_constant, require_pure


class Shapes(NamedTuple):
    """The shapes of what a member's functions return, from a trace of each.

    Attributes:
        states: states by their origin, such as "update returns a state"; "init" is the first state.
        shown: what `watch` returns; None if there is no `watch`.
        more: what else the rules of the room need.
    """

    states: dict[str, Any]
    shown: Any = None
    more: Any = None


class WalkBench(Bench):
    """One member under test that acts in rounds.

    Attributes:
        cases: made-up cases by name, as host arrays; their field `params` holds the params of the member.
    """

    cases: Any

    @abc.abstractmethod
    def walk(self, member: Any, case: Any) -> tuple[Any, Any]:
        """Return the first state, and what a member does in each round of a case."""

    @abc.abstractmethod
    def trace(self, case: Any) -> Shapes:
        """Return the shapes of what each function of the member returns, traced by itself so that errors name it."""

    def on_device(self, **changed: Any) -> Any:
        """Return the first case on the device, with changed fields."""
        case = next(iter(self.cases.values()))._replace(**changed)
        return jax.tree.map(jnp.asarray, case)

    @shared
    def shapes(self) -> Shapes:
        """The shapes of what each function returns."""
        return self.trace(self.on_device())

    @shared
    def stacked(self) -> Any:
        """All cases on the device; leading axis cases."""
        self.shapes  # noqa: B018 (whose errors name the function)
        return jax.tree.map(lambda *xs: jnp.stack([jnp.asarray(x) for x in xs]), *self.cases.values())

    @shared
    def together(self) -> tuple[Any, Any]:
        """First states and the member's walks, one case after another; leading axis cases."""
        one = functools.partial(self.walk, self.member)
        return host(jax.jit(lambda cases: jax.lax.map(one, cases))(self.stacked))

    @shared
    def walked(self) -> dict[str, Any]:
        """The member's walk in each case; leading axis rounds."""
        return {name: jax.tree.map(lambda x, i=i: x[i], self.together[1]) for i, name in enumerate(self.cases)}

    @shared
    def starts(self) -> dict[str, Any]:
        """The first state of each case."""
        return {name: jax.tree.map(lambda x, i=i: x[i], self.together[0]) for i, name in enumerate(self.cases)}


# --------------------------------------------------------------------------------------------------- rules


def functions(bench: WalkBench) -> None:
    """Check that the functions can be traced and return what they should."""
    bench.shapes  # noqa: B018


def constant(bench: WalkBench) -> None:
    """Check that the structure, shapes and types of the state never change."""
    for what, state in bench.shapes.states.items():
        require_constant(bench.shapes.states["init"], state, what)


def wide(bench: WalkBench) -> None:
    """Check that the functions work in double precision and the state keeps its types."""
    bench.shapes  # noqa: B018
    with jax.enable_x64(True):
        states = bench.trace(bench.on_device()).states
        for what, state in states.items():
            require_constant(states["init"], state, f"In float64 (jax_enable_x64) {what}")


def watch(bench: WalkBench) -> None:
    """Check that `watch` returns single numbers by name."""
    shown = bench.shapes.shown
    if shown is None:
        return
    require(isinstance(shown, dict), f"watch must return numbers by name, found {type(shown).__name__}.")
    for name, x in shown.items():
        require(
            isinstance(name, str) and getattr(x, "shape", None) == (),
            f"watch must return single numbers by name, found {name!r} of shape {list(getattr(x, 'shape', ()))}.",
        )


def pure(bench: WalkBench) -> None:
    """Check that there are no side effects: the same program in each trace, no leaks, no callbacks."""
    bench.shapes  # noqa: B018
    require_pure(functools.partial(bench.walk, bench.member), bench.on_device())


def static_half(bench: WalkBench) -> None:
    """Check that `make` gives the same member from the static half as from the options, for two values of a number."""
    bench.shapes  # noqa: B018
    made = program(functools.partial(bench.walk, bench.member), bench.on_device())
    for name, options in [("", bench.options), *bench.varied.items()]:
        case, real = bench.on_device(params=bench.params_of(options, bench.problem)), bench.make(options)
        if program(functools.partial(bench.walk, real), case)[:2] == made[:2]:
            continue  # equal programs give equal bits, and need not run
        both = [host(jax.jit(functools.partial(bench.walk, one))(case)) for one in (bench.member, real)]
        value = f" at {name} = {getattr(options, name)!r}" if name else ""
        require(
            equal(*both),
            f"make gives another member from the static half of the options than from the options themselves{value}: it"
            " reads a dynamic field; take it from the params, or declare it with jfed.static(...).",
        )


def batches(bench: WalkBench) -> None:
    """Check that runs give the same numbers in a batch as one by one."""
    batched = jax.jit(jax.vmap(functools.partial(bench.walk, bench.member)))(bench.stacked)
    require(
        equal(bench.together, host(batched), close=True),
        "A run gives other numbers beside other runs (under jax.vmap) than by itself: write each function for one run,"
        " with no axis of runs.",
    )


def require_numbers(bench: WalkBench, states: dict[str, Any]) -> None:
    """Check that no state that begins as numbers becomes NaN in one of the cases.

    Args:
        bench: bench of the member.
        states: states after each round, by case.
    """
    for name, state in states.items():
        pairs = jax.tree_util.tree_leaves_with_path(bench.starts[name])
        for (path, before), after in zip(pairs, jax.tree.leaves(state), strict=True):
            if before.dtype.kind != "f" or np.isnan(before).any():
                continue
            bad = np.isnan(after).reshape(len(after), -1).any(-1)
            require(
                not bad.any(),
                f"state{jax.tree_util.keystr(path)} becomes NaN in round {bad.argmax() + 1}, where {name}: guard the"
                " formula, for instance with jnp.where or Feedback.heard.",
            )
