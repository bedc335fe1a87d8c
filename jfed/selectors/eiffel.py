"""Eiffel: the clients with the highest priority index, within a resource budget that two pools share.

A. Sultana, M. M. Haque, L. Chen, F. Xu, X. Yuan, "Eiffel: Efficient and Fair Scheduling in Adaptive Federated
Learning", IEEE TPDS 2022, Algorithm 1 and Eq. (3) to (8).
`controllers/eiffel` describes its control of the number of local steps.

*Notation.* f_i: last known loss; d_i: images; c_i: compute power; r_i: resource demand; t_i: age, rounds since client i
last took part; alpha_i = c_i t_i / r_i; R: what a cohort may demand; kappa: share of R for the clients selected last.

*Departures.* Algorithm 1 cannot be run as it is printed. Repaired in every mode:
- A client's share in the average is d_i alpha_i over the sum of d_i alpha_i of the clients that returned; the paper
  divides by all images (line 13), so that shares do not add up to 1. Set `Training.average_over` to "returned"; with
  its default, "all", the sum is over all clients. `estimating.Options.average` tells how to get the printed shares.
- Line 14 stores a gradient as the loss; here the client's reported loss is stored. A loss below 1e-8 counts as 1e-8.
- t_i is an age: 1 at first and after a return, and one more after each other round.
- Line 22 uses the previous selection after line 21 has overwritten it; here the selection is the union of both pools.
- A client costs r_i; a client that does not fit is skipped, and the next one is tried.
- c_i and r_i have no unit: worlds report them scaled to a mean of 1, so R counts average clients. By default R is k.
  A pool holds whole clients: with equal clients, odd k and kappa = 1/2, each of the two has (k - 1) / 2.
- The factors' weights are not printed: each is 1/4 here, so that `raw` ranks by images where these are many. Ties are
  broken at random. In the factor of losses a client that has not reported yet counts like the best that has.
Printed but odd rules are options:
- `scaling`: as printed (`raw`) the four factors are added as they are, though images are counted in hundreds and ages
  in ones; `min_max` scales each to [0, 1] over all clients in every round. A factor that is the same for all is then 0.
- `loss`: the printed index favours a low loss; `high` uses f_i instead of 1 / f_i.
- `pools`: where the first round selects all clients, none is outside the previous selection in the second, and
  (1 - kappa) R is left over (`printed`). `work_conserving` gives what one pool leaves to the other.
- Eq. (5) is about probabilities and Algorithm 1 about a sorted list; the list is used. Eq. (7) multiplies the gradient
  of a local step by alpha_i and line 32 does not; clients make plain steps, and alpha_i counts in their shares.
"""

import logging
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from jfed.core import prng
from jfed.core.errors import require
from jfed.core.interfaces import Selector
from jfed.core.members import EveryoneOptions, Modes, Name
from jfed.core.options import as_arrays, static
from jfed.core.types import Cohort, Dims, Feedback, Problem, View

