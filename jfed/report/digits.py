"""Numbers of comparisons as text, without the noise that rounding to 32 bits leaves of equal scores."""

from jfed.stats import numerals

ROUNDING = 2.0**-22  # of the scores: twice what two rounded numbers can differ by


def is_noise(value: float, *scores: float) -> bool:
    """Return whether a difference or spread of scores of this size may come from rounding; False for NaN."""
    return abs(value) <= ROUNDING * max(map(abs, scores), default=0.0)


def without_noise(value: float, decimals: int, *scores: float) -> float:
    """Return 0 for noise of these scores that the decimals do not show, and other values as they are."""
    return 0.0 if is_noise(value, *scores) and round(value, decimals) == 0 else value


def format_p(p: float, alpha: float = 0.05) -> str:
    """Return a p-value as `numerals.format_p` does, but ">0.99" between that and 1."""
    return ">0.99" if max(0.99, alpha) < p < 1 else numerals.format_p(p, alpha)
