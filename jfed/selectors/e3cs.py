"""E3CS: Exp3-based client selection with a fairness quota.

T. Huang, W. Lin, L. Shen, K. Li, A. Y. Zomaya, "Stochastic Client Selection for Federated Learning with
Volatile Clients", IEEE Internet of Things Journal, 2022.

*Notation.* K: number of clients; k: cohort size; w_i: exponential weights (here `log_w`); sigma_t: fairness quota;
R_t = k - K sigma_t: residual; eta: learning rate; p_i: inclusion probability; S_t: overflowed clients; x_i: success;
alpha_t: cap.

*Departures.*
- Weights are kept as logarithms: with sigma = 0 the exponent of Eq. (17) reaches thousands, and the printed form
  overflows. They are divided by the cap c each round, which does not change Eqs. (18) and (19). A p below the smallest
  float is 0, and such a client is drawn only if fewer than k others can be.
- Other remedies for the overflow, a floor under p and mixing p with uniform selection, are not offered: both change
  Eqs. (18) and (19), and a quota sigma > 0 is such a floor.
- Algorithm 2's case search has two misprints (the sum of line 2 is over w', and Eqs. (23)-(24) must compare
  w / (1 - sigma)). Its solution is the c with sum_i min(1, w_i / c) = R / (1 - sigma); it is found without
  sorting, by adding to S the clients above the cap until there are none, which ends at the exact solution.
- `sampler="sequential"` is the paper's `torch.multinomial`, whose inclusion probabilities are not p, so that the
  estimate of Eq. (16) is biased. `sampler="exact"` has inclusion probabilities p.
- `clip_exponent=True` keeps the exponent of Eq. (17) at most 1, which the proof of Theorem 1 assumes and which
  sigma = 0 violates.
- Eq. (17) asks for eta < 1; any positive eta is allowed here.
- Mode `faithful` is sequential without the clip; `corrected` is exact with it.
- In the paper all clients are available. Where some are not, the round is one of the available clients A: k is
  min(k, |A|), sigma_t the same share of k / |A|, R_t = k - |A| sigma_t, and p = 0 for the others, whose weights do not
  change. Only the K that divides R_t in Eq. (17) counts all clients: the proof of Theorem 1 adds up rounds with a
  common factor eta / K (Eqs. 39 to 42), and so still bounds the regret, with these R_t. With |A| instead, a return in a
  round with few available clients would count for more than one in a round with many, and the sum would not be the CEP.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from jfed.core import ops
from jfed.core.errors import ConfigError, require
from jfed.core.interfaces import Selector
from jfed.core.members import Modes, Name, SelectorOptions
from jfed.core.options import as_arrays, static
from jfed.core.total import fold
from jfed.core.types import Cohort, Dims, Feedback, Problem, View

ARRIVALS = (1.0, 1.3, 2.0, 4.0)  # of a race, the last of the cohort arrives at about 1.1, or later if some p are near 1
MAX_EXPONENT = 1e30  # a client of p = 1e-40, drawn once in 1e40 rounds, must not make the weights inf - inf


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        k: cohort size.
        quota: sigma_t K / k per round, in [0, 1].
        eta: learning rate.
    """

    k: Int[Array, ""]
    quota: Float[Array, " rounds"]
    eta: Float[Array, ""]


class State(NamedTuple):
    """The selector's state.

    Attributes:
        log_w: logarithms of the exponential weights, of which the last cap has 0.
        p: this round's p; 1 for clients that are unavailable.
        overflow: S_t of this round.
    """

    log_w: Float[Array, " clients"]
    p: Float[Array, " clients"]
    overflow: Bool[Array, " clients"]


class Cap(NamedTuple):
    """The cap c as two logarithms, so that weights near it are told apart however far they are from 1.

    Attributes:
        base: logarithm of the largest weight below the cap.
        rest: log c less `base`; infinite where R = 0.
    """

    base: Float[Array, ""]
    rest: Float[Array, ""]

    def relative(self, log_w: Float[Array, " clients"]) -> Float[Array, " clients"]:
        """Return log(w_i / c)."""
        return (log_w - self.base) - self.rest


