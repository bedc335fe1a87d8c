"""Active federated learning: clients whose data have large losses are drawn more often.

J. Goetz, K. Malik, D. Bui, S. Moon, H. Liu, A. Kumar, "Active Federated Learning", NeurIPS 2019 workshop on federated
learning (arXiv 1909.12641).

*Notation.* K: number of clients; m: clients per round (here k); n_i: images of client i; v_i = sqrt(n_i) times the mean
loss of the received model on them: valuation, as of the last round in which i returned; alpha_1: share of clients that
are disqualified; alpha_2: temperature; alpha_3: share of the cohort that is drawn uniformly.

The alpha_1 K clients of the lowest valuations have no chance in a first draw, of (1 - alpha_3) m clients with chances
proportional to exp(alpha_2 v_i). The others are drawn uniformly among all clients not drawn yet, disqualified or not.

*Departures.*
- alpha_1 = 0.75 is the share that is disqualified. Some copies in public read it as the share that is kept.
- alpha_1 K and (1 - alpha_3) m are rounded down; where fewer clients qualify than the first draw wants, the second draw
  fills the cohort. Where clients are away, K is the number of available ones, and only they are ranked and drawn.
- The paper does not say what the valuation of a client is that has not returned yet: here it is never below that of
  another client, so that it comes to be drawn. Among equals those disqualified are chosen at random. A client without
  images has valuation 0, and one whose loss is not finite keeps its valuation.
- `loss="received"` is the loss of the paper, of the received model on all images of a client (the fact `loss_before`).
  `loss="training"` is what clients report anyway: their mean loss over the local steps, or their loss of the received
  model, where they estimate that; without training it is not known, and the draw is uniform.
"""

from dataclasses import dataclass
from math import inf
from typing import Literal, NamedTuple

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, PRNGKeyArray

from jfed.core import ops, prng
from jfed.core.errors import require
from jfed.core.interfaces import Selector
from jfed.core.members import Name, SelectorOptions
from jfed.core.options import as_arrays, static
from jfed.core.total import fold
from jfed.core.types import Cohort, Dims, Feedback, Problem, View

SLACK = 1e-4  # keeps 0.9 x 10 at 9 when it is rounded down in single precision


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        k: cohort size.
        disqualified: alpha_1.
        temperature: alpha_2.
        uniform: alpha_3.
    """

    k: Int[Array, ""]
    disqualified: Float[Array, ""]
    temperature: Float[Array, ""]
    uniform: Float[Array, ""]


class State(NamedTuple):
    """The selector's state.

    Attributes:
        valuation: v_i; infinite before the first return.
    """

    valuation: Float[Array, " clients"]


def floor(x: Float[Array, ""]) -> Int[Array, ""]:
    """Return the whole part of a number that is not negative."""
    return jnp.floor(x + SLACK).astype(jnp.int32)


@dataclass(frozen=True)
class Options(SelectorOptions):
    """Settings of active federated learning.

    Attributes:
        disqualified: alpha_1, the share of clients that the first draw leaves out.
        temperature: alpha_2.
        uniform: alpha_3, the share of the cohort that is drawn uniformly.
        loss: of the received model on all images, or of training, as clients report it anyway.
    """

    names = (Name("active-fl"), Name("active-fl-training", {"loss": "training"}))

    disqualified: float = 0.75
    temperature: float = 0.01
    uniform: float = 0.1
    loss: Literal["received", "training"] = static("received")

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        for name in ("disqualified", "uniform"):
            value = getattr(self, name)
            require(0 <= value <= 1, f"The share {name} of active-fl must lie in [0, 1], found {value:g}.")
        warmth = self.temperature
        require(0 <= warmth < inf, f"The temperature of active-fl must not be negative, found {warmth:g}.")
        shares = {name: float(getattr(self, name)) for name in ("disqualified", "uniform")}
        return as_arrays(Params, k=problem.cohort_size, temperature=float(warmth), **shares)

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""

        def init(key: PRNGKeyArray, params: Params) -> State:
            return State(jnp.full(dims.num_clients, jnp.inf, jnp.result_type(float)))

        def select(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, Cohort]:
            draw, tie, rest = (prng.at(key, i) for i in range(3))
            v, here = state.valuation, ops.count(view.available)
            low = ops.smallest(v, floor(params.disqualified * here), view.available, prng.uniform(tie, v.shape[0]))
            qualified = view.available & ~low
            known = jnp.isfinite(v)
            most = fold(jnp.maximum, jnp.where(known & view.available, v, 0.0))
            relative = jnp.where(known, v - most, 0.0)  # the largest is 0, so that exp does not overflow
            wanted = floor((1 - params.uniform) * params.k)
            first = ops.race(draw, params.temperature * relative, wanted, qualified)
            others = ops.race(rest, jnp.zeros_like(v), params.k - ops.count(first), view.available & ~first)
            return state, Cohort(first | others, jnp.full(v.shape, jnp.nan))

        def update(state: State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> State:
            heard = feedback.facts.loss_before
            if heard is None:
                heard = feedback.heard(jnp.full(state.valuation.shape, jnp.nan))
            n = view.num_samples.astype(heard.dtype)
            new = jnp.where(n > 0, jnp.sqrt(n) * heard, 0.0)
            return State(jnp.where(feedback.succeeded & jnp.isfinite(new), new, state.valuation))

        return Selector(init, select, update, wants=("loss_before",) if self.loss == "received" else ())
