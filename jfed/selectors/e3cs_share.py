"""E3CS whose clients share a part of the total weight each round, so that it follows success rates that change.

The weights of E3CS (see `e3cs`) only grow: once success rates change, the former best clients stay ahead for as long as
they have led. Sharing is the remedy of M. Herbster, M. K. Warmuth, "Tracking the Best Expert", Machine Learning 32,
1998 (Fixed Share), which Exp3.S brings to bandits (see `exp3s`), here for the probabilities, the quota and the learning
rate of E3CS. No paper states this scheme.

    w_i <- (1 - alpha) w_i + (alpha / K) sum_j w_j    after each update of E3CS

*Notation.* As in `e3cs`; alpha: share of the total.

*Departures.* From E3CS: only the line above. The total is that of all clients, also those that are away, and of weights
that are not cut at the cap. With alpha = 0 this is E3CS, and with alpha = 1 it forgets every round, both draw by draw.

With quota 0 and without the clip of the exponent, sharing bounds p from below by about k alpha / K. A client of such a
p that is drawn and returns gains an exponent of eta / alpha: its weight exceeds all others by so much that its share
makes them equal. The scheme then forgets far more often than alpha says. The clip (mode `corrected`) prevents it.
"""

import functools
from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, PRNGKeyArray

from jfed.core.errors import require
from jfed.core.interfaces import Selector
from jfed.core.members import Name
from jfed.core.options import as_arrays
from jfed.core.types import Cohort, Dims, Feedback, Problem, View
from jfed.selectors import e3cs, exp3s


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        e3cs: that of E3CS.
        share: alpha.
    """

    e3cs: e3cs.Params
    share: Float[Array, ""]


@dataclass(frozen=True)
class Options(e3cs.Options):
    """Settings of E3CS with a fixed share; those of E3CS, and one more.

    Attributes:
        quota: as in `e3cs.Options`.
        share: alpha, in [0, 1]; the default is 1 / T for the 2500 rounds of E3CS's experiments.
    """

    names = (Name("e3cs-share", {}, "share", "alpha, the share of the total weight", examples=("0.0004",)),)

    quota: float | str | tuple[float, ...] = 0.0
    share: float = 0.0004

    def params(self, problem: Problem) -> Params:  # type: ignore[override]
        """Return the options as arrays, after checking them."""
        require(0 <= self.share <= 1, f"E3CS's share of the total weight must lie in [0, 1], found {self.share:g}.")
        return as_arrays(functools.partial(Params, super().params(problem)), share=float(self.share))

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""
        plain = super().make(dims)

        def init(key: PRNGKeyArray, params: Params) -> e3cs.State:
            return plain.init(key, params.e3cs)

        def select(key: PRNGKeyArray, state: e3cs.State, params: Params, view: View) -> tuple[e3cs.State, Cohort]:
            return plain.select(key, state, params.e3cs, view)

        def update(state: e3cs.State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> e3cs.State:
            state = plain.update(state, params.e3cs, view, cohort, feedback)
            kept = state.log_w + jnp.log1p(-params.share)
            return state._replace(log_w=exp3s.shared(state.log_w, kept, params.share / dims.num_clients))

        return Selector(init, select, update)
