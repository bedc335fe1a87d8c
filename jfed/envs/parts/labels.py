"""Tied to labels: the labels of a client's images decide how often it is on (`LabelRates`) or when (`LabelDays`).

Rates by label: X. Gu, K. Huang, J. Zhang, L. Huang, "Fast Federated Learning in the Presence of Arbitrary Device
Unavailability", NeurIPS 2021, in whose experiments a client's rate grows with the smallest of its labels; S. Wang, M.
Ji, "A Lightweight Method for Tackling Unknown Participation Statistics in Federated Averaging", ICLR 2024, where it is
the product of the client's shares of labels and a vector. Days by label: H. Eichner, T. Koren, B. McMahan, N. Srebro,
K. Talwar, "Semi-Cyclic Stochastic Gradient Descent", ICML 2019; C. Zhu, Z. Xu, M. Chen, J. Konecny, A. Hard, T.
Goldstein, "Diurnal or Nocturnal? Federated Learning of Multi-branch Networks from Periodically Shifting Distributions",
ICLR 2022.

*Notation.* q_ic: weight of label c of C for client i, of sum 1 over labels. With `by="mix"` it is the share of c in the
client's training images; with "main" it is 1 for the label with the most images, and with "least" for the smallest
label that it has. A client's rate is sum_c q_ic r_c, where r_c is the rate of label c: that of `LabelRates`, or in
`LabelDays` that of a wave which is highest at the hour c / C of a day.

*Departures.*
- Of labels with equally many images the first is the main one. A client without images has all labels equally.
- Gu et al. are `LabelRates((p_min, 1.0), by="least")`. Wang and Ji draw the vector from a Dirichlet law; here it is
  given, and the same for all seeds.
- The hour at which a run begins is drawn for each run, so that no label comes first for all seeds.
- Where rates change in the course of a run, it is the middle of the waves of `LabelDays` that moves.
- The clients' labels depend on the data seed and exist with training only: without it such worlds are refused.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from jfed.core import prng
from jfed.core.errors import require
from jfed.core.members import Name
from jfed.core.options import as_arrays, static
from jfed.core.total import total
from jfed.core.types import Dims, Problem
from jfed.envs.parts.base import About, OnOff, OnOffOptions, Rate, independent

By = Literal["mix", "main", "least"]


def weights(problem: Problem, by: By) -> np.ndarray:
    """Return the weights q of labels for each client, (K, C).

    Raises:
        ConfigError: the clients' labels are not known.
    """
    require(by in ("mix", "main", "least"), f"by must be mix, main or least, found {by!r}.")
    require(problem.labels is not None, "Rates by labels need the labels of the clients' images: they need training.")
    counts = np.asarray(problem.labels, np.float64)
    if by != "mix":
        place = counts.argmax(1) if by == "main" else (counts > 0).argmax(1)
        counts = counts * (np.arange(counts.shape[1]) == place[:, None])
    counts[counts.sum(1) == 0] = 1.0
    return counts / counts.sum(1, keepdims=True)


class RatesParams(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        rate: of each client.
    """

    rate: Float[Array, " clients"]


@dataclass(frozen=True)
class LabelRates(OnOffOptions):
    """Settings of rates by label. Clients are on with their rates, independently in each round.

    Attributes:
        rates: of the labels: as many as there are, or fewer, which lie evenly between the first and the last label and
            are joined by straight lines.
        by: mix (all labels of a client count), main (its most frequent one) or least (its smallest one).
    """

    names = (Name("label-rates"),)

    rates: tuple[float, ...] = (0.1, 0.9)
    by: By = static("mix")

    def needs_labels(self) -> bool:
        """Return True."""
        return True

    def params(self, problem: Problem) -> RatesParams:
        """Return the options as arrays, after checking them."""
        require(len(self.rates) > 0, "At least one of the rates of labels is needed.")
        bad = [rate for rate in self.rates if not 0 <= rate <= 1]
        require(not bad, f"The rates of labels must lie in [0, 1], found {', '.join(f'{rate:g}' for rate in bad)}.")
        q = weights(problem, self.by)
        many, known = q.shape[1], len(self.rates)
        require(known <= many, f"There are {known} rates of labels for only {many} labels.")
        of_label = np.interp(np.linspace(0, 1, many), np.linspace(0, 1, known), self.rates)
        return as_arrays(RatesParams, rate=np.clip(q @ of_label, 0, 1))

    def expected(self) -> float:
        """Return the mean of the rates, which is that of clients whose labels are equally frequent."""
        return float(np.mean(self.rates))

    def make(self, dims: Dims) -> OnOff:
        """Return the process."""

        def rate(params: RatesParams, about: About) -> Rate:
            return params.rate

        return independent(rate)


