"""FedAU: updates are weighted by the mean number of rounds from one return of a client to the next.

S. Wang, M. Ji, "A Lightweight Method for Tackling Unknown Participation Statistics in Federated Averaging", ICLR 2024,
and its public code. Clients are those of FedAvg, without momentum by default.

*Notation.* w: global model; D_i: update of a client; A_t: clients that take part; N: number of clients; eta_g: the
server's learning rate; omega_i: mean of the client's gaps; K: longest gap (here `longest`).

    w <- w + eta_g (1 / N) sum over A_t of omega_i D_i

A gap is the number of rounds from the last one in which the client took part, or from the beginning, to the next one,
which counts. After K rounds without the client a gap of K ends and another one begins. omega_i is the mean of the gaps
that ended before the round, 1 if there is none: it estimates 1 over the probability of taking part.

It is an algorithm and not a scheme: the gaps are between returns, which a scheme that decides does not know yet, and
the weights go with any scheme.

*Which updates count.* Clients take part that return and make a step. 1 / N is the client's share in
`Training.average_over`: as printed for "all" and clients of equal size. Under "selected" and "returned" the average
over the cohort is weighted by omega_i, which is larger than 1 on average, so steps are too long.

*Departures.* A client keeps its own gaps; they are added up when it returns, which gives the same omega_i.
"""

import functools
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, PRNGKeyArray

from jfed.algorithms import local_sgd
from jfed.algorithms.schedules import Schedule, factors, scaled
from jfed.algorithms.vectors import average
from jfed.core.errors import require
from jfed.core.interfaces import Algorithm, Loss
from jfed.core.learning import Aggregated, Answer, Answers, ClientData, Received
from jfed.core.members import Name
from jfed.core.options import as_arrays
from jfed.core.types import Dims, Problem, Weights


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        clients: of the local steps.
        eta: eta_g.
        longest: K.
        round: number of the round; 0 outside of rounds.
        schedule: factor of eta_g in each round; None: 1.
    """

    clients: local_sgd.Params
    eta: Float[Array, ""]
    longest: Int[Array, ""]
    round: Int[Array, ""]
    schedule: Float[Array, " rounds"] | None = None


class Gaps(NamedTuple):
    """A client's memory.

    Attributes:
        last: round in which its last gap ended.
        many: number of gaps that have ended.
        mean: mean of them; 1 if there is none.
    """

    last: Int[Array, ""]
    many: Int[Array, ""]
    mean: Float[Array, ""]

    def ended(self, times: Int[Array, ""], gap: Int[Array, ""]) -> "Gaps":
        """Return the memory after a number of gaps of the same length."""
        many = self.many + times
        mean = (self.many * self.mean + times * gap) / jnp.maximum(many, 1)
        return Gaps(self.last + times * gap, many, jnp.where(many > 0, mean, self.mean))


class Local(NamedTuple):
    """One client in the middle of its training.

    Attributes:
        plain: see `local_sgd`.
        gaps: its gaps that ended before the round.
    """

    plain: local_sgd.Local
    gaps: Gaps

    @property
    def step(self) -> Int[Array, ""]:
        """Return the number of steps done."""
        return self.plain.step


@dataclass(frozen=True)
class Options(local_sgd.LocalOptions):
    """Settings of FedAU.

    Attributes:
        momentum: of a client's own steps, as in FedAvg; the paper has none.
        server_rate: eta_g.
        server_schedule: factor of eta_g in each round, as for `schedule`.
        longest: K, in rounds.
    """

    names = (Name("fedau"),)

    momentum: float = 0.0
    server_rate: float = 1.0
    server_schedule: Schedule = "constant"
    longest: int = 50

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        rate = float(self.server_rate)
        require(0 < rate < inf, f"The server's learning rate must be positive and finite, found {rate:g}.")
        require(self.longest >= 1, f"FedAU's longest gap must be at least one round, found {self.longest}.")
        schedule = factors(self.server_schedule, problem.num_rounds)
        own = functools.partial(Params, self.local_params(problem), schedule=schedule)
        return as_arrays(own, eta=rate, longest=self.longest, round=0)

    def make(self, dims: Dims, loss: Loss) -> Algorithm:
        """Return the algorithm."""
        plain = self.local_sgd(dims, loss)

        def at_round(params: Params, t: Int[Array, ""]) -> Params:
            return scaled(params, t, "eta")._replace(clients=scaled(params.clients, t), round=t)

        def remember(key: PRNGKeyArray, weights: Weights, positions: Int[Array, " samples"]) -> Gaps:
            return Gaps(jnp.int32(0), jnp.int32(0), jnp.ones((), jnp.result_type(float)))

        def start(key: PRNGKeyArray, received: Received, params: Params, data: ClientData) -> Local:
            own: Gaps = received.memory
            silent = jnp.maximum(params.round - 1 - own.last, 0)
            gaps = own.ended(silent // params.longest, params.longest)
            return Local(plain.start(key, received, params.clients, data), gaps)

        def step(local: Local, weights: Weights, params: Params, data: ClientData) -> Local:
            return local._replace(plain=plain.step(local.plain, weights, params.clients, data))

        def finish(local: Local, weights: Weights, params: Params) -> Answer:
            gaps = local.gaps
            answer = plain.finish(local.plain, weights, params.clients)
            return answer._replace(memory=gaps.ended(jnp.int32(1), params.round - gaps.last), more=gaps.mean)

        def aggregate(server: None, weights: Weights, params: Params, answers: Answers) -> Aggregated:
            mean = average(answers.moves, answers.share * answers.more, answers.returned)
            moved = jax.tree.map(lambda w, d: w + params.eta * d, weights, mean)
            return Aggregated(moved, None, answers.reports)

        return Algorithm(start, step, finish, aggregate, remember=remember, at_round=at_round)
