"""CS-UCB: the clients with the highest upper confidence bounds on their speed.

W. Xia, T. Q. S. Quek, K. Guo, W. Wen, H. H. Yang, H. Zhu, "Multi-Armed Bandit Based Client Scheduling for Federated
Learning", IEEE Transactions on Wireless Communications, 2020. Sec. III, Algorithm 1.

*Notation.* K: number of clients; N: clients per round (here k); r_k = 1 - tau_k / tau_max: reward; y_k: its mean over
z_k rounds; kappa = ceil(K / N): number of initial rounds.

*Departures.*
- Equation (16) has r_k(t - 1), an index slip: the reward of the current round is meant.
- Ties are broken at random; the paper does not say how.
- Only available clients are selected. Where all are available this is Algorithm 1, otherwise the paper's "modified
  CS-UCB" (Sec. V-C). A client that was never selected comes first in every round, not only in the first kappa.
- `bonus="truncated"` uses the confidence bound of Eq. (26) instead of Eq. (18): the paper does not say which one its
  modified CS-UCB uses.
- Latencies above `tau_max_s`, in a world that has no such limit, count as tau_max.
- `estimate="truth"` is the best super arm of Eq. (13) among the available clients: an oracle.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int, PRNGKeyArray

from jfed.core import ops, prng
from jfed.core.errors import require
from jfed.core.interfaces import Selector
from jfed.core.members import Name, SelectorOptions
from jfed.core.options import as_arrays, static
from jfed.core.types import Cohort, Dims, Feedback, Problem, View


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        k: N.
        tau_max_s: latency of reward 0.
    """

    k: Int[Array, ""]
    tau_max_s: Float[Array, ""]


class State(NamedTuple):
    """The rewards of each client so far.

    Attributes:
        mean: y.
        times: z.
    """

    mean: Float[Array, " clients"]
    times: Int[Array, " clients"]


def start(num_clients: int) -> State:
    """Return the state before any client has been selected."""
    return State(jnp.zeros(num_clients), jnp.zeros(num_clients, jnp.int32))


def learn(state: State, tau_max_s: Float[Array, ""], cohort: Cohort, feedback: Feedback) -> State:
    """Return the running means of rewards and their counts after this round."""
    reward = 1 - jnp.minimum(feedback.latency_s, tau_max_s) / tau_max_s
    times = state.times + cohort.selected  # Eq. (17)
    mean = state.mean + (reward - state.mean) / jnp.maximum(times, 1)  # Eq. (16)
    return State(jnp.where(cohort.selected, mean, state.mean), times)


def log_round(view: View) -> Float[Array, ""]:
    """Return ln t."""
    return jnp.log(view.round.astype(jnp.result_type(float)))


def truncated(state: State, view: View) -> Float[Array, " clients"]:
    """Return y-hat of Eq. (26): at most 1, and 1 for a client that was never selected."""
    width = jnp.sqrt(2 * log_round(view) / jnp.maximum(state.times, 1))
    return jnp.where(state.times > 0, jnp.minimum(state.mean + width, 1.0), 1.0)


@dataclass(frozen=True)
class Options(SelectorOptions):
    """Settings of CS-UCB.

    Attributes:
        tau_max_s: latency of reward 0.
        bonus: plain for Eq. (18), truncated for Eq. (26).
        estimate: ucb, or truth for the oracle of Eq. (13).
    """

    names = (
        Name("cs-ucb"),
        Name("cs-ucb-truncated", {"bonus": "truncated"}),
        Name("cs-ucb-best", {"estimate": "truth"}),
    )

    tau_max_s: float = 5.0
    bonus: Literal["plain", "truncated"] = static("plain")
    estimate: Literal["ucb", "truth"] = static("ucb")

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        require(0 < self.tau_max_s < np.inf, f"tau_max_s must be positive, found {self.tau_max_s:g}.")
        return as_arrays(Params, k=problem.cohort_size, tau_max_s=float(self.tau_max_s))

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""
        num_clients = dims.num_clients

        def init(key: PRNGKeyArray, params: Params) -> State:
            return start(num_clients)

        def scores(key: PRNGKeyArray, state: State, params: Params, view: View) -> Float[Array, " clients"]:
            if self.estimate == "truth":
                assert view.oracle is not None
                return -view.oracle.latency_s  # Eq. (13): the N largest mu
            if self.bonus == "truncated":
                index = truncated(state, view)
            else:
                width = jnp.sqrt((params.k + 1) * log_round(view) / jnp.maximum(state.times, 1))
                index = state.mean + width  # Eq. (18)
            # In the initial rounds clients selected before fill up a group, at random.
            initial = view.round <= -(-num_clients // params.k)  # Algorithm 1, lines 2 to 8
            index = jnp.where(initial, prng.uniform(key, num_clients), index)
            return jnp.where(state.times > 0, index, jnp.inf)

        def select(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, Cohort]:
            fill, tie = prng.at(key, 0), prng.at(key, 1)
            score = scores(fill, state, params, view)
            break_ = prng.uniform(tie, num_clients)
            selected = ops.smallest(-score, params.k, among=view.available, tie_break=break_)
            return state, Cohort(selected, jnp.full(num_clients, jnp.nan))

        def update(state: State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> State:
            return learn(state, params.tau_max_s, cohort, feedback)

        return Selector(init, select, update, needs_oracle=self.estimate == "truth")
