"""E3CS that starts afresh every L rounds, so that it follows success rates that change.

The weights of E3CS (see `e3cs`) only grow: once success rates change, the former best clients stay ahead for as long as
they have led. Restarts at fixed intervals are the remedy of Rexp3 (O. Besbes, Y. Gur, A. Zeevi, "Stochastic
Multi-Armed-Bandit Problem with Non-stationary Rewards", NIPS 2014), here for the probabilities, the quota and the
learning rate of E3CS. No paper states this scheme.

*Notation.* As in `e3cs`; L: rounds between restarts.

*Departures.* From E3CS: all weights are 1 again at the beginning of rounds 1, L + 1, 2 L + 1, ..., where rounds without
available clients count as well. The quota's schedule is not restarted. With L >= T this is E3CS, draw by draw.
"""

import functools
from dataclasses import dataclass
from typing import NamedTuple

from jax import Array
from jaxtyping import Int, PRNGKeyArray

from jfed.core.errors import require
from jfed.core.interfaces import Selector
from jfed.core.members import Name
from jfed.core.options import as_arrays
from jfed.core.types import Cohort, Dims, Feedback, Problem, View
from jfed.selectors import e3cs, rexp3


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        e3cs: that of E3CS.
        restart: L.
    """

    e3cs: e3cs.Params
    restart: Int[Array, ""]


@dataclass(frozen=True)
class Options(e3cs.Options):
    """Settings of E3CS with restarts; those of E3CS, and one more.

    Attributes:
        quota: as in `e3cs.Options`.
        restart: rounds between restarts.
    """

    names = (Name("e3cs-restart", {}, "restart", "L, the rounds between restarts", examples=("250",)),)

    quota: float | str | tuple[float, ...] = 0.0
    restart: int = 250

    def params(self, problem: Problem) -> Params:  # type: ignore[override]
        """Return the options as arrays, after checking them."""
        require(self.restart >= 1, f"E3CS must restart after at least one round, found {self.restart}.")
        return as_arrays(functools.partial(Params, super().params(problem)), restart=self.restart)

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""
        plain = super().make(dims)

        def init(key: PRNGKeyArray, params: Params) -> e3cs.State:
            return plain.init(key, params.e3cs)

        def select(key: PRNGKeyArray, state: e3cs.State, params: Params, view: View) -> tuple[e3cs.State, Cohort]:
            state = rexp3.restarted(state, plain.init(key, params.e3cs), params.restart, view)
            return plain.select(key, state, params.e3cs, view)

        def update(state: e3cs.State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> e3cs.State:
            return plain.update(state, params.e3cs, view, cohort, feedback)

        return Selector(init, select, update)
