"""Rows of CS-UCB's runs: times, failures, gaps to both references, and promises kept."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

import jfed
from jfed.config import Config
from jfed.measures.optimum import best_under_quotas, mean_of_smallest, smallest_mean
from jfed.measures.quotas import last_broken
from jfed.results.load import company, schemes

BEST = "cs-ucb-best"
LOOKS = (50, 200, 1000, 5000)  # rounds after which the gap is compared


def base(results: xr.Dataset, experiment: str) -> pd.DataFrame:
    """Return the columns that the rows of all studies share; times are in seconds."""
    names = [name for name in ("model_bits", "num_channels", "rho") if name in results.coords]
    columns = {
        "experiment": experiment,
        "scheme": schemes(results),
        **{name: results[name].values for name in (*names, "seed")},
        "num_rounds": results.sizes["round"],
        "time": results["round_time_s"].values.astype(float).sum(1),
        "failed": (results["num_selected"].values - results["num_succeeded"].values).sum(1),
        **company(results),
    }
    return pd.DataFrame(columns)


def gaps(results: xr.Dataset, expected_s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the cumulative gaps to the paper's reference and to the best super arm on the same draws, (runs, rounds).

    Args:
        results: runs of one (m_0, N) of the ideal study.
        expected_s: mean time of each client, for each seed in rising order, (seeds, K).
    """
    spent = np.cumsum(results["round_time_s"].values.astype(float), 1)
    seeds, methods = results["seed"].values.tolist(), results["method"].values.astype(str)
    n = int(results["num_channels"].values[0])
    slowest = dict(zip(sorted(set(seeds)), np.sort(expected_s, axis=1)[:, n - 1], strict=True))
    best = {seed: row for seed, row, name in zip(seeds, spent, methods, strict=True) if name == BEST}
    gap = spent - np.array([slowest[seed] for seed in seeds])[:, None] * results["round"].values
    return gap, spent - np.array([best[seed] for seed in seeds])


def ideal(results: xr.Dataset, gap: np.ndarray, regret: np.ndarray) -> pd.DataFrame:
    """Return the rows of one setting of the ideal study.

    `regret_late` is the regret of the second half of the rounds, `regret_early` that of the second quarter.
    """
    horizon = results.sizes["round"]
    at = {f"gap_{look}": gap[:, look - 1] if look <= horizon else np.nan for look in LOOKS}
    start = np.pad(regret, ((0, 0), (1, 0)))  # 0 before the first round
    half, quarter = start[:, horizon // 2], start[:, horizon // 4]
    late, early = regret[:, -1] - half, half - quarter
    return base(results, "cs_ucb_channels").assign(
        **at, gap=gap[:, -1], regret=regret[:, -1], regret_late=late, regret_early=early
    )


def references(config: Config, quotas: Sequence[float], seeds: Sequence[int]) -> pd.DataFrame:
    """Return each seed's seconds per round by the program (23), with the paper's rewards and with honest ones."""
    world, drawn, rows = config.environment, jfed.outcomes(config, seeds), []
    available = [world.availability] * config.num_clients
    for seed, latency, mean in zip(seeds, drawn.latency_s, drawn.expected_latency_s[:, 0], strict=True):
        rewards = (smallest_mean(1 - mean / world.tau_max_s), mean_of_smallest(1 - latency / world.tau_max_s))
        best = [best_under_quotas(reward, available, quotas, config.cohort_size) for reward in rewards]
        paper, honest = (world.tau_max_s * (1 - value) for value in best)
        rows.append({"seed": seed, "paper_s": paper, "honest_s": honest, "slowest_client": int(mean.argmax()) + 1})
    return pd.DataFrame(rows)


def quota(results: xr.Dataset, rate: np.ndarray, quotas: Sequence[float], known: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one m_0 of the study of quotas; `rate` is each client's share of the rounds so far.

    `slack` is the smallest excess of a client's rate over its quota after T rounds, `slack_1` that of client 1, and
    `last_violation` the last round after which any client's rate so far is below its quota.
    """
    frame = base(results, "cs_ucb_q_numerical").merge(known, on="seed", how="left", validate="many_to_one")
    slack = rate[:, -1] - np.array(quotas)
    return frame.assign(
        gap=frame["time"] - frame["num_rounds"] * frame["paper_s"],
        regret=frame["time"] - frame["num_rounds"] * frame["honest_s"],
        slack=slack.min(1),
        slack_1=slack[:, 0],
        last_violation=last_broken(rate, quotas).max(1),
    )
