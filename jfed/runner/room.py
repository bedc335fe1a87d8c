"""Refuse a run that this machine's memory cannot hold, before anything of it is made."""

import psutil

from jfed.config import Config
from jfed.core.errors import require

OF_A_ROUND = 48  # bytes at least: results, and the copy that joins their parts
OF_A_CLIENT = 32  # bytes at least: rates, counters and a state


def least(config: Config, record_selected: bool = False) -> int:
    """Return a number of bytes that a run needs in any case.

    Args:
        config: settings of the run.
        record_selected: whether the cohort of every round is kept, a bit for each client.
    """
    of_cohorts = config.num_rounds * config.num_clients // 8 if record_selected else 0
    return OF_A_ROUND * config.num_rounds + OF_A_CLIENT * config.num_clients + of_cohorts


def total() -> float:
    """Return the bytes of memory that this machine has."""
    return psutil.virtual_memory().total


def require_room(config: Config, record_selected: bool = False) -> None:
    """Check that memory can hold a run, on a machine that has nothing else to do.

    Args:
        config: settings of the run.
        record_selected: whether the cohort of every round is kept.

    Raises:
        ConfigError: it cannot.
    """
    need, have = least(config, record_selected), total()
    require(
        need <= have,
        f"A run of {config.num_rounds:,} rounds with {config.num_clients:,} clients needs at least {need / 1e9:,.0f} GB"
        f" of memory, and this machine has {have / 1e9:,.0f} GB: take fewer rounds or clients.",
    )
