"""Whole runs of adaptive tau, round by round, with the readings of `adaptive_tau`."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .adaptive_tau import (
    Batches,
    FloatArray,
    Gradient,
    IntArray,
    Loss,
    divergence,
    local_beta,
    local_rho,
    search,
    smooth,
    spend,
    stop_rule,
    svm_gradient,
    svm_loss,
    weighted_mean,
    weighted_vector,
)


class Client:
    """One client with its current minibatch, the number of its uses, and the end point of its last round."""

    def __init__(self, number: int, x: FloatArray, y: FloatArray, loss: Loss, gradient: Gradient) -> None:
        self.number, self.x, self.y, self.loss, self.gradient = number, x, y, loss, gradient
        self.rows: IntArray | None = None
        self.uses = 0
        self.end: tuple[FloatArray, float, FloatArray] | None = None  # model, loss, gradient

    def play(
        self, t: int, w: FloatArray, w_best: FloatArray | None, tau: int, batches: Batches, eta: float, reuse: int
    ) -> dict[str, Any]:
        """Play round t: tau local steps from the global model w (P,).

        Returns:
            The local model "w"; on the batch of step 1 "loss" and "gradient" at the global model and "loss_best" at
            w_best (NaN without one); "rho" and "beta" (NaN in the first round).
        """
        answer: dict[str, Any] = {"rho": math.nan, "beta": math.nan, "loss_best": math.nan}
        local = w
        for step in range(tau):
            worn_out = tau <= 1 and self.uses >= reuse
            if step > 0 or self.rows is None or worn_out:
                self.rows, self.uses = batches(t, self.number, step), 0
            self.uses += 1
            x, y = self.x[self.rows], self.y[self.rows]
            gradient = self.gradient(local, x, y)
            if step == 0:
                answer["loss"], answer["gradient"] = self.loss(w, x, y), gradient
                if w_best is not None:
                    answer["loss_best"] = self.loss(w_best, x, y)
            local = local - eta * gradient
        if self.end is not None:
            w_end, loss_end, grad_end = self.end
            answer["rho"] = local_rho(loss_end, answer["loss"], w_end, w)
            answer["beta"] = local_beta(grad_end, answer["gradient"], w_end, w)
        x, y = self.x[self.rows], self.y[self.rows]
        self.end = local, self.loss(local, x, y), self.gradient(local, x, y)
        answer["w"] = local
        return answer


def run(
    x: FloatArray,
    y: FloatArray,
    w0: FloatArray,
    D: FloatArray,
    batches: Batches,
    local_cost: FloatArray,
    global_cost: FloatArray,
    R: FloatArray,
    *,
    eta: float,
    phi: float,
    return_best: bool = True,
    tau_max: int = 100,
    gamma: int = 10,
    hold: float = 0.0,
    reuse: int = 3,
    after_nan: str = "restore",
    loss: Loss = svm_loss,
    gradient: Gradient = svm_gradient,
) -> dict[str, NDArray[Any]]:
    """Run all rounds until the budgets R (M,) are used up, on given draws.

    Args:
        x, y: pooled data, (n, P) and (n,).
        w0: first global model (P,).
        D: client weights (N,).
        batches: function of (t, i, step) that returns indices into the data; called only where a new batch is drawn.
        local_cost: cost of every local step (T, tau_max, M); T must be long enough.
        global_cost: cost of every aggregation (T, M).
        R, eta, phi, return_best, tau_max, gamma, hold, reuse, after_nan: as in `adaptive_tau`.
        loss, gradient: functions of (w, x, y).

    Returns:
        For each round "tau"; "spent" (T, M) after it; "c" and "b" (T, M); the global "rho", "beta" and "delta" (NaN
        until first estimated); "rho_i", "beta_i" and "delta_i" (T, N); "loss" of the model sent out; "loss_best" of
        the best one so far; "w" (T, P) after it. For the run "w_best" and the returned model "w_out", (P,) each.
    """
    if after_nan not in ("restore", "search"):
        raise ValueError("after_nan must be 'restore' or 'search'")
    names = ("tau", "spent", "c", "b", "rho", "beta", "delta", "rho_i", "beta_i", "delta_i", "loss", "loss_best", "w")
    out: dict[str, list[Any]] = {name: [] for name in names}
    clients = [Client(i, x, y, loss, gradient) for i in range(len(D))]
    w, tau, spent = np.array(w0, np.float64), 1, np.zeros(len(R))
    rho, beta, delta = math.nan, math.nan, math.nan
    w_best: FloatArray | None = None
    loss_best = math.inf
    costs: tuple[FloatArray, FloatArray] | None = None  # c and b of the round before
    resume: int | None = None
    evaluation_next, last_round = False, False
    t = 0
    while True:
        if t >= len(global_cost):
            raise ValueError("more rounds than cost draws")
        with np.errstate(over="ignore", invalid="ignore"):
            answers = [client.play(t, w, w_best, tau, batches, eta, reuse) for client in clients]
            average = weighted_vector([a["w"] for a in answers], D)
            _, delta_i, delta_now = divergence([a["gradient"] for a in answers], D)
        failed = bool(np.any(np.isnan(average)))

        # The best model so far; only models that have been sent out are evaluated.
        loss_now = weighted_mean([a["loss"] for a in answers], D)
        if w_best is not None:
            loss_best = weighted_mean([a["loss_best"] for a in answers], D)
        if loss_now < loss_best:
            w_best, loss_best = w, loss_now
        if not failed:
            w = average

        # The next tau.
        if failed:
            resume = tau if resume is None else resume
            tau_new = 1
        else:
            tau_new = tau
            if t > 0 and costs is not None:
                rho = smooth(rho, weighted_mean([a["rho"] for a in answers], D), hold)
                beta = smooth(beta, weighted_mean([a["beta"] for a in answers], D), hold)
                delta = smooth(delta, delta_now, hold)
                tau_new = search(
                    tau,
                    rho,
                    beta,
                    delta,
                    *costs,
                    R,
                    eta,
                    phi,
                    tau_max=tau_max,
                    gamma=gamma,
                    return_best=return_best,
                )
            if resume is not None and after_nan == "restore":
                tau_new = resume
            resume = None

        # Resources and the end.
        c = np.mean(local_cost[t, :tau], axis=0)
        b = np.asarray(global_cost[t], np.float64)
        costs = c, b
        spent = spend(spent, tau, c, b)
        row = (tau, spent, c, b, rho, beta, delta)
        row += ([a["rho"] for a in answers], [a["beta"] for a in answers], delta_i, loss_now, loss_best, w)
        for name, value in zip(names, row, strict=True):
            out[name].append(value)
        if last_round:
            break
        tau, ends = stop_rule(spent, tau_new, c, b, R, return_best)
        if evaluation_next:
            tau, last_round = 1, True
        elif ends and return_best:
            evaluation_next = True
        elif ends:
            last_round = True
        t += 1
    history = {name: np.array(values) for name, values in out.items()}
    history["w_best"] = w if w_best is None else w_best
    history["w_out"] = history["w_best"] if return_best else w
    return history
