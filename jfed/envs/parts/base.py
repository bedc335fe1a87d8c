"""The kinds of parts of a composed world: a base class of options for each, and what their `make` returns.

All functions are written for ONE run; the engine batches them. A part's draws use the key that it is given, which
depends on (seed, round) alone.
"""

import abc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from jfed.core import prng
from jfed.core.errors import require, shown, unknown
from jfed.core.members import MemberOptions
from jfed.core.options import plain_fields, require_frozen, typed
from jfed.core.types import Dims, Params, State

FILES = (".csv", ".npz")


class About(NamedTuple):
    """The facts about clients on which rates may depend.

    Attributes:
        num_samples: number of training images.
        seconds: expected time of a client in a round, without any limit.
    """

    num_samples: Int[Array, " clients"]
    seconds: Float[Array, " clients"]


Rate = Float[Array, " clients"]
Seconds = Float[Array, " clients"]


class OnOff(NamedTuple):
    """A process by which each client is on or off in each round: available or away, returning or failing.

    Attributes:
        rate: (params, about) -> stationary rate of each client, before any change of it.
        init: (key, params, rate) -> state before round 1.
        chance: (state, params, rate, round) -> probability that a client is on in this round, given the past.
        step: (key, state, params, rate, round) -> (state, on).
    """

    rate: Callable[[Params, About], Rate]
    init: Callable[[PRNGKeyArray, Params, Rate], State]
    chance: Callable[[State, Params, Rate, Int[Array, ""]], Rate]
    step: Callable[[PRNGKeyArray, State, Params, Rate, Int[Array, ""]], tuple[State, Bool[Array, " clients"]]]


class Change(NamedTuple):
    """A change of the clients' rates, or of their times, in the course of a run.

    Attributes:
        init: params -> state before round 1.
        step: (key, state, params, round) -> state in this round.
        now: (state, params, rates, classes, round) -> rates in this round; client i is of class i mod `classes`.
        times: the same for times, in seconds; None: the change is one of rates alone.
    """

    init: Callable[[Params], State]
    step: Callable[[PRNGKeyArray, State, Params, Int[Array, ""]], State]
    now: Callable[[State, Params, Rate, Int[Array, ""], Int[Array, ""]], Rate]
    times: Callable[[State, Params, Seconds, Int[Array, ""], Int[Array, ""]], Seconds] | None = None


class Pace(NamedTuple):
    """The expected times of each client, drawn once per run.

    Attributes:
        step_s: of a local step.
        exchange_s: of the exchange with the server.
    """

    step_s: Float[Array, " clients"]
    exchange_s: Float[Array, " clients"]


class Speed(NamedTuple):
    """The times of clients. In each round, all times of a client have a common log-normal factor of mean 1.

    Attributes:
        init: (key, params, num_samples) -> expected times.
        spread: params -> standard deviation of the factor's logarithm; None: there is no factor.
    """

    init: Callable[[PRNGKeyArray, Params, Int[Array, " clients"]], Pace]
    spread: Callable[[Params], Float[Array, ""]] | None


class Waiting(NamedTuple):
    """The end of a round.

    Attributes:
        idle_s: params -> duration of a round without a cohort.
        deadline_s: params -> time after which the server stops waiting; None: it waits for all.
        first: params -> number of clients after whose return the round ends; None: it waits for all.
        partial: whether a client stops in time for the deadline, with the steps that it has done.
    """

    idle_s: Callable[[Params], Float[Array, ""]]
    deadline_s: Callable[[Params], Float[Array, ""]] | None = None
    first: Callable[[Params], Int[Array, ""]] | None = None
    partial: bool = False


Joules = Callable[[Params], tuple[Float[Array, " clients"], Float[Array, " clients"]]]
"""Energy of each client: params -> joules of a local step and of the exchange."""


# --------------------------------------------------------------------------------------------- their options


@dataclass(frozen=True)
class PartOptions(MemberOptions):
    """The base of the options of all parts."""

    @abc.abstractmethod
    def make(self, dims: Dims) -> Any:
        """Return the part's functions; only static fields can be read here."""

    def classes(self) -> int:
        """Return the number of classes of clients, assigned in turn."""
        return 1


@dataclass(frozen=True)
class OnOffOptions(PartOptions):
    """The base of the options of on/off processes."""

    @abc.abstractmethod
    def make(self, dims: Dims) -> OnOff:
        """Return the process."""

    def expected(self) -> float:
        """Return the probability that a client is on in a round, on average over clients and rounds."""
        return 1.0

    def needs_labels(self) -> bool:
        """Return whether `params` reads the labels of the clients' images: the world needs training then."""
        return False


@dataclass(frozen=True)
class ChangeOptions(PartOptions):
    """The base of the options of changes."""

    @abc.abstractmethod
    def make(self, dims: Dims) -> Change:
        """Return the change."""


