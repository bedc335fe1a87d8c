"""Eiffel's choice of clients and aggregation weights (Sultana et al., Algorithm 1), float64.

N clients, M resource types, T rounds counted from 0; masks are boolean. d (N,): data sizes, c (N,): computing
power, r (N,): resource demand, f (N,): losses, t (N,): ages in rounds. Line numbers are those of Algorithm 1.

The paper's Algorithm 1 cannot be run as printed. Readings (F = faithful mode, C = corrected mode):
- EI1  The printed weights d_i alpha_i / D do not add up to 1 ("literal"). F and C: "self", normalised over the
       selected; "dsize" drops alpha.
- EI2  c and r have no unit: both are divided by their mean over all clients once (`rescale`). It changes only
       literal weights, the raw index and the factor of EI18.
- EI3  Line 14 stores a gradient as the loss: here the loss.
- EI4  Which loss: the caller's; intended is F_i at the model received, on the batch of step 1.
- EI5  A client not heard would have loss 0: all clients take part in round 0, losses are at least 1e-8, old ones
       are kept as they are.
- EI6  A low loss gives a high priority, as printed; `high_loss` uses f in place of 1 / f.
- EI7  Eq. (3) adds incomparable quantities. F: raw, with given weights. C: each factor scaled to [0, 1] over all
       clients in every round, weights 0.25.
- EI8  t is an age: 1 at the start and after taking part, one more for every round missed.
- EI9  Line 22 means the clients outside the previous selection, and the new selection is the union.
- EI10 After round 0 no client is outside, so (1 - kappa) R is left over, as printed; `work_conserving` passes it on.
- EI11 kappa is the previous selection's share. For the other meaning (Section 5.2) pass 1 - kappa.
- EI12 A client costs r_i of R; a client that does not fit is skipped. `stop_at_first`: the pool closes instead.
       Another cost may be given.
- EI13 The cost of a round: "sum" over the selected as in line 15, or "max" for time. C: "max".
- EI14 F: stop when the next round does not fit. C (`shrink`): first a last round with the largest tau that fits.
- EI15 F returns the last model, C the best. EI16: the clients also send rho_i and beta_i. EI17: a client
       that comes back compares with its own old end point. All three are left to the caller.
- EI18 F: h gets alpha = sum_S d_i alpha_i / sum_S d_i. C: 1.
- EI19 Eq. (7) scales local steps by alpha_i, line 32 does not: not scaled.
- EI20 Eq. (5) describes drawing clients, Algorithm 1 sorts them: sorted. EI21: the proof of fairness is not used.
- EI22 No parameter has a printed value: all are arguments.
Own readings:
- Equal indices: smallest tie_break first, then the lower client. A factor equal for all clients (relative
  spread up to 1e-12) is scaled to 0.
- Costs that fit up to 1e-9 R fit.
- Work-conserving: the previous selection within kappa R, then the others within the remainder of R, then the
  rest of the previous selection within the new remainder.
- Weights use the ages before the round (line 13 precedes line 14), the index those after it (line 21 follows).
- D is the data of all clients, selected or not. If no client is selected, all weights are 0.
- EI14 corrected: if not even tau = 1 fits, no last round. A budget used up exactly is not violated (line 23).
- In the paper all clients are available and return. Here both pools, and round 0, hold available clients only. The
  previous selection holds all clients selected then, returned or not. Taking part (ages and losses, lines 14 and 18)
  means having returned; a NaN loss (a client without data) is not heard. A client not yet heard has, in the index, the
  best loss factor of the clients heard.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

LOSS_FLOOR = 1e-8
SLACK = 1e-9  # of R
SAME_VALUE = 1e-12  # relative
EQUAL_WEIGHTS = (0.25, 0.25, 0.25, 0.25)


def rescaled(v: FloatArray) -> FloatArray:
    """Return v (N,) divided by its mean."""
    return v / np.mean(v)


def contribution(c: FloatArray, r: FloatArray, ages: FloatArray) -> FloatArray:
    """Return alpha (N,): power times age over demand."""
    return np.array([c[i] * ages[i] / r[i] for i in range(len(c))])  # Eq. (5), text; line 13


def min_max(v: FloatArray) -> FloatArray:
    """Return v (N,) shifted and scaled to [0, 1]; all 0 if all are equal up to rounding."""
    low, high = float(np.min(v)), float(np.max(v))
    if high - low <= SAME_VALUE * max(abs(low), abs(high)):
        return np.zeros(len(v))
    return (v - low) / (high - low)


def priority(
    f: FloatArray,
    d: FloatArray,
    c: FloatArray,
    r: FloatArray,
    ages: FloatArray,
    weights: Sequence[float] = EQUAL_WEIGHTS,
    normalise: bool = True,
    high_loss: bool = False,
) -> FloatArray:
    """Return the index (N,), higher first; weights omega, rho, gamma, psi of loss, data, power over demand, age.

    A loss f (N,) is NaN for a client that was never heard.
    """
    index = np.zeros(len(f))
    heard = ~np.isnan(f)
    clamped = np.maximum(np.where(heard, f, 1.0), LOSS_FLOOR)
    favoured = clamped if high_loss else 1 / clamped
    best = max((float(favoured[i]) for i in range(len(f)) if heard[i]), default=0.0)
    factors = (np.where(heard, favoured, best), d, c / r, ages)
    for weight, factor in zip(weights, factors, strict=True):
        value = np.asarray(factor, np.float64)
        index = index + weight * (min_max(value) if normalise else value)  # Eq. (3)
    return index


def fill(
    queue: Sequence[int], cost: FloatArray, room: float, slack: float, stop_at_first: bool
) -> tuple[list[int], float]:
    """Return the clients of the queue that fit into the room, taken in order, and their total cost."""
    taken: list[int] = []
    used = 0.0
    for i in queue:
        if used + float(cost[i]) <= room + slack:
            taken.append(i)
            used += float(cost[i])
        elif stop_at_first:
            break
    return taken, used


def select(
    index: FloatArray,
    previous: BoolArray,
    cost: FloatArray,
    R: float,
    kappa: float,
    tie_break: FloatArray,
    *,
    work_conserving: bool = False,
    stop_at_first: bool = False,
    available: BoolArray | None = None,
) -> BoolArray:
    """Return the next selection (N,), lines 21 and 22; R is the budget of one round, in the unit of cost (N,).

    Only clients in available (N,) are selected; by default all are available.
    """
    there = [i for i in range(len(index)) if available is None or available[i]]
    order = [i for _, _, i in sorted((-float(index[i]), float(tie_break[i]), i) for i in there)]
    before = [i for i in order if previous[i]]
    others = [i for i in order if not previous[i]]
    slack = SLACK * R
    first, used = fill(before, cost, kappa * R, slack, stop_at_first)  # line 21
    if work_conserving:
        second, more = fill(others, cost, R - used, slack, stop_at_first)
        rest = [i for i in before if i not in first]
        third, _ = fill(rest, cost, R - used - more, slack, stop_at_first)
    else:
        second, _ = fill(others, cost, (1 - kappa) * R, slack, stop_at_first)  # line 22
        third = []
    mask = np.zeros(len(index), bool)
    mask[first + second + third] = True
    return mask


def age_step(ages: FloatArray, took_part: BoolArray) -> FloatArray:
    """Return the ages (N,) after a round."""
    return np.array([1.0 if took_part[i] else ages[i] + 1 for i in range(len(ages))])  # lines 14 and 18


def aggregation_weights(selected: BoolArray, d: FloatArray, alpha: FloatArray, mode: str = "self") -> FloatArray:
    """Return the weights (N,) of the clients' models, 0 for unselected ones; mode "self", "literal" or "dsize"."""
    if mode not in ("self", "literal", "dsize"):
        raise ValueError("mode must be 'self', 'literal' or 'dsize'")
    weights = np.zeros(len(d))
    for i in range(len(d)):
        if selected[i]:
            weights[i] = d[i] if mode == "dsize" else d[i] * alpha[i]
    total = float(np.sum(d)) if mode == "literal" else float(np.sum(weights))
    return weights / total if total > 0 else weights  # Eq. (8), line 13


