"""CS-UCB-Q: upper confidence bounds on speed, plus virtual queues that guarantee each client its share of rounds.

W. Xia, T. Q. S. Quek, K. Guo, W. Wen, H. H. Yang, H. Zhu, "Multi-Armed Bandit Based Client Scheduling for Federated
Learning", IEEE Transactions on Wireless Communications, 2020. Sec. IV, Algorithm 2.

*Notation.* As in `cs_ucb`; c_k: share of rounds promised to client k; D_k: its virtual queue; beta: weight of queues
against rewards.

*Departures.*
- Ties are broken at random. At the paper's settings y-hat stays at its cap of 1 for thousands of rounds, in which only
  queues and ties decide.
- Equation (16) as in `cs_ucb`.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int, PRNGKeyArray

from jfed.core import ops, prng
from jfed.core.errors import require
from jfed.core.interfaces import Selector
from jfed.core.members import Name, SelectorOptions
from jfed.core.options import as_arrays
from jfed.core.total import fold
from jfed.core.types import Cohort, Dims, Feedback, Problem, View
from jfed.selectors import cs_ucb


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        k: N.
        beta: weight of the queues.
        quota: c.
        tau_max_s: latency of reward 0.
    """

    k: Int[Array, ""]
    beta: Float[Array, ""]
    quota: Float[Array, " clients"]
    tau_max_s: Float[Array, ""]


class State(NamedTuple):
    """The selector's state.

    Attributes:
        seen: rewards so far.
        queue: D at the beginning of the next round.
    """

    seen: cs_ucb.State
    queue: Float[Array, " clients"]


@dataclass(frozen=True)
class Options(SelectorOptions):
    """Settings of CS-UCB-Q.

    Attributes:
        beta: weight of the queues, in [0, 1]; at most 1 / sqrt(T) for sublinear regret (Theorem 4).
        quota: c_k, one for all clients or one per client; None: k / (2 K), half of what can be promised to all.
        tau_max_s: latency of reward 0.
    """

    names = (Name("cs-ucb-q", {}, "beta", "beta, the weight of queues", examples=("0.001",)),)

    beta: float = 1e-3
    quota: float | tuple[float, ...] | None = None
    tau_max_s: float = 5.0

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        k, num_clients = problem.cohort_size, problem.num_clients
        quota = np.atleast_1d(np.asarray(k / (2 * num_clients) if self.quota is None else self.quota, float))
        require(quota.size in (1, num_clients), f"There are {quota.size} quotas for {num_clients} clients.")
        quota = np.broadcast_to(quota, (num_clients,))
        low, high = float(quota.min()), float(quota.max())
        require(low >= 0, f"A quota is a share of the rounds and must not be negative, found {low:g}.")
        require(
            high < problem.availability or high == problem.availability in (0.0, 1.0),
            f"CS-UCB-Q cannot promise {high:g} of the rounds to a client that is available in"
            f" {problem.availability:g} of them: set quota below that share.",
        )
        require(
            float(quota.sum()) <= k * (1 + 1e-9),
            f"CS-UCB-Q cannot keep quotas of {quota.sum():g} clients a round in all with k = {k}: lower quota, or raise"
            " k.",
        )
        require(0 <= self.beta <= 1, f"CS-UCB-Q's beta must lie in [0, 1], found {self.beta:g}.")
        require(0 < self.tau_max_s < np.inf, f"tau_max_s must be positive, found {self.tau_max_s:g}.")
        return as_arrays(Params, k=k, beta=float(self.beta), quota=quota.astype(float), tau_max_s=float(self.tau_max_s))

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""
        num_clients = dims.num_clients

        def init(key: PRNGKeyArray, params: Params) -> State:
            return State(cs_ucb.start(num_clients), jnp.zeros(num_clients))

        def select(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, Cohort]:
            index = cs_ucb.truncated(state.seen, view)  # Eq. (26)
            score = (1 - params.beta) * index + params.beta * state.queue  # Eq. (28)
            tie = prng.uniform(key, num_clients)
            selected = ops.smallest(-score, params.k, among=view.available, tie_break=tie)
            return state, Cohort(selected, jnp.full(num_clients, jnp.nan))

        def update(state: State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> State:
            return State(
                seen=cs_ucb.learn(state.seen, params.tau_max_s, cohort, feedback),
                queue=jnp.maximum(state.queue + params.quota - cohort.selected, 0.0),  # Eq. (27)
            )

        def watch(state: State) -> dict[str, Array]:
            return {"queue_sum": ops.total(state.queue), "queue_max": fold(jnp.maximum, state.queue)}

        return Selector(init, select, update, watch=watch)
