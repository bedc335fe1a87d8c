"""Rules for selection schemes: valid masks, fixed shapes, true inclusion probabilities, no peeking, one program."""

from typing import Any

import jax
import numpy as np
from jax import Array

from jfed.contracts import draws
from jfed.contracts.finding import Broken, Failed, Rules, require
from jfed.contracts.options import ROUNDS, K, arrays, frozen, made, named
from jfed.contracts.scheme import Case, SelectorBench
from jfed.contracts.sweeps import sweep
from jfed.contracts.walks import batches, constant, pure, require_numbers, static_half, watch, wide
from jfed.core.types import Cohort


def slots(bench: SelectorBench) -> None:
    """Check that the static bound on the cohort is from k to K, and that the first cohort is within it."""
    for name in bench.cases:
        problem = bench.problem._replace(cohort_size=bench.size(name))
        most, first = bench.options.slots(problem), bench.options.first_cohort(problem)
        k = problem.cohort_size
        require(
            isinstance(most, int) and k <= most <= K,
            f"slots, the largest cohort, must be a whole number from k to K, {k} to {K} here, found {most!r}.",
        )
        require(
            isinstance(first, int) and 1 <= first <= most,
            f"first_cohort must be a whole number from 1 to slots, 1 to {most} here, found {first!r}.",
        )


def functions(bench: SelectorBench) -> str | None:
    """Check that functions can be traced, return what they should, and look at the truth only if that is declared."""
    try:
        bench.shapes  # noqa: B018
    except Failed as error:
        if bench.member.needs_oracle or error.function not in ("probe", "select", "update"):
            raise
        try:
            bench.trace(bench.on_device(), oracle=True)
        except Exception:
            raise error from error.__cause__
        raise Broken(
            f"{error.function} looks at view.oracle, which is shown only to a scheme that declares it: return"
            " jfed.Selector(..., needs_oracle=True), and tables will mark the scheme.",
            "oracle",
        ) from error
    return "sees the truth" if bench.member.needs_oracle else None


def masks(bench: SelectorBench) -> None:
    """Check that some clients are selected, at most as many as slots, and none that is away."""
    for name, seen in bench.walked.items():
        chosen = seen.cohort.selected
        most = bench.options.slots(bench.problem._replace(cohort_size=bench.size(name)))
        away = chosen & bench.cases[name].away
        if away.any():
            t, client = np.argwhere(away)[0]
            raise Broken(
                f"A client that is away is selected (client {client} in round {t + 1}, where {name}): choose among"
                " view.available, as in jfed.ops.smallest(score, params.k, among=view.available)."
            )
        t = int(chosen.sum(-1).argmax())
        require(
            chosen[t].sum() <= most,
            f"{chosen[t].sum()} clients are selected in round {t + 1}, where {name}, but slots says at most {most}:"
            " return more from slots, or select fewer.",
        )
    everybody = bench.walked["all clients are available"].cohort.selected
    require(everybody.any(), "No client is ever selected, though all are available.")


def sound(bench: SelectorBench) -> None:
    """Check that no number of the state becomes NaN, even if no client is available, returns or has images."""
    require_numbers(bench, {name: seen.state for name, seen in bench.walked.items()})


def inclusion(bench: SelectorBench) -> str | None:
    """Check that inclusion probabilities are in [0, 1], and 0 for clients that are away, or NaN throughout."""
    given = [~np.isnan(seen.cohort.inclusion) for seen in bench.walked.values()]
    if not any(mask.any() for mask in given):
        return "no inclusion probabilities"
    for name, seen in bench.walked.items():
        p = seen.cohort.inclusion
        require(
            not np.isnan(p).any(),
            f"Inclusion probabilities are NaN for some clients or rounds only, where {name}: give all of them, with 0"
            " for clients that are away, or NaN throughout.",
        )
        require(
            (p >= 0).all() and (p <= 1 + 1e-6).all(),
            f"Inclusion probabilities must lie in [0, 1], found {p.min():.4g} to {p.max():.4g}, where {name}.",
        )
        require(
            not p[bench.cases[name].away].any(),
            f"A client that is away has an inclusion probability above 0, where {name}: give it 0.",
        )
        require(
            not (seen.cohort.selected & (p == 0)).any(),
            f"A client whose inclusion probability is 0 is selected, where {name}.",
        )
    return None


