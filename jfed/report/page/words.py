"""Names of scores, settings and numbers in words, with their units."""

from typing import Any

from jfed.results.meaning import described

MOST_VALUES = 8  # of a sequence that is written out
SCORES = {
    "num_succeeded": "models returned to the server, all rounds",
    "expected_succeeded": "expected number of models returned, all rounds",
    "round_time_s": "simulated time of all rounds, s",
    "test_accuracy": "test accuracy after the last round",
    "test_loss": "test loss after the last round",
    "jain": "Jain's index of selections",
}


def score_name(metric: str) -> str:
    """Return a score in words, with its unit; the name itself for one that jfed does not know."""
    if metric in SCORES:
        return SCORES[metric]
    about = described(metric)
    if not about:
        return metric
    return about["long_name"] + ("" if about["units"] == "1" else f", {about['units']}")


def capital(text: str) -> str:
    """Return a text with a capital first letter."""
    return text[:1].upper() + text[1:]


def number(value: Any) -> str:
    """Return a setting's value as text: numbers without needless digits, sequences with commas, None as "none"."""
    if isinstance(value, bool) or value is None:
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, list | tuple) and len(value) > MOST_VALUES:
        return f"{number(value[:3])}, …, {number(value[-1])} ({len(value)} values)"
    if isinstance(value, list | tuple):
        return ", ".join(map(number, value)) or "none"
    try:
        return str(value) if isinstance(value, str) else f"{float(value):.6g}"
    except (TypeError, ValueError):
        return str(value)


def seconds(value: float) -> str:
    """Return a duration in words."""
    if value < 120:
        return f"{value:.3g} s"
    minutes, left = divmod(round(value), 60)
    return f"{minutes} min {left} s" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def amount(count: int, what: str) -> str:
    """Return a number of things: "1 seed", "2 seeds"."""
    return f"{count:,} {what}{'' if count == 1 else 's'}".replace(",", " ")