class Allocation(NamedTuple):
    """The inclusion probabilities of a round.

    Attributes:
        p: p_i; 0 for clients that are unavailable.
        over: S_t.
        cap: c.
    """

    p: Float[Array, " clients"]
    over: Bool[Array, " clients"]
    cap: Cap


class Search(NamedTuple):
    """The search for the overflowed clients.

    Attributes:
        cap: c for the set before.
        over: clients whose weights are above the cap.
        many: how many they are.
        goes_on: whether they give another cap.
        least: number that the next set must exceed: `many`, but -1 at first, where the guess may have too many.
    """

    cap: Cap
    over: Bool[Array, " clients"]
    many: Int[Array, ""]
    goes_on: Bool[Array, ""]
    least: Int[Array, ""]


def quota_schedule(quota: float | str | Sequence[float], num_rounds: int) -> np.ndarray:
    """Return sigma_t K / k for t = 1..T, (T,).

    Args:
        quota: see `Options.quota`.
        num_rounds: T.

    Raises:
        ConfigError: the schedule is unknown, has a wrong length or has a value outside [0, 1].
    """
    if isinstance(quota, str):
        require(quota == "inc", f"The quota schedule {quota!r} is unknown: give a share of k/K, 'inc' or a list.")
        return (np.arange(1, num_rounds + 1) > num_rounds / 4).astype(np.float64)
    schedule = np.asarray(quota, np.float64)
    if schedule.ndim == 1 and schedule.size != num_rounds:
        raise ConfigError(f"The quota schedule has {schedule.size} values for {num_rounds} rounds.")
    low, high = schedule.min(), schedule.max()
    require(
        bool(low >= 0 and high <= 1),
        f"The quota is given as a share of k/K and must lie in [0, 1], found {low if low < 0 else high:g}"
        " (a quota above k/K cannot be promised to K clients).",
    )
    return np.broadcast_to(schedule, (num_rounds,)).copy()


def find_cap(log_w: Float[Array, " clients"], target: Float[Array, ""], guess: Bool[Array, " clients"]) -> Cap:
    """Return c, where c = (1 - sigma) alpha solves sum_i min(1, w_i / c) = R / (1 - sigma), Eq. (22).

    Args:
        log_w: logarithms of weights.
        target: R / (1 - sigma), from 0 (then the cap is infinite) to K.
        guess: any set to start from; last round's S saves iterations. For a set smaller than the target Eq. (24) never
            gives too low a cap, since min(1, w_i / c) is at most 1 and at most w_i / c. From there S only grows.
    """

    def grow(search: Search) -> Search:
        rest = jnp.where(search.over, -jnp.inf, log_w)
        top = fold(jnp.maximum, rest)
        base = jnp.where(jnp.isfinite(top), top, 0.0)  # relative to the largest of the rest: exact whatever the gaps
        cap = Cap(base, jnp.log(ops.total(jnp.exp(rest - base)) / (target - search.many)))  # Eq. (24)
        over = cap.relative(log_w) > 0
        many, changed = ops.count(over), ops.count(over != search.over)
        return Search(cap, over, many, (changed > 0) & (many > search.least) & (many < target), many)

    many = ops.count(guess)
    fits = many < target
    zero = jnp.zeros(())
    start = Search(Cap(zero, zero), guess & fits, jnp.where(fits, many, 0), jnp.array(True), jnp.int32(-1))
    return lax.while_loop(lambda search: search.goes_on, grow, start).cap


