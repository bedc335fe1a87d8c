"""Numbers as text: short, but never rounded across a threshold that matters."""

import math


def format_p(p: float, alpha: float = 0.05) -> str:
    """Return a p-value with two significant digits, "<1e-4" if it is smaller, and "" for NaN.

    More digits appear where rounding would move it across `alpha` (0.04996 is not "0.050") or to 1.
    """
    if math.isnan(p):
        return ""
    if p < 1e-4:
        return "<1e-4"
    for digits in range(2, 17):
        text = f"{p:#.{digits}g}"
        if (float(text) < alpha) == (p < alpha) and float(text) < 1:
            return text
    return "1"


def decimals_for(scales: list[float]) -> int:
    """Return how many decimals show two digits of the smallest finite positive scale, 0 to 12; 3 if there is none."""
    usable = [scale for scale in scales if math.isfinite(scale) and scale > 0]
    if not usable:
        return 3
    return min(12, max(0, 1 - math.floor(math.log10(min(usable)))))


def format_number(value: float, decimals: int) -> str:
    """Return a number with fixed decimals, one digit if it would round to 0, four if it is very large; "" for NaN."""
    if math.isnan(value):
        return ""
    if abs(value) >= 1e12:
        return f"{value:.4g}"
    if value != 0 and round(value, decimals) == 0:
        return f"{value:.1g}"
    return f"{value:.{decimals}f}"


def format_interval(low: float, high: float, decimals: int) -> str:
    """Return `[low, high]`; "" for NaN."""
    if math.isnan(low):
        return ""
    return f"[{format_number(low, decimals)}, {format_number(high, decimals)}]"


def format_seeds(seeds: tuple, most: int = 8) -> str:
    """Return a list of seeds as text, of which at most `most` are named."""
    shown = ", ".join(map(str, seeds[:most]))
    rest = len(seeds) - most
    return f"{shown} and {rest} more" if rest > 0 else shown
