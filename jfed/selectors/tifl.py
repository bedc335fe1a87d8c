"""TiFL: each round has clients of one tier, alike in speed, and tiers on which the model is poor are drawn more often.

Z. Chai, A. Ali, S. Zawad, S. Truex, A. Anwar, N. Baracaldo, Y. Zhou, H. Ludwig, F. Yan, Y. Cheng, "TiFL: A Tier-based
Federated Learning System", HPDC 2020 (arXiv 2001.09249). The probabilities are those of a public copy of it.

*Notation.* n: number of tiers, by latency, the fastest first; credits: number of rounds that a tier may still be drawn
in; A_t: accuracy of the global model on the clients of tier t; I: rounds between two changes of the probabilities.

At first all tiers have the probability 1 / n. Every I rounds, if the accuracy on the tier that was drawn last has not
risen since the time before, the tiers with credits are ranked by accuracy, the lowest first, and the i-th of m gets
(m - i) / (m (m + 1) / 2), i = 0 .. m - 1. Clients are drawn uniformly in a tier.

*Departures.*
- Profiling: the paper measures the latencies of all clients in tasks before the training. Here the first rounds are the
  profile, and train: they select the clients with the fewest measurements. They end once each client has been
  measured `measurements` times, at latest after `profile_rounds` rounds. What counts is the mean time that the
  server waited, failed clients included. Tiers of equal numbers of clients are then formed once. Clients not measured
  by then belong to the slowest tiers; the paper leaves them out.
- Accuracy: the paper evaluates each round's model on test data of each tier, but uses that in every I-th round only.
  `accuracy="probed"`: every I rounds all available clients report the accuracy on all their images; these polls are
  counted. `"reported"`: no client is polled; clients that return report the accuracy of the model that they received
  (the fact `accuracy`). `"none"`: probabilities stay equal, the paper's static policy "uniform", which needs no
  training. A tier has the mean over the images of its clients, by the last accuracy known of each, and 0 if none is.
- A round in which a tier with credits has no available client draws among the other tiers; if no tier with credits has
  any, all with available clients have equal chances. The paper draws until it meets a tier with credits.
- A tier with fewer than k available clients is filled up with the next faster tiers, then with the next slower ones.
- Each tier has ceil(T / n) credits, as in the copy, so that some are always left. Ties are broken at random.
"""

