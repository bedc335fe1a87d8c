"""Settings and numbers in words."""

from typing import Any

MOST_VALUES = 8  # of a sequence that is written out


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
