"""Settings that all algorithms with local SGD share: a schedule of the learning rate, and clipping of gradients.

*Notation.* u: rounds before this one, 0 to T - 1. A schedule is a factor of the learning rate in each round:

    constant          1
    exponential-D     D^u
    step-D-E          D^floor(u / E): times D every E rounds
    cosine            (1 + cos(pi u / T)) / 2
    inverse           1 / (1 + u)
    inverse-E         1 / (1 + u / E)

A further number is the least factor F: `exponential-0.998-0.01`, `step-0.5-100-0.1`, `inverse-1-0.1`; the cosine then
falls from 1 to F (`cosine-0.1`). The T factors themselves can be given, too.

Schedules of papers: exponential-0.998 (FedDyn), inverse (MIFA), step-0.98-10-0.001 (FedScale).

*Departures.* A rate is constant within a round: a schedule by local steps is not offered.
"""

import math
import re
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Int

from jfed.algorithms.vectors import norm
from jfed.core.errors import ConfigError, require
from jfed.core.members import AlgorithmOptions
from jfed.core.options import SMALLEST, static
from jfed.core.types import Problem, Weights

Schedule = str | tuple[float, ...]
Named = TypeVar("Named", bound=tuple[Any, ...])

NUMBER = r"\d+\.?\d*(?:e[+-]?\d+)?"
NUMBERS = {"constant": (0, 0), "exponential": (1, 2), "step": (2, 3), "cosine": (0, 1), "inverse": (0, 2)}
FORMS = "constant, exponential-0.998, step-0.5-100, cosine, inverse, or one factor per round"


class Rates(NamedTuple):
    """The learning rate of the local steps.

    Attributes:
        learning_rate: before the factor of the round.
        schedule: factor in each round, (T,); None: 1.
    """

    learning_rate: float
    schedule: np.ndarray | None


@dataclass(frozen=True, kw_only=True)
class SteppingOptions(AlgorithmOptions):
    """The base of the options of algorithms with local SGD.

    Attributes:
        schedule: factor of the learning rate in each round: constant, exponential-0.998, step-0.5-100, cosine, inverse,
            or one number per round.
        clip: greatest norm of a step's gradient, all layers together; longer ones are shortened to it. None: infinite.
    """

    schedule: Schedule = "constant"
    clip: float | None = static(None)

    def rates(self, problem: Problem) -> Rates:
        """Return the learning rate and its schedule, after checking them and `clip`."""
        rate, clip = float(self.learning_rate), 1.0 if self.clip is None else float(self.clip)
        require(0 < rate < math.inf, f"The learning rate must be positive and finite, found {rate:g}.")
        require(0 < clip < math.inf, f"Gradients must be clipped at a positive and finite norm, found {clip:g}.")
        return Rates(rate, factors(self.schedule, problem.num_rounds))


def factors(schedule: Schedule, num_rounds: int) -> np.ndarray | None:
    """Return the factor of a learning rate in each round, (T,); None for the constant schedule.

    None, in place of ones, keeps the schedule out of the program.

    Raises:
        ConfigError: the schedule is unknown, has a wrong length, or has a factor that is not positive and finite.
    """
    found = _named(schedule, num_rounds) if isinstance(schedule, str) else np.asarray(schedule, np.float64)
    if found is None:
        return None
    if len(found) != num_rounds:
        raise ConfigError(f"The schedule of a learning rate has {len(found)} factors for {num_rounds} rounds.")
    for t, factor in enumerate(found, 1):
        require(
            SMALLEST <= factor < math.inf,
            f"The factors of a learning rate must be positive and finite, found {factor:g} in round {t}: give the"
            " schedule a least factor.",
        )
    return found


def _named(schedule: str, num_rounds: int) -> np.ndarray | None:
    match = re.fullmatch(f"([a-z]+)((?:-{NUMBER})*)", schedule.lower())
    name = "" if match is None else match[1]
    numbers = [] if match is None else [float(x) for x in re.findall(NUMBER, match[2])]
    least, most = NUMBERS.get(name, (1, 0))
    if not least <= len(numbers) <= most:
        raise ConfigError(f"The schedule of a learning rate must be {FORMS}, found {schedule!r}.")
    u = np.arange(num_rounds)
    floor = numbers[most - 1] if 0 < len(numbers) == most else 0.0
    require(0 <= floor <= 1, f"The least factor of a schedule must lie in [0, 1], found {floor:g}.")
    if name == "constant":
        return None
    if name == "cosine":
        return floor + (1 - floor) * (1 + np.cos(np.pi * u / num_rounds)) / 2
    if name == "inverse":
        every = numbers[0] if numbers else 1.0
        require(every > 0, f"An inverse schedule must fall over a positive number of rounds, found {every:g}.")
        return np.maximum(1 / (1 + u / every), floor)
    decay, every = numbers[0], numbers[1] if name == "step" else 1.0
    require(0 < decay <= 1, f"A schedule must multiply by a factor in (0, 1], found {decay:g}.")
    require(every >= 1, f"A step schedule must have steps of at least one round, found {every:g}.")
    return np.maximum(decay ** (u // every), floor)


def scaled(params: Named, t: Int[Array, ""], rate: str = "learning_rate", schedule: str = "schedule") -> Named:
    """Return the params of round t, in which a rate is multiplied by its factor and the schedule is left out.

    Args:
        params: NamedTuple of arrays.
        t: round, from 1.
        rate: name of the rate.
        schedule: name of its schedule, which may be None: then the params stay as they are.
    """
    factor = getattr(params, schedule)
    if factor is None:
        return params
    values: Any = params
    return values._replace(**{rate: getattr(params, rate) * factor[t - 1], schedule: None})


def clipped(gradient: Weights, limit: float | None) -> Weights:
    """Return a gradient, shortened to a norm of `limit` if it is longer."""
    if limit is None:
        return gradient
    factor = jnp.minimum(1.0, limit / norm(gradient))
    return jax.tree.map(lambda g: g * factor, gradient)