import functools
from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from jfed.core import ops, prng
from jfed.core.errors import require
from jfed.core.interfaces import Selector
from jfed.core.members import Name, SelectorOptions
from jfed.core.options import as_arrays, static
from jfed.core.rarely import rarely
from jfed.core.types import Cohort, Dims, Feedback, Probe, Problem, View


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        k: cohort size.
        interval: I.
        credits: credits of each tier before the first round.
        measurements: measurements of each client that end the profile.
        profile_rounds: largest number of rounds of the profile.
    """

    k: Int[Array, ""]
    interval: Int[Array, ""]
    credits: Int[Array, ""]
    measurements: Int[Array, ""]
    profile_rounds: Int[Array, ""]


class State(NamedTuple):
    """The selector's state.

    Attributes:
        mean_s: mean time that the server waited for each client.
        times: number of rounds in which a client was measured.
        tier: tier of each client from 0, the fastest; -1 during the profile.
        credits: credits of each tier.
        chance: probability of each tier, before those without credits are left out.
        drawn: tier drawn last; -1 before the first.
        accuracy: last known accuracy of the global model on each client; -1 if there is none.
        before: accuracy on each tier I rounds ago; -1 if it is not known.
    """

    mean_s: Float[Array, " clients"]
    times: Int[Array, " clients"]
    tier: Int[Array, " clients"]
    credits: Int[Array, " tiers"]
    chance: Float[Array, " tiers"]
    drawn: Int[Array, ""]
    accuracy: Float[Array, " clients"]
    before: Float[Array, " tiers"]


def tiers_of(
    mean_s: Float[Array, " clients"], known: Bool[Array, " clients"], tie: Float[Array, " clients"], tiers: int
) -> Int[Array, " clients"]:
    """Return the tier of each client, of equal numbers as far as possible; clients that are not known come last."""
    order = jnp.lexsort((tie, jnp.where(known, mean_s, jnp.inf)))
    place = jnp.arange(len(mean_s))
    return jnp.zeros(len(mean_s), jnp.int32).at[order].set((place * tiers // len(mean_s)).astype(jnp.int32))


def changed(accuracy: Float[Array, " tiers"], credits_: Int[Array, " tiers"]) -> Float[Array, " tiers"]:
    """Return the probabilities of tiers by accuracy, 0 without credits; of equals the faster tier comes first."""
    open_ = credits_ > 0
    many, index = ops.count(open_), jnp.arange(accuracy.shape[0])
    lower = (accuracy[None] < accuracy[:, None]) | ((accuracy[None] == accuracy[:, None]) & (index < index[:, None]))
    part = (many - jnp.sum(lower & open_[None], 1)).astype(accuracy.dtype)
    return jnp.where(open_, part / jnp.maximum(many * (many + 1) // 2, 1), 0.0)


@dataclass(frozen=True)
class Options(SelectorOptions):
    """Settings of TiFL.

    Attributes:
        interval: I.
        credits: rounds in which each tier may be drawn; None: ceil(T / n).
        measurements: number of measurements of each client in the profile.
        profile_rounds: largest number of rounds of the profile; None: twice as many as are needed if all clients are
            available.
        tiers: n.
        accuracy: probed, reported by returned clients, or none.
    """

    names = (
        Name("tifl"),
        Name("tifl-reported", {"accuracy": "reported"}),
        Name("tifl-uniform", {"accuracy": "none"}),
    )

    interval: int = 20
    credits: int | None = None
    measurements: int = 1
    profile_rounds: int | None = None
    tiers: int = static(5)
    accuracy: Literal["probed", "reported", "none"] = static("probed")

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        n, clients = self.tiers, problem.num_clients
        require(1 <= n <= clients, f"TiFL needs between one tier and one for each of {clients} clients, found {n}.")
        require(self.interval >= 1, f"TiFL's interval must be at least one round, found {self.interval}.")
        require(self.measurements >= 1, f"TiFL must measure each client at least once, found {self.measurements}.")
        credits_ = -(-problem.num_rounds // n) if self.credits is None else self.credits
        require(credits_ >= 0, f"The credits of TiFL's tiers must not be negative, found {credits_}.")
        needed = -(-clients * self.measurements // problem.cohort_size)
        rounds = 2 * needed if self.profile_rounds is None else self.profile_rounds
        require(rounds >= 1, f"TiFL's profile must last at least one round, found {rounds}.")
        return as_arrays(
            Params, k=problem.cohort_size, interval=self.interval, credits=credits_, measurements=self.measurements,
            profile_rounds=rounds,
        )  # fmt: skip

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""
        num_clients, n = dims.num_clients, self.tiers

        def init(key: PRNGKeyArray, params: Params) -> State:
            zero, none, tier = jnp.zeros(num_clients), jnp.zeros(num_clients, jnp.int32), jnp.zeros(n)
            return State(
                zero, none, none - 1, jnp.full(n, params.credits, jnp.int32), tier + 1 / n, jnp.int32(-1),
                zero - 1, tier - 1,
            )  # fmt: skip

        def profiled(state: State, params: Params, view: View) -> Bool[Array, ""]:
            return jnp.all(state.times >= params.measurements) | (view.round > params.profile_rounds)

        def probe(key: PRNGKeyArray, state: State, params: Params, view: View) -> Probe:
            now = profiled(state, params, view) & (view.round % params.interval == 0)
            return Probe(asked=view.available & now, num_images=jnp.int32(np.iinfo(np.int32).max))

        def by_tier(state: State, values: Float[Array, " clients"]) -> Float[Array, " tiers"]:
            """Return the sums of the clients' values over each tier."""
            return jax.vmap(lambda t: ops.total(jnp.where(state.tier == t, values, 0.0)))(jnp.arange(n))

        def adapted(state: State, params: Params, view: View) -> State:
            """Return the state with other probabilities, in every I-th round."""
            now = profiled(state, params, view) & (view.round % params.interval == 0)
            weight = jnp.where(state.accuracy >= 0, view.num_samples, 0).astype(state.accuracy.dtype)
            images = by_tier(state, weight)
            accuracy = jnp.where(images > 0, by_tier(state, weight * state.accuracy) / jnp.maximum(images, 1), -1.0)
            last = jnp.maximum(state.drawn, 0)
            known = (state.drawn >= 0) & (accuracy[last] >= 0) & (state.before[last] >= 0)
            poor = known & (accuracy[last] <= state.before[last])
            return state._replace(
                chance=jnp.where(now & poor, changed(jnp.maximum(accuracy, 0.0), state.credits), state.chance),
                before=jnp.where(now, accuracy, state.before),
            )

        def select(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, Cohort]:
            tie, equal = (prng.uniform(prng.at(key, i), num_clients) for i in (1, 2))
            tiered = profiled(state, params, view)
            known = state.times > 0
            form = functools.partial(tiers_of, tiers=n)
            tier = rarely(tiered & jnp.any(state.tier < 0), form, state.tier, state.mean_s, known, equal)
            state = state._replace(tier=tier)
            if self.accuracy == "probed":
                told = ~jnp.isnan(view.probed_accuracy)
                state = state._replace(accuracy=jnp.where(told, view.probed_accuracy, state.accuracy))
            if self.accuracy != "none":
                state = adapted(state, params, view)
            here = by_tier(state, view.available.astype(state.chance.dtype)) > 0
            open_ = here & (state.credits > 0) & (state.chance > 0)
            chance = jnp.where(jnp.any(open_), jnp.where(open_, state.chance, 0.0), here.astype(state.chance.dtype))
            arrival = ops.log_exponential(prng.at(key, 0), n) - jnp.log(chance)  # a race, as in `ops.race`, of one
            tier = jnp.argmin(jnp.where(chance > 0, arrival, jnp.inf)).astype(jnp.int32)
            one = (jnp.arange(n) == tier) & (chance > 0)
            drawn = tiered & jnp.any(one)

            behind = jnp.where(state.tier <= tier, tier - state.tier, state.tier)  # faster tiers before slower ones
            score = jnp.where(tiered, jnp.where(state.tier <= tier, behind, n + behind), state.times)
            selected = ops.smallest(score.astype(tie.dtype), params.k, view.available, tie)
            state = state._replace(
                credits=jnp.maximum(state.credits - (drawn & one), 0),
                drawn=jnp.where(drawn, tier, state.drawn),
            )
            return state, Cohort(selected, jnp.full(tie.shape, jnp.nan))

        def update(state: State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> State:
            times = state.times + feedback.selected
            moved = state.mean_s + (feedback.latency_s - state.mean_s) / jnp.maximum(times, 1)
            mean_s = jnp.where(feedback.selected, moved, state.mean_s)
            accuracy, told = state.accuracy, feedback.facts.accuracy
            if told is not None:
                accuracy = jnp.where(feedback.succeeded & ~jnp.isnan(told), told, accuracy)
            return state._replace(mean_s=mean_s, times=times, accuracy=accuracy)

        def watch(state: State) -> dict[str, Float[Array, ""]]:
            return {"tier": state.drawn.astype(state.mean_s.dtype)}

        return Selector(
            init, select, update,
            probe=probe if self.accuracy == "probed" else None,
            watch=watch,
            wants=("accuracy",) if self.accuracy == "reported" else (),
        )  # fmt: skip
