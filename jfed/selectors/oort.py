"""Oort: clients with large losses first, slow ones less often, and a share of each round for clients not yet seen.

F. Lai, X. Zhu, H. V. Madhyastha, M. Chowdhury, "Oort: Efficient Federated Learning via Guided Participant Selection",
OSDI 2021, and its public code.

*Notation.* B_i: images of client i; U_i = |B_i| sqrt(mean over B_i of the squared loss): statistical utility; t_i: time
that the server last waited for i; T: preferred duration; alpha: straggler penalty; R: round; L_i: last round in which i
returned; epsilon: share of the cohort that explores; W: step window of the pacer.

    Util(i) = (min(U_i, clip) - 0.999 min U) / range of U + sqrt(0.1 ln R / L_i), times (T / t_i)^alpha if t_i > T

*Departures.* Mode `faithful` has the defaults of the public code, `corrected` the settings of the paper, where known:
- `cut_off`: clients above this share of the utility at the end of the exploiting part are drawn from, with chances
  proportional to their utilities: 0.7 in the code, 0.95 in the paper.
- `blacklist_after`: a client that returned more often is left out: never (-1) in the code, after 10 in the paper. The
  blacklist has at most 30 % of the clients, those that returned most often; the code itself stops with an error there.
- `percentile`: T is this percentile of the durations known, and infinite from 100 on. The code starts at 101, without a
  T, until the pacer lowers it. The paper does not say where T starts; `corrected` starts at 30, as later public codes.
- `pacer`: every W rounds the mean utilities of the exploited clients that returned are added up. `flat`, the code:
  +10 points if the sum has changed by at most a tenth since the window before, -10 points if by five times or more. As
  in the code the sum of a window without exploitation is 0, which the next one exceeds by more than five times.
  `falling`, the paper: +10 points if the sum has fallen. The paper adds seconds to T, so many that the next W k
  clients fit; in a federation of hundreds these are all clients.
- `scale`: the code takes minimum, range and clip of the utilities over all clients that can be selected, with the
  number of images in place of U_i for those never seen (`everybody`), another unit; `explored` leaves these out.
In both modes:
- The code knows durations beforehand, from the profiles of devices. Here a client never selected has none, is not held
  to be slow, and does not count in T. A client that fails stays unexplored, but its duration is known.
- U_i is of the received model on all images (the fact `loss_sq`); in the code it is of the last local steps. A client
  whose loss is not finite keeps its utility, one without images has utility 0, and the lowest possible score is 0.
- The cut-off is at the first client behind the exploiting part. Where there is none the code stops with an error; here
  it is at the last.
- Exploration draws among the clients never seen with the most images, five times as many as wanted, with chances
  proportional to these. Where nothing else is left a cohort is filled up at random, with the blacklist last.
- To invite more clients than wanted and keep the fastest is not part of this scheme. Ties are broken at random.
"""

from dataclasses import dataclass
from math import inf
from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from jfed.core import ops, prng
from jfed.core.cut import value_at
from jfed.core.errors import require
from jfed.core.interfaces import Selector
from jfed.core.members import Modes, Name, SelectorOptions
from jfed.core.options import as_arrays, static
from jfed.core.total import fold
from jfed.core.types import Cohort, Dims, Feedback, Problem, View

STALENESS = 0.1  # factor of ln R in the bonus for clients that have not returned for long
FLAT, JUMP = 0.1, 5.0  # relative changes of the utility to which the pacer of the code answers
SLACK = 1e-4  # keeps 10 (1 - 0.2) at 8 when it is rounded down in single precision
NEVER = np.iinfo(np.int32).max


class Params(NamedTuple):
    """Dynamic half of the options; `blacklisted` is the largest number of clients on the blacklist.

    Attributes:
        k: cohort size.
        others: as in `Options`.
    """

    k: Int[Array, ""]
    exploration: Float[Array, ""]
    exploration_decay: Float[Array, ""]
    exploration_min: Float[Array, ""]
    window: Float[Array, ""]
    cut_off: Float[Array, ""]
    clip: Float[Array, ""]
    alpha: Float[Array, ""]
    percentile: Float[Array, ""]
    pacer_points: Float[Array, ""]
    pacer_rounds: Int[Array, ""]
    blacklist_after: Int[Array, ""]
    blacklisted: Int[Array, ""]


class State(NamedTuple):
    """The selector's state.

    Attributes:
        utility: U_i as last told; 0 before the first return.
        duration_s: t_i; -1 for a client never selected.
        last: L_i; 0 before the first return.
        times: number of returns.
        exploration: epsilon of the last round.
        least: lower bound on epsilon: 0 once all clients have been seen.
        exploited: clients of this round's cohort that were selected for their utility.
        percentile: percentile of the durations that is T.
        before: sum of the mean utilities over the last complete window of the pacer.
        now: the same over the present window so far.
    """

    utility: Float[Array, " clients"]
    duration_s: Float[Array, " clients"]
    last: Int[Array, " clients"]
    times: Int[Array, " clients"]
    exploration: Float[Array, ""]
    least: Float[Array, ""]
    exploited: Bool[Array, " clients"]
    percentile: Float[Array, ""]
    before: Float[Array, ""]
    now: Float[Array, ""]


