"""RBCS-F: the clients estimated to be fastest, under a guaranteed long-run participation rate for every client.

T. Huang, W. Lin, W. Wu, L. He, K. Li, A. Y. Zomaya, "An Efficiency-Boosting Client Selection Scheme for Federated
Learning With Fairness Guarantee", IEEE Transactions on Parallel and Distributed Systems, 2021.

*Notation.* N: number of clients (here K); m: clients per round (here k); beta: guaranteed rate; V: weight of time
against queues; Z_n: virtual queue; c: context; H, b: of the ridge regression with penalty lambda; alpha: exploration;
tau-bar: lower confidence bound of the exchange time.

*Departures.*
- alpha_t is a constant: Table 2 gives no value, and the constants of Lemma 1's schedule are unknown.
- Ties in Z are broken at random, by the selector's own draw: all queues are 0 at first.
- Algorithm 2, line 9 lacks the maximum with 0 of Eq. (19), which is taken here.
- The choice (Algorithm 1) lets clients enter by descending queue, each into the cohorts of all caps that it meets: the
  same minimum of P4, in N steps that cover all caps at once.
- H^-1 c is computed from an unrolled Cholesky factor of H, so that no rounding accumulates over rounds.
- In a world without features a client's context is the number 1: the regression then estimates its mean time.
- `estimate="truth"` uses the true expected times instead of tau-bar: P3 with tau*, an oracle. With cold starts the fair
  optimum solves a Markov decision problem; this oracle takes each round's contexts as given.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from jfed.core import ops, prng
from jfed.core.errors import require
from jfed.core.interfaces import Selector
from jfed.core.members import Name, SelectorOptions
from jfed.core.once import once
from jfed.core.options import as_arrays, static
from jfed.core.pairs import beside_all, in_order, largest, sortable
from jfed.core.total import fold
from jfed.core.types import Cohort, Dims, Feedback, Problem, View

LEAST_RIDGE = 1e-3  # a smaller penalty is lost beside c c' in single precision


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        k: cohort size.
        V: weight of time against queues.
        beta: guaranteed rate.
        alpha: exploration.
        ridge: lambda.
    """

    k: Int[Array, ""]
    V: Float[Array, ""]
    beta: Float[Array, ""]
    alpha: Float[Array, ""]
    ridge: Float[Array, ""]


class State(NamedTuple):
    """The selector's state, with clients on the last axis.

    Attributes:
        queue: Z.
        gram: sum of c c' over the client's rounds, H without its penalty.
        moment: b.
    """

    queue: Float[Array, " clients"]
    gram: Float[Array, "features features clients"]
    moment: Float[Array, "features clients"]


def lower_bound(state: State, params: Params, context: Float[Array, "clients features"]) -> Float[Array, " clients"]:
    """Return tau-bar of each client, Eqs. (17) to (19)."""
    c = context.T
    factor = ops.cholesky(state.gram + params.ridge * jnp.eye(c.shape[0])[:, :, None])
    half = ops.forward(factor, c)  # L^-1 c, so that c' H^-1 c is its square and c' H^-1 b its product with L^-1 b
    mean = ops.total(half * ops.forward(factor, state.moment))  # c . theta-hat, Eq. (18)
    width = jnp.sqrt(ops.total(half * half))
    return jnp.maximum(mean - params.alpha * width, 0.0)  # Eq. (19)


