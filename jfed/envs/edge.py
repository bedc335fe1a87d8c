"""Edge devices: the costs of local steps and of exchanges with the server are drawn anew in every round.

S. Wang et al., "Adaptive Federated Learning in Resource Constrained Edge Computing Systems", IEEE JSAC 2019, and the
times measured in its public code (seconds, normal, cut off at 1e-10 from below); A. Sultana et al., "Eiffel: Efficient
and Fair Scheduling in Adaptive Federated Learning", IEEE TPDS 2022, which adds that clients differ.

*Notation.* c, b: costs of a local step and of an exchange; c_i: compute power, r_i: resource demand of client i.

*Departures.*
- As in the public simulation, one time is drawn for all clients by default (`shared`); in Eiffel each client draws its
  own.
- Eiffel gives neither c_i nor r_i. A step takes 1 / c_i times the draw from `step_s`; c_i is set by `power`, and r_i is
  drawn once per run, uniformly from `demand`. Clients report both, scaled to a mean of 1.
- In a round of more than `drawn` steps, every step takes the mean of `drawn` draws.
- Both papers allow several resources but measure time alone. Of each of `others`, a step and a transfer spend constants
  times the scaled r_i.
"""

from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int, PRNGKeyArray

from jfed.core import ops, prng
from jfed.core.errors import require
from jfed.core.interfaces import Environment
from jfed.core.members import EnvironmentOptions, Name
from jfed.core.options import as_arrays, static
from jfed.core.types import Cohort, Costs, Dims, Oracle, Outcome, Plan, Problem, View

