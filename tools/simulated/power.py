"""Power: what notes below tables promise, and what tests find in scores of several shapes."""

from functools import lru_cache, partial

import numpy as np

from jfed.analysis import detectable, plan, seeds_for
from jfed.stats.power import Test
from tools.simulated.model import NORMAL, Group, Shape, Study, least
from tools.simulated.tables import alone, family, pairs

OF: dict[str, Test] = {
    "t": "t", "Wilcoxon": "wilcoxon", "sign flips": "sign-flip", "Welch": "welch", "Mann-Whitney": "mann-whitney"
}  # fmt: skip
UNPAIRED = ("Welch", "Mann-Whitney")
SIX = 6
ENOUGH = 80.0  # percent
effect_of = lru_cache(detectable)
needed = lru_cache(seeds_for)


def _found(rng: np.random.Generator, shape: Shape, n: int, test: str, effect: float, schemes: int) -> float:
    """Return whether the first of the schemes, which is better by `effect`, is shown to be; NaN if that is infinite.

    An effect of a paired test is in standard deviations of the differences, which have twice the variance of a score.
    """
    if np.isinf(effect):
        return np.nan
    shift = np.zeros(1 + schemes)
    shift[1] = effect * (1.0 if test in UNPAIRED else np.sqrt(2))
    compared = pairs(shape.scores(rng, (1 + schemes, n), shift[:, None]), test)
    made = family(compared) if schemes > 1 else alone(compared)
    return made[0].verdict == "better"


def _detected(rng: np.random.Generator, shape: Shape, n: int, test: str, schemes: int) -> tuple[float, ...]:
    effect = effect_of(n, test=OF[test], num_comparisons=schemes)
    return (_found(rng, shape, n, test, effect, schemes),)


def _planned(rng: np.random.Generator, shape: Shape, effect: float, test: str, schemes: int) -> tuple[float, ...]:
    n = needed(effect, test=OF[test], num_comparisons=schemes)
    return (_found(rng, shape, n, test, effect, schemes),)


def _pilot(rng: np.random.Generator, shape: Shape, n: int) -> tuple[float, ...]:
    return (plan(shape.scores(rng, (n,), 0.8)).d_z_low <= 0.8,)


def _name(test: str, schemes: int) -> str:
    return f"{test}{', one of six, Holm' if schemes > 1 else ''}"


POWER = Group(
    "Power",
    """\
A scheme is better by `detectable(n)` standard deviations, alone or among six of which the others are equal, or by one
standard deviation on as many seeds as `seeds_for` asks for. "Better" is counted. Both functions take scores as
normal, so that nothing is promised for other shapes. Each test is taken at its own detectable effect, which is about
2 % larger for Wilcoxon's test than for t, and 3 to 11 % larger for Mann and Whitney's than for Welch's.

With 30 seeds Wilcoxon's test finds more than t in heavy tails and skewed or collapsing scores; Mann and Whitney's
finds more than Welch's from 10 runs of each. For normal and coarse scores there is little between them.
""",
    (
        *(
            Study(
                partial(_detected, test=test, schemes=1),
                (least(f"{test}: found, at the effect that can be detected", NORMAL, ENOUGH),),
                thin=4,
            )
            for test in OF
        ),
        *(
            Study(
                partial(_detected, test=test, schemes=SIX),
                (least(f"{_name(test, SIX)}: found, at the effect that can be detected", NORMAL, ENOUGH),),
                shapes=NORMAL,
                thin=4,
            )
            for test in OF
        ),
        *(
            Study(
                partial(_planned, test=test, schemes=schemes),
                (least(f"{_name(test, schemes)}: found, with the seeds that are needed", NORMAL, ENOUGH),),
                {"for 1 sd": 1.0},
                NORMAL,
                thin=2 if schemes == 1 else 4,
            )
            for test in OF
            for schemes in (1, SIX)
        ),
        Study(
            _pilot,
            (least("pilot: the true effect is at least the lower limit for safe seeds", NORMAL, ENOUGH),),
            shapes=NORMAL,
            thin=4,
        ),
    ),
)
