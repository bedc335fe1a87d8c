"""Refuse a study of absurdly many seeds: they are listed one by one, before anything runs."""

from jfed.core.errors import require

SEEDS = 1_000_000


def require_few(seeds: int) -> None:
    """Check that a number of seeds is not absurd.

    Args:
        seeds: number of seeds.

    Raises:
        ConfigError: it is.
    """
    require(seeds <= SEEDS, f"A study can have {SEEDS:,} seeds at most, found {seeds:,}.")