def choose(
    time: Float[Array, " clients"],
    queue: Float[Array, " clients"],
    available: Bool[Array, " clients"],
    k: Int[Array, ""],
    V: Float[Array, ""],
    tie_break: Float[Array, " clients"],
) -> Bool[Array, " clients"]:
    """Return the min(k, available) clients that minimise V max tau - sum Z, P4 of Eq. (21), by Algorithm 1.

    Args:
        time: tau-bar, finite and not negative.
        queue: Z.
        available: clients that can be selected.
        k: cohort size.
        V: weight of time.
        tie_break: among equal queues the client with the smallest comes first.
    """
    n, k = time.shape[0], jnp.minimum(k, ops.count(available))
    # Caps are compared by integers: XLA may compute a time again for another use, with other rounding, and the client
    # that sets the cap would then be above it.
    limit = once(sortable(jnp.where(available, time, jnp.inf)))
    most = largest(limit.dtype)

    def enter(so_far: tuple[Array, Array], other: Array, z: Array) -> tuple[Array, Array]:
        """Let the client with the next longest queue enter the cohorts of all caps that it meets, if they have room."""
        many, cost = so_far
        meets = other <= limit
        return many + meets, cost - jnp.where(meets & (many < k), z, 0.0)

    by_queue = in_order(~sortable(jnp.where(available, queue, -jnp.inf)), limit, queue)
    start = jnp.zeros(n, jnp.int32), V * time
    many, cost = beside_all(enter, start, (by_queue[0], most), (by_queue[1], 0))
    cost = once(jnp.where(available & (many >= k), cost, jnp.inf))  # its least entry must equal itself
    cap = fold(jnp.minimum, jnp.where(cost == fold(jnp.minimum, cost), limit, most))  # of equal costs, the least time
    within = available & (limit <= cap)
    return ops.smallest(-queue, k, among=within, tie_break=tie_break) & available


@dataclass(frozen=True)
class Options(SelectorOptions):
    """Settings of RBCS-F.

    Attributes:
        V: weight of time against queues.
        beta: guaranteed rate (Table 2).
        alpha: exploration.
        ridge: lambda (Table 2).
        estimate: ridge, or truth for the oracle.
    """

    names = (
        Name("rbcs-f", {}, "V", "V", examples=("20",)),
        Name("rbcs-f-true", {"estimate": "truth"}, "V", "V, true times known", examples=("20",)),
    )

    V: float = 20.0
    beta: float = 0.15
    alpha: float = 0.1
    ridge: float = 1.0
    estimate: Literal["ridge", "truth"] = static("ridge")

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        k, num_clients, beta = problem.cohort_size, problem.num_clients, self.beta
        for name in ("V", "alpha"):
            value = getattr(self, name)
            require(0 <= value < np.inf, f"RBCS-F's {name} must not be negative, found {value:g}.")
        require(
            LEAST_RIDGE <= self.ridge < np.inf,
            f"RBCS-F's ridge penalty must be at least {LEAST_RIDGE:g}, found {self.ridge:g}.",
        )
        require(0 <= beta <= 1, f"RBCS-F's guaranteed rate beta must lie in [0, 1], found {beta:g}.")
        require(
            num_clients * beta <= k * (1 + 1e-9),
            f"RBCS-F cannot promise {beta:g} of the rounds to each of {num_clients} clients: that is"
            f" {num_clients * beta:g} a round, and k = {k}; set beta to at most k / K, or raise k.",
        )
        require(
            beta <= problem.availability,
            f"RBCS-F cannot promise {beta:g} of the rounds to clients available in {problem.availability:g} of them:"
            " set beta to at most that share.",
        )
        return as_arrays(
            Params, k=k, V=float(self.V), beta=float(beta), alpha=float(self.alpha), ridge=float(self.ridge)
        )

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""
        num_clients, num_features = dims.num_clients, len(dims.features)

        def init(key: PRNGKeyArray, params: Params) -> State:
            zero = jnp.zeros(num_clients)
            return State(
                zero, jnp.zeros((num_features, num_features, num_clients)), jnp.zeros((num_features, num_clients))
            )

        def select(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, Cohort]:
            if self.estimate == "truth":
                assert view.oracle is not None
                time = view.oracle.latency_s
            else:
                time = lower_bound(state, params, view.context)
            tie = prng.uniform(key, num_clients)
            selected = choose(time, state.queue, view.available, params.k, params.V, tie)
            return state, Cohort(selected, jnp.full(num_clients, jnp.nan))

        def update(state: State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> State:
            c, took = view.context.T, cohort.selected
            return State(
                queue=jnp.maximum(state.queue + params.beta - took, 0.0),  # Eq. (6)
                gram=state.gram + jnp.where(took, c[:, None] * c[None, :], 0.0),  # Algorithm 2, line 15
                moment=state.moment + jnp.where(took, feedback.latency_s * c, 0.0),  # line 16
            )

        def watch(state: State) -> dict[str, Array]:
            return {"queue_sum": ops.total(state.queue), "queue_max": fold(jnp.maximum, state.queue)}

        return Selector(init, select, update, needs_oracle=self.estimate == "truth", watch=watch)