class DaysParams(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        weight: q, transposed.
        low: lowest rate of a label.
        high: highest.
        period: length of a day.
        share: of the day in which a label has the highest rate, if the wave is a square.
    """

    weight: Float[Array, "labels clients"]
    low: Float[Array, ""]
    high: Float[Array, ""]
    period: Float[Array, ""]
    share: Float[Array, ""]


class DaysState(NamedTuple):
    """The process's state.

    Attributes:
        hour: at which the run begins, in days, in [0, 1).
    """

    hour: Float[Array, ""]


@dataclass(frozen=True)
class LabelDays(OnOffOptions):
    """Settings of days by label.

    Attributes:
        low: lowest rate of a label in the course of a day.
        high: highest rate, at the label's own hour: c / C of the day for label c of C.
        period: rounds of a day.
        share: share of the day, around its hour, in which a label has the highest rate; for a square wave only.
        by: mix (all labels of a client count), main (its most frequent one) or least (its smallest one).
        wave: sine, or square: the highest rate for a share of the day, and otherwise the lowest.
    """

    names = (Name("label-days"),)

    low: float = 0.1
    high: float = 0.9
    period: float = 24.0
    share: float = 0.5
    by: By = static("main")
    wave: Literal["sine", "square"] = static("sine")

    def needs_labels(self) -> bool:
        """Return True."""
        return True

    def params(self, problem: Problem) -> DaysParams:
        """Return the options as arrays, after checking them."""
        rates = f"low and high must lie in [0, 1], the lower one first, found {self.low:g} and {self.high:g}."
        require(0 <= self.low <= self.high <= 1, rates)
        require(0 < self.period < np.inf, f"period must be positive, found {self.period:g}.")
        require(0 <= self.share <= 1, f"share must lie in [0, 1], found {self.share:g}.")
        require(self.wave in ("sine", "square"), f"wave must be sine or square, found {self.wave!r}.")
        numbers = {name: float(getattr(self, name)) for name in ("low", "high", "period", "share")}
        return as_arrays(DaysParams, weight=weights(problem, self.by).T, **numbers)

    def expected(self) -> float:
        """Return the mean rate over a day, which is the same for all labels."""
        return self.low + (self.high - self.low) * (self.share if self.wave == "square" else 0.5)

    def make(self, dims: Dims) -> OnOff:
        """Return the process."""

        def rate(params: DaysParams, about: About) -> Rate:
            return jnp.zeros(dims.num_clients) + (params.low + params.high) / 2

        def init(key: PRNGKeyArray, params: DaysParams, rate: Rate) -> DaysState:
            return DaysState(prng.uniform(key, 1)[0])

        def chance(state: DaysState, params: DaysParams, rate: Rate, t: Int[Array, ""]) -> Rate:
            labels = params.weight.shape[0]
            after = (t - 1) / params.period + state.hour - jnp.arange(labels) / labels  # a label's own hour, in days
            after = after - jnp.floor(after)
            if self.wave == "square":
                up = (jnp.minimum(after, 1 - after) < params.share / 2) | (params.share == 1)
                wave = jnp.where(up, 1.0, -1.0)
            else:
                wave = jnp.cos(2 * jnp.pi * after)
            swing = (params.high - params.low) / 2
            return jnp.clip(rate + swing * total(params.weight * wave[:, None]), 0.0, 1.0)

        def step(
            key: PRNGKeyArray, state: DaysState, params: DaysParams, rate: Rate, t: Int[Array, ""]
        ) -> tuple[DaysState, Bool[Array, " clients"]]:
            return state, prng.uniform(key, dims.num_clients) < chance(state, params, rate, t)

        return OnOff(rate, init, chance, step)
