"""Walks: what members of a room do in some rounds of made-up cases, and the rules that ask nothing else.

A room says what a case is, how a member walks through its rounds and which shapes its functions give. That a state
never changes its types, that functions are pure, and that a batch of runs is many runs follow for all rooms alike.
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
    """What a member's functions give, by a trace of each.

    Attributes:
        states: by what they are, such as "update returns a state"; "init" is the first.
        shown: what `watch` gives.
        more: what else a room's rules ask for.
    """

    states: dict[str, Any]
    shown: Any = None
    more: Any = None


class WalkBench(Bench):
    """One member under test that goes from round to round."""

    cases: Any
    """Made-up cases by name, host arrays that have their member's params in the field `params`."""

    @abc.abstractmethod
    def walk(self, member: Any, case: Any) -> tuple[Any, Any]:
        """Return the first state, and what a member does in each round of a case."""

    @abc.abstractmethod
    def trace(self, case: Any) -> Shapes:
        """Return the shapes that each function of the member gives, traced by itself, so that errors name it."""

    def on_device(self, **changed: Any) -> Any:
        """Return the first case on the device, with changed fields."""
        case = next(iter(self.cases.values()))._replace(**changed)
        return jax.tree.map(jnp.asarray, case)

    @shared
    def shapes(self) -> Shapes:
        """The shapes that each function gives."""
        return self.trace(self.on_device())

    @shared
    def stacked(self) -> Any:
        """All cases on the device; leading axis cases."""
        self.shapes  # noqa: B018 (whose errors name the function)
        return jax.tree.map(lambda *xs: jnp.stack([jnp.asarray(x) for x in xs]), *self.cases.values())

    @shared
    def together(self) -> tuple[Any, Any]:
        """First states, and what the member does in each case, one case after another; leading axis cases."""
        one = functools.partial(self.walk, self.member)
        return host(jax.jit(lambda cases: jax.lax.map(one, cases))(self.stacked))

    @shared
    def walked(self) -> dict[str, Any]:
        """What the member does in each case; leading axis rounds."""
        return {name: jax.tree.map(lambda x, i=i: x[i], self.together[1]) for i, name in enumerate(self.cases)}

    @shared
    def starts(self) -> dict[str, Any]:
        """The first state of each case."""
        return {name: jax.tree.map(lambda x, i=i: x[i], self.together[0]) for i, name in enumerate(self.cases)}


# --------------------------------------------------------------------------------------------------- rules


def functions(bench: WalkBench) -> None:
    """Functions that can be traced and give what they should."""
    bench.shapes  # noqa: B018


def constant(bench: WalkBench) -> None:
    """A state whose structure, shapes and types never change."""
    for what, state in bench.shapes.states.items():
        require_constant(bench.shapes.states["init"], state, what)


def wide(bench: WalkBench) -> None:
    """In double precision the functions work, and the state keeps its types."""
    bench.shapes  # noqa: B018
    with jax.enable_x64(True):
        states = bench.trace(bench.on_device()).states
        for what, state in states.items():
            require_constant(states["init"], state, f"In float64 (jax_enable_x64) {what}")


def watch(bench: WalkBench) -> None:
    """Single numbers, by name."""
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
    """No side effects: the same program whenever it is traced, no leaks, no callbacks."""
    bench.shapes  # noqa: B018
    require_pure(functools.partial(bench.walk, bench.member), bench.on_device())


def static_half(bench: WalkBench) -> None:
    """`make` gives the same member from the static half as from the real options, at two values of each number."""
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
            " took a number that is dynamic; take it from the params, or declare the field with jfed.static(...).",
        )


def batches(bench: WalkBench) -> None:
    """The same in a batch of runs as one by one."""
    batched = jax.jit(jax.vmap(functools.partial(bench.walk, bench.member)))(bench.stacked)
    require(
        equal(bench.together, host(batched), close=True),
        "A run gives other numbers beside other runs (under jax.vmap) than by itself: write each function for one run,"
        " with the clients on the axis that they have.",
    )


def require_numbers(bench: WalkBench, states: dict[str, Any]) -> None:
    """Refuse a state that begins as numbers and becomes NaN in one of the cases.

    Args:
        bench: of the member.
        states: after each round, by case.
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