FEATURES = ("power", "demand")
LEAST_S = 1e-10


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        step_s: mean and standard deviation of a local step.
        exchange_s: mean and standard deviation of a transfer.
        transfers: per round.
        power: c_i.
        demand: range of r_i.
        others: what a step and a transfer spend of each further resource.
    """

    step_s: Float[Array, "2"]
    exchange_s: Float[Array, "2"]
    transfers: Float[Array, ""]
    power: Float[Array, " clients"]
    demand: Float[Array, "2"]
    others: Float[Array, "others 2"]


class State(NamedTuple):
    """The world's state.

    Attributes:
        demand: r_i.
    """

    demand: Float[Array, " clients"]


@dataclass(frozen=True)
class Options(EnvironmentOptions):
    """Settings of edge devices. The defaults are the times that the public code gives for SGD on the squared SVM.

    Attributes:
        step_s: mean and standard deviation of a local step of a client of power 1.
        exchange_s: mean and standard deviation of a transfer of the model.
        transfers: number of transfers in a round: 1 in Wang's code, 2 in Eiffel (down and up).
        power: c_i, assigned to the clients in turn.
        demand: range from which r_i is drawn, once per run.
        others: for each further resource, such as joules, what a step and a transfer of a client of average demand
            spend.
        shared: whether all clients take the same time for an exchange and, up to their power, for a step.
        drawn: number of a round's steps whose times are drawn separately.
    """

    names = (Name("edge"),)
    features = FEATURES

    step_s: tuple[float, float] = (0.013015156, 0.006946299)
    exchange_s: tuple[float, float] = (0.131604348, 0.053873234)
    transfers: int = 1
    power: tuple[float, ...] = (1.0,)
    demand: tuple[float, float] = (1.0, 1.0)
    others: tuple[tuple[float, float], ...] = ()
    shared: bool = static(True)
    drawn: int = static(100)

    def checked(self) -> "Options":
        """Return the options themselves; raise `ConfigError` if they are invalid."""
        for name in ("step_s", "exchange_s"):
            mean, sd = getattr(self, name)
            require(
                0 <= mean < inf and 0 <= sd < inf,
                f"{name} must be a finite mean and deviation, neither negative, found {(mean, sd)}.",
            )
        require(
            len(self.power) > 0 and all(0 < p < inf for p in self.power),
            f"A client's compute power must be positive, found {self.power}.",
        )
        low, high = self.demand
        require(0 < low <= high < inf, f"demand must be a positive range (low, high), found {self.demand}.")
        require(self.transfers >= 0, f"transfers must not be negative, found {self.transfers}.")
        for pair in self.others:
            require(
                all(0 <= x < inf for x in pair), f"Each pair in others must be finite and not negative, found {pair}."
            )
        require(self.drawn >= 1, f"drawn must be at least 1, found {self.drawn}.")
        return self

    def powers(self, num_clients: int) -> np.ndarray:
        """Return c_i of each client."""
        return np.resize(np.asarray(self.power, float), num_clients)  # repeats them

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        self.checked()
        return as_arrays(
            Params,
            step_s=np.asarray(self.step_s, float),
            exchange_s=np.asarray(self.exchange_s, float),
            transfers=float(self.transfers),
            power=self.powers(problem.num_clients),
            demand=np.asarray(self.demand, float),
            others=np.asarray(self.others, float).reshape(-1, 2),
        )

    def demand_range(self) -> tuple[float, float]:
        """Return the range of demands, in units of its mean."""
        low, high = self.checked().demand
        return 2 * low / (low + high), 2 * high / (low + high)

    def costs(self, num_clients: int) -> Costs:
        """Return each client's mean costs of a step and an exchange; of further resources, at the least demand."""
        low, _ = self.demand_range()
        step = [self.step_s[0] / self.powers(num_clients)]
        exchange = [np.full(num_clients, self.transfers * self.exchange_s[0])]
        for spent, sent in self.others:
            step.append(np.full(num_clients, low * spent))
            exchange.append(np.full(num_clients, low * self.transfers * sent))
        return Costs(np.stack(step), np.stack(exchange))  # type: ignore[arg-type]

    def spends(self) -> tuple[str, ...]:
        """Return spent_2, spent_3, ...: a name for each of `others`, by its place after time."""
        return tuple(f"spent_{i + 2}" for i in range(len(self.others)))

    def make(self, dims: Dims) -> Environment:
        """Return the environment."""
        num_clients = dims.num_clients
        several = 1 if self.shared else num_clients

        def times(key: PRNGKeyArray, law: Float[Array, "2"], shape: tuple[int, ...]) -> Array:
            return jnp.maximum(law[0] + law[1] * jax.random.normal(key, shape, law.dtype), LEAST_S)

        def relative(values: Float[Array, " clients"]) -> Float[Array, " clients"]:
            return values * num_clients / ops.total(values)

        def init(key: PRNGKeyArray, params: Params, num_samples: Int[Array, " clients"]) -> State:
            low, high = params.demand
            return State(low + (high - low) * prng.uniform(key, num_clients))

        def observe(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, View]:
            context = jnp.stack([relative(params.power), relative(state.demand)], -1)
            expected = params.step_s[0] / params.power + params.transfers * params.exchange_s[0]  # with one step
            oracle = Oracle(success_rate=jnp.ones_like(expected), latency_s=expected)
            return state, view._replace(context=context, oracle=oracle)

        def respond(
            key: PRNGKeyArray, state: State, params: Params, view: View, cohort: Cohort, plan: Plan
        ) -> tuple[State, Outcome]:
            local, sent = prng.at(key, 0), prng.at(key, 1)
            each = times(local, params.step_s, (several, self.drawn))
            counted = jnp.arange(self.drawn) < jnp.maximum(plan.steps, 1)[:, None]
            step = ops.total(jnp.where(counted, each, 0.0).T) / counted.sum(1) / params.power
            exchange = jnp.broadcast_to(params.transfers * times(sent, params.exchange_s, (several,)), (num_clients,))
            latency_s = step * plan.steps + exchange
            demand = relative(state.demand)
            spent, sent = params.others[:, :1] * demand, params.transfers * params.others[:, 1:] * demand
            costs = Costs(jnp.concatenate([step[None], spent]), jnp.concatenate([exchange[None], sent]))
            return state, Outcome(jnp.ones(num_clients, bool), latency_s, jnp.zeros((), latency_s.dtype), costs)

        return Environment(init, observe, respond)
