"""Wrong statements that a scheme is equal or not worse, where it is worse by exactly the margin."""

from functools import partial

import numpy as np

from jfed.analysis import bayesian_signed_rank
from jfed.claims import equalities, ratios
from tools.simulated.model import LEVEL, NORMAL, SKEWED, Group, Shape, Study, contrast, least, most
from tools.simulated.tables import alone, cover, family, pairs, share, some

SIX = 6
MEAN = 10.0  # of the scheme that a share is of
DRAWS = 2000
EQUAL = ("equal within margin",)
NOT_WORSE = ("not worse", "equal within margin", "better")  # all of them say that it is not worse by the margin


def _margin(rng: np.random.Generator, shape: Shape, n: int, test: str) -> tuple[float, ...]:
    """Return wrong statements about six schemes that are worse by exactly the margin, of 2.5 standard errors."""
    margin = 2.5 * np.sqrt(2 / n)
    shift = -margin * (np.arange(1 + SIX) > 0)
    compared = pairs(shape.scores(rng, (1 + SIX, n), shift[:, None]), test)
    made, single = family(compared, margin=margin), alone(compared, margin=margin)
    return share(single, EQUAL), share(single, NOT_WORSE), some(made, EQUAL), some(made, NOT_WORSE)


def _margin_one_differs(rng: np.random.Generator, shape: Shape, n: int) -> tuple[float, ...]:
    margin, x = 1.5 / np.sqrt(n), shape.scores(rng, (SIX, n))
    worse, better = (alone(pairs([np.zeros(n), *(x + by)], "t"), margin=margin) for by in (-margin, margin))
    return share(worse, EQUAL), share(better, EQUAL), share(worse, NOT_WORSE)


def _ratio(rng: np.random.Generator, shape: Shape, n: int) -> tuple[float, ...]:
    """Return statements about a scheme that is above another by exactly the share that is called the same."""
    most_off = 2.5 * np.sqrt(2 / n) / MEAN
    a, b = shape.scores(rng, (2, n), np.array([[MEAN * (1 + most_off)], [MEAN]]))
    found = equalities.within_share(a, b, most_off)
    assert found.shown is not None
    return found.shown < LEVEL, cover(*ratios.interval(a, b, 1 - LEVEL), 1 + most_off)


def _posterior(rng: np.random.Generator, shape: Shape, n: int) -> tuple[float, ...]:
    x = shape.scores(rng, (2, n))
    found = bayesian_signed_rank(x[1] - x[0], 0.0, draws=DRAWS)
    return (max(found.better, found.worse) > 1 - LEVEL,)


MARGIN = Group(
    "Equal within a margin",
    """\
The schemes are worse than the baseline by exactly the margin: the least favourable case in which "equal within margin"
and "not worse" are wrong. ("Better" is counted as "not worse", too.) The margin is 2.5 standard errors of the
difference, and 1.5 in the rows on skewed differences, where the baseline does not vary and the differences are skewed.
Statements about a margin are as sensitive to skewed differences as the t-test, from which they are made.

Claims with a relative margin are about the ratio of two means, the second of which is ten standard deviations. The
Bayesian signed-rank test gives the probability of a verdict, which is no error rate: with equal schemes and no region
of equivalence it is above 95 % two to four times as often as a test at 5 % errs.
""",
    (
        *(
            Study(
                partial(_margin, test=test),
                (
                    most(f'{test}: "equal" at the margin, one comparison', NORMAL),
                    most(f'{test}: "not worse" at the margin, one comparison', NORMAL),
                    most(f'{test}: any "equal" of six at the margin, Holm', NORMAL),
                    most(f'{test}: any "not worse" of six at the margin, Holm', NORMAL),
                ),
                thin=8,
            )
            for test in ("t", "Welch")
        ),
        Study(
            _margin_one_differs,
            (
                most('t: "equal" though worse by the margin, skewed differences'),
                most('t: "equal" though better by the margin, skewed differences'),
                most('t: "not worse" though worse by the margin, skewed differences'),
            ),
            shapes=SKEWED,
            thin=4,
        ),
        Study(
            _ratio,
            (
                most('claim: "the same" of a ratio at the margin', NORMAL),
                least("claim: interval of the ratio of means", NORMAL),
            ),
        ),
        Study(
            _posterior,
            (contrast('posterior of "better" or of "worse" above 95 %, equal schemes, no margin'),),
            thin=8,
        ),
    ),
)