def nth(values: Float[Array, " clients"], among: Bool[Array, " clients"], place: Array) -> Float[Array, ""]:
    """Return the value at a place of the ascending order, from 0; the largest for a later place, inf if there is none.

    Args:
        values: any finite values.
        among: the only entries that count.
        place: not negative; rounded down.
    """
    last = jnp.maximum(ops.count(among) - 1, 0)
    place = jnp.minimum(jnp.floor(place + SLACK).astype(jnp.int32), last)
    return value_at(jnp.where(among, values, jnp.inf), place)


def log(x: Float[Array, " clients"]) -> Float[Array, " clients"]:
    """Return the logarithm, of the smallest number for 0: such clients are drawn last, in a random order."""
    return jnp.log(jnp.maximum(x, jnp.finfo(x.dtype).tiny))


@dataclass(frozen=True)
class Options(SelectorOptions):
    """Settings of Oort.

    Attributes:
        exploration: epsilon before the first round, which has already decayed once.
        exploration_decay: factor of epsilon in each round.
        exploration_min: smallest epsilon while there are clients never seen.
        window: number of clients that exploration draws from, as a multiple of those that it draws.
        cut_off: share of the utility at the end of the exploiting part above which clients are drawn from.
        clip: quantile of the utilities at which they are clipped.
        alpha: exponent of T / t_i.
        percentile: percentile of the durations at which T starts; infinite from 100 on.
        pacer_points: percentile points by which the pacer moves T.
        pacer_rounds: W.
        blacklist_after: number of returns after which a client is left out; -1: never.
        blacklist_share: largest share of clients that are left out.
        pacer: flat, the rule of the code, or falling, that of the paper.
        scale: clients over which utilities are scaled: everybody, or those explored.
    """

    names = (Name("oort"),)
    modes = Modes(
        faithful={"cut_off": 0.7, "blacklist_after": -1, "percentile": 101.0, "pacer": "flat", "scale": "everybody"},
        corrected={"cut_off": 0.95, "blacklist_after": 10, "percentile": 30.0, "pacer": "falling", "scale": "explored"},
    )

    exploration: float = 0.9
    exploration_decay: float = 0.98
    exploration_min: float = 0.2
    window: float = 5.0
    cut_off: float = 0.7
    clip: float = 0.95
    alpha: float = 2.0
    percentile: float = 101.0
    pacer_points: float = 10.0
    pacer_rounds: int = 20
    blacklist_after: int = -1
    blacklist_share: float = 0.3
    pacer: Literal["flat", "falling"] = static("flat")
    scale: Literal["everybody", "explored"] = static("everybody")

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        shares = ("exploration", "exploration_decay", "exploration_min", "cut_off", "clip", "blacklist_share")
        for name in shares:
            value = getattr(self, name)
            require(0 <= value <= 1, f"Oort's {name} must lie in [0, 1], found {value:g}.")
        require(1 <= self.window < inf, f"Oort must explore among at least as many as it draws, found {self.window:g}.")
        require(0 <= self.alpha < inf, f"Oort's penalty alpha must not be negative, found {self.alpha:g}.")
        require(0 <= self.percentile < inf, f"The percentile of T must not be negative, found {self.percentile:g}.")
        points = self.pacer_points
        require(0 <= points <= 100, f"Oort's pacer must move by 0 to 100 percentile points, found {points:g}.")
        require(self.pacer_rounds >= 1, f"Oort's pacer needs windows of at least a round, found {self.pacer_rounds}.")
        after = self.blacklist_after
        require(after >= -1, f"The number of returns before the blacklist must be at least 0, or -1, found {after}.")
        whole = {"k": problem.cohort_size, "pacer_rounds": self.pacer_rounds}
        whole["blacklist_after"] = NEVER if after < 0 else after
        whole["blacklisted"] = int(self.blacklist_share * problem.num_clients + SLACK)
        others = {name: float(getattr(self, name)) for name in Params._fields if name not in whole}
        return as_arrays(Params, **whole, **others)

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""

        def init(key: PRNGKeyArray, params: Params) -> State:
            zero, none = jnp.zeros(dims.num_clients), jnp.zeros(dims.num_clients, jnp.int32)
            sums = jnp.zeros(())
            return State(
                zero, zero - 1, none, none, sums + params.exploration, sums + params.exploration_min,
                none > 0, sums + params.percentile, sums, sums,
            )  # fmt: skip

        def paced(state: State, params: Params, t: Int[Array, ""]) -> State:
            """Return the state with T moved, at the end of a window of the pacer."""
            ends, change = t % params.pacer_rounds == 0, jnp.abs(state.now - state.before)
            higher = jnp.minimum(state.percentile + params.pacer_points, 100.0)
            lower = jnp.maximum(params.pacer_points, state.percentile - params.pacer_points)
            if self.pacer == "flat":
                falls = jnp.where(change >= JUMP * state.before, lower, state.percentile)
                moved = jnp.where(change <= FLAT * state.before, higher, falls)
            else:
                moved = jnp.where(state.now < state.before, higher, state.percentile)
            return state._replace(
                percentile=jnp.where(ends & (t >= 2 * params.pacer_rounds), moved, state.percentile),
                before=jnp.where(ends, state.now, state.before),
                now=jnp.where(ends, 0.0, state.now),
            )

        def penalty(state: State, params: Params) -> Float[Array, " clients"]:
            """Return (T / t_i)^alpha for clients slower than T, and 1 for others."""
            known = state.duration_s >= 0
            preferred = nth(state.duration_s, known, ops.count(known) * state.percentile / 100)  # T
            slow = known & (state.duration_s > preferred) & (state.percentile < 100)
            return jnp.where(slow, preferred / jnp.where(slow, state.duration_s, 1.0), 1.0) ** params.alpha

        def scores(
            state: State, params: Params, view: View, open_: Bool[Array, " clients"], slow: Float[Array, " clients"]
        ) -> Float[Array, " clients"]:
            """Return Util(i); it means nothing for clients never seen."""
            seen = state.times > 0
            worth = jnp.where(seen, state.utility, view.num_samples.astype(state.utility.dtype))
            among = open_ & (worth > 0) & (seen | (self.scale == "everybody"))
            some, many = jnp.any(among), ops.count(among)
            low = jnp.where(some, fold(jnp.minimum, jnp.where(among, worth, jnp.inf)), 0.0)
            high = jnp.where(some, fold(jnp.maximum, jnp.where(among, worth, -jnp.inf)), 0.0)
            clip = jnp.where(some, nth(worth, among, many * params.clip), 0.0)
            scaled = (jnp.minimum(worth, clip) - 0.999 * low) / jnp.maximum(high - 0.999 * low, 1e-4)
            now = jnp.log(view.round.astype(worth.dtype))
            bonus = jnp.sqrt(STALENESS * now / jnp.maximum(state.last, 1))  # temporal uncertainty
            return jnp.maximum(scaled + bonus, 0.0) * slow

        def select(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, Cohort]:
            tie = prng.uniform(prng.at(key, 0), dims.num_clients)
            arrival = ops.log_exponential(prng.at(key, 1), dims.num_clients)  # of the race of those seen and of others
            state = paced(state, params, view.round)
            most = state.times > params.blacklist_after
            banned = ops.smallest(-state.times.astype(tie.dtype), params.blacklisted, most, tie)
            fresh, slow = view.available & (state.times == 0), penalty(state, params)

            # Exploitation: a draw among those that are not far below the last one wanted.
            played = view.available & (state.times > 0) & ~banned
            score = scores(state, params, view, view.available & ~banned, slow)
            epsilon = jnp.maximum(state.exploration * params.exploration_decay, state.least)
            many = ops.count(played)
            wanted = jnp.minimum(jnp.floor(params.k * (1 - epsilon) + SLACK).astype(jnp.int32), many)
            end = -nth(-score, played, wanted)
            exploited = ops.smallest(arrival - log(score), wanted, played & (score >= params.cut_off * end))

            # Exploration of clients never seen: those with the most images, faster ones first where that is known.
            left = jnp.minimum(params.k - ops.count(exploited), ops.count(fresh))
            prior = view.num_samples * slow
            near = jnp.floor(params.window * left + SLACK).astype(jnp.int32)
            explored = ops.smallest(arrival - log(prior), left, ops.smallest(-prior, near, fresh, tie))

            chosen = exploited | explored
            rest = params.k - ops.count(chosen)
            chosen |= ops.smallest(tie + banned, rest, view.available & ~chosen)
            all_seen = ~jnp.any(state.times == 0)
            state = state._replace(
                exploration=jnp.where(all_seen, 0.0, epsilon),
                least=jnp.where(all_seen, 0.0, state.least),
                exploited=exploited,
            )
            return state, Cohort(chosen, jnp.full(tie.shape, jnp.nan))

        def update(state: State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> State:
            came, squares = feedback.succeeded, feedback.facts.loss_sq
            mean = jnp.full(state.utility.shape, jnp.nan) if squares is None else squares
            told = jnp.where(view.num_samples > 0, view.num_samples * jnp.sqrt(mean), 0.0)  # U_i
            before = jnp.where(state.times > 0, state.utility, view.num_samples)
            utility = jnp.where(came, jnp.where(jnp.isfinite(told), told, before), state.utility)
            counted = state.exploited & came
            gained = ops.total(jnp.where(counted, utility, 0.0)) / (ops.count(counted) + 1e-4)
            return state._replace(
                utility=utility,
                duration_s=jnp.where(feedback.selected, feedback.latency_s, state.duration_s),
                last=jnp.where(came, view.round, state.last),
                times=state.times + came,
                now=state.now + gained,
            )

        def watch(state: State) -> dict[str, Float[Array, ""]]:
            return {"exploration": state.exploration, "percentile": state.percentile}

        return Selector(init, select, update, watch=watch, wants=("loss_sq",))