def frequencies(bench: SelectorBench) -> str | None:
    """Check that inclusion probabilities are the frequencies of many draws, and sum to the cohort's size."""
    if np.isnan(bench.walked["all clients are available"].cohort.inclusion).any():
        return "no inclusion probabilities"
    if not bench.options.keeps_inclusion():
        return "declares that it draws otherwise than its inclusion probabilities say"
    ends = {name: jax.tree.map(lambda x: x[ROUNDS - 2], bench.walked[name].state) for name in bench.walked}
    near = bench.cases["some are away"]._replace(params=bench.params)
    situations = {
        "in round 1": (bench.starts["all clients are available"], 1, bench.cases["all clients are available"]),
        f"in round {ROUNDS}": (ends["all clients are available"], ROUNDS, bench.cases["all clients are available"]),
        "where some are away": (ends["some are away"], ROUNDS, near),
    }

    def one(key: Array, where: tuple[Any, Any, Case]) -> Cohort:
        state, t, case = where
        return bench.chosen(bench.member, key, state, t, case)[2]

    for name, (selected, p) in draws.cohorts(one, situations).items():
        counts = selected.sum(-1)
        total = p.sum(-1)
        if (counts == counts[0]).all():
            require(
                np.allclose(total, counts[0], rtol=1e-3),
                f"Inclusion probabilities sum to {total[0]:.4g} {name}, where {counts[0]} clients are selected: they"
                " must sum to the cohort's size.",
            )
        apart = draws.apart(selected - p, p * (1 - p))
        if apart is not None:
            client, many = apart
            raise Broken(
                f"Client {client} is selected in {selected[:, client].mean():.4g} of {len(p)} draws {name}, but its"
                f" inclusion probability is {p[:, client].mean():.4g}, {many:.3g} standard errors apart: draw with"
                " jfed.ops.exact_inclusion, or give NaN."
            )
    return None


def importance(bench: SelectorBench) -> None:
    """Check that the factors of clients' weights are finite and not negative."""
    for name, seen in bench.walked.items():
        factor = seen.cohort.importance
        require(
            factor is None or (np.isfinite(factor).all() and (factor >= 0).all()),
            f"The importance of a client is negative or not finite, where {name}.",
        )


def keys(bench: SelectorBench) -> str | None:
    """Return a note if another key gives the same choices: the scheme is deterministic. No scheme breaks this rule."""
    one, other = (bench.walked[name].cohort.selected for name in ("all clients are available", "with another key"))
    return "deterministic" if (one == other).all() else None


def asks(bench: SelectorBench) -> str | None:
    """Check that only available clients are probed for their loss."""
    if bench.member.probe is None:
        wants = ", ".join(bench.member.wants)
        return f"wants {wants} of the clients, which needs training" if wants else None
    for name, seen in bench.walked.items():
        require(
            not (seen.asked & bench.cases[name].away).any(),
            f"probe asks a client that is away, where {name}: choose among view.available.",
        )
    return "asks clients for their loss, which needs training"


def sweeps(bench: SelectorBench) -> str | None:
    """Check that a run works from end to end, with one program for two values of each number."""
    bench.shapes  # noqa: B018
    asking = bench.member.probe is not None or len(bench.member.wants) > 0
    settings = {"selector": [bench.options, *bench.varied.values()]}
    results = sweep(settings, bench.problem.cohort_size, training=asking)
    many = results["num_selected"]
    require(
        (many >= 0).all() and many.any() and np.isfinite(results["round_time_s"]).all(),
        "In a run of a few rounds no client is ever selected, or a round's time is not finite.",
    )
    return None


RULES: Rules = (
    ("options", frozen),
    ("names", named),
    ("params", arrays),
    ("slots", slots),
    ("make", made),
    ("functions", functions),
    ("state", constant),
    ("float64", wide),
    ("watch", watch),
    ("pure", pure),
    ("static half", static_half),
    ("batches", batches),
    ("masks", masks),
    ("sound", sound),
    ("asks", asks),
    ("inclusion", inclusion),
    ("frequencies", frequencies),
    ("importance", importance),
    ("keys", keys),
    ("one trace", sweeps),
)