def alpha_of_h(selected: BoolArray, d: FloatArray, alpha: FloatArray) -> float:
    """Return the factor alpha in h of Eq. (11) in the faithful reading; 1 if no client with data is selected."""
    if not np.any(d[selected]):
        return 1.0
    return float(np.sum(d[selected] * alpha[selected]) / np.sum(d[selected]))


def round_cost(
    selected: BoolArray, local_cost: FloatArray, global_cost: FloatArray, tau: int, how: str = "sum"
) -> FloatArray:
    """Return the cost (M,) of a round of tau steps: local_cost (N, M) a step, global_cost (M,) a transfer, twice.

    "sum" adds over the selected (N,), "max" takes the most expensive of them; without selected clients the cost is 0.
    """
    if how not in ("sum", "max"):
        raise ValueError("how must be 'sum' or 'max'")
    total = np.zeros(len(global_cost))
    for m in range(len(global_cost)):
        each = [float(local_cost[i, m]) * tau + 2 * float(global_cost[m]) for i in np.flatnonzero(selected)]
        if each:
            total[m] = sum(each) if how == "sum" else max(each)  # line 15
    return total


def stop_rule(
    spent: FloatArray,
    selected: BoolArray,
    local_cost: FloatArray,
    global_cost: FloatArray,
    tau: int,
    R: FloatArray,
    how: str = "sum",
    shrink: bool = False,
) -> tuple[int, bool]:
    """Return the next round's tau (0: no further round) and whether training ends after it; spent, R (M,)."""
    for shorter in range(tau, 0, -1):
        after = spent + round_cost(selected, local_cost, global_cost, shorter, how)
        if all(after[m] <= R[m] for m in range(len(R))):  # line 23
            return shorter, shorter < tau
        if not shrink:
            break
    return 0, True