def prob_alloc(
    log_w: Float[Array, " clients"],
    k: Int[Array, ""],
    sigma: Float[Array, ""],
    guess: Bool[Array, " clients"],
    available: Bool[Array, " clients"],
) -> Allocation:
    """Return p by Algorithm 2, ProbAlloc. R = 0 gives p = sigma and an empty S."""
    residual = jnp.maximum(k - ops.count(available) * sigma, 0.0)
    room = jnp.maximum(1.0 - sigma, jnp.finfo(log_w.dtype).tiny)
    cap = find_cap(jnp.where(available, log_w, -jnp.inf), residual / room, guess & available)
    above = cap.relative(log_w)
    over = available & (above > 0)  # Algorithm 2, line 3
    free = room * jnp.exp(jnp.minimum(above, 0.0))  # line 4
    p = jnp.minimum(sigma + free, 1.0)  # Eq. (19), with Eq. (21)
    return Allocation(jnp.where(available, jnp.where(over, 1.0, p), 0.0), over, cap)


@dataclass(frozen=True)
class Options(SelectorOptions):
    """Settings of E3CS.

    Attributes:
        quota: sigma_t as a share of k/K: a constant, "inc" (0 up to T/4, then 1), or one value per round.
        eta: learning rate (Table I).
        sampler: sequential as in the paper, or exact, with inclusion probabilities p.
        clip_exponent: whether the exponent of Eq. (17) is kept at most 1.
    """

    names = (
        Name("e3cs", {}, "quota", "quota, a share of k/K, or inc", words=("inc",), examples=("0", "0.5", "0.8", "inc")),
    )
    modes = Modes(
        faithful={"sampler": "sequential", "clip_exponent": False},
        corrected={"sampler": "exact", "clip_exponent": True},
    )

    quota: float | str | tuple[float, ...] = 0.5
    eta: float = 0.5
    sampler: Literal["sequential", "exact"] = static("sequential")
    clip_exponent: bool = static(False)

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        require(0 < self.eta < np.inf, f"E3CS's learning rate eta must be positive, found {self.eta:g}.")
        quota = quota_schedule(self.quota, problem.num_rounds)
        return as_arrays(Params, k=problem.cohort_size, quota=quota, eta=float(self.eta))

    def keeps_inclusion(self) -> bool:
        """Return whether the sampler is exact; the inclusion probabilities of the paper's sampler are not p."""
        return self.sampler == "exact"

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""

        def round_of(params: Params, view: View) -> tuple[Int[Array, ""], Float[Array, ""], Float[Array, ""]]:
            """Return k, sigma and R among the available clients."""
            here = ops.count(view.available)
            k = jnp.minimum(params.k, here)
            sigma = params.quota[view.round - 1] * k / jnp.maximum(here, 1)
            return k, sigma, k - here * sigma

        def init(key: PRNGKeyArray, params: Params) -> State:
            zero = jnp.zeros(dims.num_clients)
            return State(log_w=zero, p=zero + 1, overflow=jnp.zeros(dims.num_clients, bool))

        def select(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, Cohort]:
            k, sigma, _ = round_of(params, view)
            p, overflow, cap = prob_alloc(state.log_w, k, sigma, state.overflow, view.available)  # Algorithm 1, line 3
            if self.sampler == "sequential":  # Algorithm 1, line 4, as an exponential race
                arrival = ops.exponential(key, dims.num_clients) / p
                selected = ops.smallest(arrival, k, among=view.available, near=ARRIVALS)
            else:
                selected = ops.exact_inclusion(key, p, k)
            log_w = jnp.where(jnp.isfinite(cap.rest), cap.relative(state.log_w), state.log_w)
            return State(log_w, jnp.where(view.available, p, 1.0), overflow), Cohort(selected, p)

        def update(state: State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> State:
            _, _, residual = round_of(params, view)
            estimate = 1.0 / state.p  # Eq. (16), where i is selected and succeeds
            exponent = jnp.minimum(residual * params.eta * estimate / dims.num_clients, MAX_EXPONENT)
            if self.clip_exponent:
                exponent = jnp.minimum(exponent, 1.0)
            learns = feedback.succeeded & ~state.overflow
            return state._replace(log_w=state.log_w + jnp.where(learns, exponent, 0.0))  # Eq. (17)

        return Selector(init, select, update)