LEAST_LOSS = 1e-8
SLACK = 1e-6  # share of R: tolerance for the rounding of added demands


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        budget: R.
        kappa: share of the pool of clients selected last.
        weights: of the four factors.
    """

    budget: Float[Array, ""]
    kappa: Float[Array, ""]
    weights: Float[Array, "4"]


class State(NamedTuple):
    """The selector's state.

    Attributes:
        last_loss: f_i; minus infinity before client i reports one.
        age: t_i.
        previous: the clients selected last; all at first.
    """

    last_loss: Float[Array, " clients"]
    age: Float[Array, " clients"]
    previous: Bool[Array, " clients"]


@lru_cache(maxsize=64)
def _say(sentence: str) -> None:
    """Log a warning once, however often options are checked."""
    logging.getLogger("jfed").warning(sentence)


def scaled(values: Float[Array, " clients"]) -> Float[Array, " clients"]:
    """Return the values shifted and scaled to [0, 1]; 0 where all are equal up to rounding."""
    low, high = jnp.min(values), jnp.max(values)
    size = jnp.maximum(jnp.abs(low), jnp.abs(high))
    differ = high - low > 8 * jnp.finfo(values.dtype).eps * size
    return jnp.where(differ, (values - low) / jnp.where(differ, high - low, 1.0), 0.0)


def priority(
    last_loss: Float[Array, " clients"],
    num_samples: Int[Array, " clients"],
    efficiency: Float[Array, " clients"],
    age: Float[Array, " clients"],
    weights: Float[Array, "4"],
    options: "Options",
) -> Float[Array, " clients"]:
    """Return the priority index; the client with the highest comes first. `efficiency` is c_i / r_i."""
    heard = last_loss > -jnp.inf
    loss = jnp.maximum(jnp.where(heard, last_loss, 1.0), LEAST_LOSS)
    favoured = loss if options.loss == "high" else 1 / loss
    best = jnp.max(jnp.where(heard, favoured, 0.0))
    factors = [jnp.where(heard, favoured, best), num_samples.astype(age.dtype), efficiency, age]
    if options.scaling == "min_max":
        factors = [scaled(factor) for factor in factors]
    return weights @ jnp.stack(factors)  # Eq. (3)


def fill(
    order: Int[Array, " clients"],
    among: Bool[Array, " clients"],
    demand: Float[Array, " clients"],
    room: Float[Array, ""],
    slack: Float[Array, ""],
) -> tuple[Bool[Array, " clients"], Float[Array, ""]]:
    """Return the clients of `among` that fit into the room, tried in this order, and their total demand."""

    def one(used: Array, client: Array) -> tuple[Array, Array]:
        fits = among[client] & (used + demand[client] <= room + slack)
        return jnp.where(fits, used + demand[client], used), fits

    used, fits = lax.scan(one, jnp.zeros_like(room), order)
    return jnp.zeros_like(among).at[order].set(fits), used


@dataclass(frozen=True)
class Options(EveryoneOptions):
    """Settings of Eiffel.

    Attributes:
        budget: R, in demands of an average client; None: k.
        kappa: share of R for the clients selected last.
        weights: omega, rho, gamma, psi: of loss, images, power over demand, and age.
        scaling: min_max, or raw as printed.
        loss: which losses come first: low as printed, or high.
        pools: printed, or work_conserving, where a pool gets what the other leaves.
    """

    names = (Name("eiffel"),)
    modes = Modes(
        faithful={"scaling": "raw"},
        corrected={"scaling": "min_max"},
    )

    budget: float | None = None
    kappa: float = 0.5
    weights: tuple[float, float, float, float] = (0.25, 0.25, 0.25, 0.25)
    scaling: Literal["min_max", "raw"] = static("min_max")
    loss: Literal["low", "high"] = static("low")
    pools: Literal["printed", "work_conserving"] = static("printed")

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        budget = float(problem.cohort_size if self.budget is None else self.budget)
        require(0 <= self.kappa <= 1, f"Eiffel's kappa must lie in [0, 1], found {self.kappa:g}.")
        require(0 < budget < inf, f"Eiffel's budget of a round must be positive and finite, found {budget:g}.")
        weights = np.asarray(self.weights, float)
        require(
            bool(np.isfinite(weights).all() and (weights >= 0).all() and weights.any()),
            f"Eiffel's weights must not be negative, nor all of them zero, found {self.weights}.",
        )
        largest = budget if self.pools == "work_conserving" else max(self.kappa, 1 - self.kappa) * budget
        low, high = problem.demand
        require(
            low <= largest,
            f"Eiffel could never select a client: each demands at least {low:.3g}, and a pool has at most"
            f" {largest:.3g}: raise budget.",
        )
        if high > largest:
            _say(
                f"A client may demand up to {high:.3g} times the average, and Eiffel's larger pool has {largest:.3g}:"
                " clients that demand more than the pool are never selected after the first round."
            )
        return as_arrays(Params, budget=budget, kappa=float(self.kappa), weights=weights)

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""
        named = {name: column for column, name in enumerate(dims.features)}

        def reported(view: View, name: str) -> Float[Array, " clients"]:
            """Return what clients report under a name; 1 for all in a world without it."""
            return view.context[:, named[name]] if name in named else jnp.ones(dims.num_clients, view.context.dtype)

        def init(key: PRNGKeyArray, params: Params) -> State:
            unknown = jnp.full(dims.num_clients, -jnp.inf, jnp.result_type(float))
            everybody = jnp.ones(dims.num_clients, bool)
            return State(unknown, jnp.ones_like(unknown), everybody)

        def select(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, Cohort]:
            demand = reported(view, "demand")
            efficiency = reported(view, "power") / demand
            index = priority(state.last_loss, view.num_samples, efficiency, state.age, params.weights, self)
            order = jnp.lexsort((prng.uniform(key, index.shape[0]), -index))
            slack = SLACK * params.budget
            before, others = view.available & state.previous, view.available & ~state.previous
            selected, used = fill(order, before, demand, params.kappa * params.budget, slack)  # line 21
            if self.pools == "printed":
                selected |= fill(order, others, demand, (1 - params.kappa) * params.budget, slack)[0]  # line 22
            else:
                more, spent = fill(order, others, demand, params.budget - used, slack)
                rest, _ = fill(order, before & ~selected, demand, params.budget - used - spent, slack)
                selected |= more | rest
            selected = jnp.where(view.round == 1, view.available, selected)  # line 4
            importance = efficiency * state.age  # alpha_i, line 13
            return state, Cohort(selected, jnp.full(index.shape, jnp.nan), importance)

        def update(state: State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> State:
            age = jnp.where(feedback.succeeded, 1.0, state.age + 1)  # lines 14 and 18
            return State(feedback.heard(state.last_loss), age, cohort.selected)

        return Selector(init, select, update)