def run(
    losses: FloatArray,
    d: FloatArray,
    c: FloatArray,
    r: FloatArray,
    R: float,
    kappa: float,
    tie_break: FloatArray,
    *,
    cost: FloatArray | None = None,
    index_weights: Sequence[float] = EQUAL_WEIGHTS,
    normalise: bool = True,
    high_loss: bool = False,
    work_conserving: bool = False,
    stop_at_first: bool = False,
    mode: str = "self",
    rescale: bool = True,
    available: BoolArray | None = None,
    returns: BoolArray | None = None,
) -> dict[str, NDArray[Any]]:
    """Run selection and weights through T rounds; losses (T, N) are read only where a client took part.

    tie_break (T, N): row t orders the choice made after round t, for round t + 1. cost (N,): default r as given.
    available (T, N): the available clients; returns (T, N): the clients that would return; by default all.

    Returns:
        (T, N) each: "selected" and "weights" in the round, "alpha" (with the ages before it), "age" and "loss" (last
        known; NaN: never heard) after it, and "priority", which decides the next round; "h_alpha" is (T,).
    """
    n_rounds, n_clients = losses.shape
    names = ("selected", "weights", "alpha", "age", "loss", "priority", "h_alpha")
    out: dict[str, list[Any]] = {name: [] for name in names}
    power, demand = (rescaled(c), rescaled(r)) if rescale else (c, r)
    price = r if cost is None else cost
    everybody = np.ones(losses.shape, bool)
    there = everybody if available is None else available
    would = everybody if returns is None else returns
    selected = there[0].copy()  # line 4
    ages, known = np.ones(n_clients), np.full(n_clients, np.nan)  # lines 3 and 2
    for t in range(n_rounds):
        alpha = contribution(power, demand, ages)
        back = selected & would[t]
        weights = aggregation_weights(back, d, alpha, mode)  # line 13
        for i in range(n_clients):
            if back[i] and not np.isnan(losses[t, i]):
                known[i] = losses[t, i]  # line 14, the loss
        ages = age_step(ages, back)  # lines 14 and 18
        index = priority(known, d, power, demand, ages, index_weights, normalise, high_loss)
        row = (selected, weights, alpha, ages, known.copy(), index, alpha_of_h(back, d, alpha))
        for name, value in zip(names, row, strict=True):
            out[name].append(value)
        selected = select(
            index,
            selected,
            price,
            R,
            kappa,
            tie_break[t],
            work_conserving=work_conserving,
            stop_at_first=stop_at_first,
            available=there[min(t + 1, n_rounds - 1)],  # the choice after the last round is not made
        )
    return {name: np.array(values) for name, values in out.items()}