@dataclass(frozen=True)
class SpeedOptions(PartOptions):
    """The base of the options of times."""

    @abc.abstractmethod
    def make(self, dims: Dims) -> Speed:
        """Return the times."""

    @abc.abstractmethod
    def means(self, num_clients: int) -> tuple[np.ndarray, np.ndarray]:
        """Return each client's mean time of a local step and of the exchange, over its draw."""


@dataclass(frozen=True)
class WaitingOptions(PartOptions):
    """The base of the options of ends of a round."""

    @abc.abstractmethod
    def make(self, dims: Dims) -> Waiting:
        """Return the end of a round."""


@dataclass(frozen=True)
class EnergyOptions(PartOptions):
    """The base of the options of energy."""

    @abc.abstractmethod
    def make(self, dims: Dims) -> Joules | None:
        """Return the energy; None if it is not counted."""

    def means(self, num_clients: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Return each client's mean joules of a local step and of the exchange; None if they are not counted."""
        return None


def found(given: Any, base: type[PartOptions], what: str) -> Any:
    """Return the options of a part: those given, or those that a name or the path of a file denotes.

    Names are those of all loaded classes on the base, a user's own included. A path ends in .csv or .npz, and is read
    by the class whose `names` end in it.

    Raises:
        ConfigError: there is no such part, or the options belong to another kind of part.
    """
    if isinstance(given, str | Path):
        kinds = [kind for kind in _below(base) if not kind.__abstractmethods__]
        if Path(given).suffix in FILES:
            readers = [kind for kind in kinds if hasattr(kind, "from_file")]
            require(bool(readers), f"{what} cannot be read from a file, found {shown(str(given))}.")
            given = readers[0].from_file(given)  # type: ignore[attr-defined]
        else:
            known = {name.name: (kind, name.fields) for kind in kinds for name in kind.called()}
            word = str(given).strip().lower().replace("_", "-")
            if word not in known:
                raise unknown(what, given, known)
            kind, fields = known[word]
            given = kind(**fields)
    require_frozen(given, base, f"The {what}")
    return typed(plain_fields(given))


def _below(base: type[Any]) -> Iterator[type[Any]]:
    for kind in base.__subclasses__():
        if "__dataclass_params__" in kind.__dict__:  # not one of those that only have static fields
            yield kind
        yield from _below(kind)


# ---------------------------------------------------------------------------------------- shared by some parts


def in_turn(values: tuple[float, ...], num_clients: int) -> np.ndarray:
    """Return values assigned to the clients in turn."""
    return np.resize(np.asarray(values, np.float64), num_clients)


def checked_rates(rates: tuple[float, ...], num_clients: int, what: str) -> np.ndarray:
    """Return rates assigned to the clients in turn.

    Raises:
        ConfigError: there are none, more than clients, or some are no probabilities.
    """
    require(len(rates) > 0, f"At least one of the {what} is needed.")
    require(len(rates) <= num_clients, f"There are {len(rates)} {what} for only {num_clients} clients.")
    bad = [rate for rate in rates if not 0 <= rate <= 1]
    require(not bad, f"The {what} must lie in [0, 1], found {', '.join(f'{rate:g}' for rate in bad)}.")
    return in_turn(rates, num_clients)


def independent(rate: Callable[[Params, About], Rate]) -> OnOff:
    """Return the process in which each client is on with its rate, independently in each round."""

    def init(key: PRNGKeyArray, params: Params, rate: Rate) -> tuple[()]:
        return ()

    def chance(state: State, params: Params, rate: Rate, t: Int[Array, ""]) -> Rate:
        return rate

    def step(
        key: PRNGKeyArray, state: State, params: Params, rate: Rate, t: Int[Array, ""]
    ) -> tuple[State, Bool[Array, " clients"]]:
        return (), prng.uniform(key, rate.shape[0]) < rate  # uniform is in [0, 1): rates 0 and 1 are exact

    return OnOff(rate, init, chance, step)


def normal(key: PRNGKeyArray, n: int) -> Float[Array, " n"]:
    """Return n independent standard normal variables, by inversion."""
    return jax.scipy.special.ndtri(prng.uniform(key, n) + 2.0**-24)


def scores(
    key: PRNGKeyArray, correlation: Float[Array, ""], num_samples: Int[Array, " clients"]
) -> Float[Array, " clients"]:
    """Return standard normal variables whose correlation with the normal scores of the numbers of images is given.

    This is a Gaussian copula: a client's score is the normal quantile of its rank (r + 1/2) / K by images, with ties in
    a random order, and z = correlation * score + sqrt(1 - correlation^2) * noise.
    """
    n = num_samples.shape[0]
    random = jnp.argsort(prng.words(prng.at(key, 0), n))
    order = random[jnp.argsort(num_samples[random], stable=True)]
    rank = jnp.zeros(n, jnp.int32).at[order].set(jnp.arange(n, dtype=jnp.int32))
    score = jax.scipy.special.ndtri((rank + 0.5) / n)
    return correlation * score + jnp.sqrt(1 - correlation**2) * normal(prng.at(key, 1), n)
