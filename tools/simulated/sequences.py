"""Looks at growing numbers of seeds: planned, at any time, and unplanned."""

from functools import partial
from typing import Any, Literal

import numpy as np

from jfed.analysis import compare
from jfed.stats.anytime import anytime_p
from jfed.stats.paired import measure
from tools.simulated.model import LEVEL, NORMAL, SKEWED, Group, Row, Shape, Study, contrast, least, most
from tools.simulated.power import ENOUGH, effect_of
from tools.simulated.tables import all_cover, frame, some

LOOKS = (10, 20, 30, 50)
OFTEN = tuple(range(5, LOOKS[-1] + 1, 5))
SIZE = {"to 50": LOOKS[-1]}
Kind = Literal["obrien-fleming", "pocock", "ranks", "anytime"]
SPENDING: tuple[Kind, ...] = ("obrien-fleming", "pocock")
NAMES: dict[Kind, str] = {
    "obrien-fleming": "looks at 10, 20, 30, 50, O'Brien-Fleming",
    "pocock": "looks at 10, 20, 30, 50, Pocock",
    "ranks": "looks at 10, 20, 30, 50, O'Brien-Fleming, Wilcoxon",
    "anytime": "at any time to 50",
}
SIX_SCHEMES: dict[Kind, int] = {"obrien-fleming": 16, "pocock": 16, "anytime": 4}


def _looked(rng: np.random.Generator, shape: Shape, n: int, kind: Kind, schemes: int) -> tuple[float, ...]:
    """Return whether any look at equal schemes ends in a verdict, and whether the last intervals hold.

    The verdict after the last look is that of all looks: what was rejected stays rejected.
    """
    scores = shape.scores(rng, (1 + schemes, n))
    made = compare(frame(scores), "accuracy", baseline="baseline", **_choices(kind)).rows
    return some(made), all_cover(made, [0.0] * schemes)


def _looked_one_differs(rng: np.random.Generator, shape: Shape, n: int, kind: Kind) -> tuple[float, ...]:
    scores = np.vstack([np.zeros(n), shape.scores(rng, (1, n))])
    return (some(compare(frame(scores), "accuracy", **_choices(kind)).rows),)


def _stopped(rng: np.random.Generator, shape: Shape, n: int) -> tuple[float, ...]:
    """Return whether each design shows a difference that n seeds show in 80 %, and the share of n that it took."""
    scores = shape.scores(rng, (2, n), np.array([[0.0], [effect_of(n) * np.sqrt(2)]]))
    found = [float(some(compare(frame(scores), "accuracy").rows))]
    for kind in SPENDING:
        shown = (k for k in LOOKS if some(compare(frame(scores[:, :k]), "accuracy", **_choices(kind)).rows))
        found += _ended(next(shown, None), n)
    early = np.flatnonzero(anytime_p(scores[1] - scores[0]) < LEVEL)
    return *found, *_ended(int(early[0]) + 1 if early.size else None, n)


def _ended(at: int | None, n: int) -> list[float]:
    return [float(at is not None), (at or n) / n]


def _choices(kind: Kind) -> dict[str, Any]:
    other = {"anytime": {"anytime": True}, "ranks": {"looks": LOOKS, "test": "wilcoxon"}}
    return other.get(kind, {"looks": LOOKS, "spending": kind})


def _unplanned(rng: np.random.Generator, shape: Shape, n: int) -> tuple[float, ...]:
    """Return whether a t-test is significant at one of a few looks, and at one of many."""
    baseline, scheme = shape.scores(rng, (2, n))
    p = {k: measure(scheme[:k], baseline[:k], higher_is_better=True).p_t for k in {*LOOKS, *OFTEN}}
    return tuple(float(min(p[k] for k in looks) < LEVEL) for looks in (LOOKS, OFTEN))


def _rows(kind: Kind, schemes: int) -> tuple[Row, ...]:
    verdict, interval = "verdict, one comparison", "last interval of one holds"
    if schemes > 1:
        verdict, interval = "any verdict of six", "six last intervals hold at once"
    return most(f"{NAMES[kind]}: {verdict}", NORMAL), least(f"{NAMES[kind]}: {interval}", NORMAL)


SEQUENCES = Group(
    "Looks at growing numbers of seeds",
    """\
Equal schemes are compared as seeds are added, up to 50. Planned looks and p-values that hold at any time (after each
seed from the second on) err in about 5 % or less over all looks together, alone and in a family of six; by Wilcoxon's
test, in about 6 %. Looks without a correction err about three times as often at four looks and four times at ten, for
normal scores. In the four rows on skewed differences the baseline does not vary. A difference that a fixed comparison
of 50 seeds shows in 80 % is shown by O'Brien and Fleming's plan nearly as often, by Pocock's and at any time less
often; a comparison that ends as soon as it is decided takes the stated share of the 50 seeds on average. Early looks
need symmetric differences more than a single test does: of the t-tests, O'Brien and Fleming's plan, which hardly uses
them, suffers least.
""",
    (
        *(Study(partial(_looked, kind=kind, schemes=1), _rows(kind, 1), SIZE, thin=2) for kind in NAMES),
        *(
            Study(partial(_looked, kind=kind, schemes=6), _rows(kind, 6), SIZE, thin=thin)
            for kind, thin in SIX_SCHEMES.items()
        ),
        *(
            Study(
                partial(_looked_one_differs, kind=kind),
                (most(f"{name}: verdict though means are equal, skewed differences"),),
                SIZE,
                SKEWED,
                thin=4,
            )
            for kind, name in NAMES.items()
        ),
        Study(
            _stopped,
            (
                least("fixed 50 seeds: shown, at the effect that they can detect", NORMAL, ENOUGH),
                *(
                    contrast(f"{NAMES[kind]}: {what}")
                    for kind in (*SPENDING, "anytime")
                    for what in ("shown, at that effect", "share of 50 seeds until the end")
                ),
            ),
            SIZE,
            thin=4,
        ),
        Study(
            _unplanned,
            (
                contrast("uncorrected looks at 10, 20, 30, 50: verdict at any"),
                contrast("uncorrected looks every 5 seeds to 50: verdict at any"),
            ),
            SIZE,
            thin=4,
        ),
    ),
)
