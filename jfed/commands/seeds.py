"""The flag --seeds as all commands take it: how many seeds, which ones, or a range of them."""

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any

from jfed.core.errors import ConfigError, require
from jfed.core.most import require_few

HOW = "give how many (30), which ones (0 1 5) or a range (0:30)"


def _read(words: Sequence[str]) -> Any:
    """Return one word as a number if it is one, and several words as they stand: `listed` judges them."""
    return tuple(words) if len(words) != 1 else int(words[0]) if words[0].isdecimal() else words[0]


def _write(seeds: Any) -> list[str]:
    return [str(seed) for seed in seeds] if isinstance(seeds, tuple) else [str(seeds)]


def _words() -> Any:
    """Return how tyro reads the flag; None on a machine without tyro, which has no command line."""
    try:
        from tyro.constructors import PrimitiveConstructorSpec
    except ImportError:
        return None
    return PrimitiveConstructorSpec("*", "N | SEED SEED ... | FROM:TO", _read, lambda given: True, _write)


Seeds = Annotated[int | str | tuple[Any, ...] | None, _words()]
"""The type of the flag: a number of seeds, a range as text, several seeds, or None for a preset's."""


def listed(given: int | str | Sequence[int | str] | None) -> list[int]:
    """Return the seeds that --seeds names, in rising order: N are those from 0, and FROM:TO ends before TO.

    Raises:
        ConfigError: there is none, one is no whole number or negative, or one is named twice.
    """
    said = f"--seeds {' '.join(_write(given if isinstance(given, int | str) else tuple(given or ())))}".strip()
    if isinstance(given, int | str) and ":" not in str(given):
        count = _whole(given, said)
        require(count >= 1, f"{said} asks for no seed: {HOW}.")
        require_few(count)
        return list(range(count))
    ranges = [_range(one, said) for one in ([given] if isinstance(given, str) else given or ())]  # type: ignore[union-attr]
    require_few(sum(max(0, one.stop - one.start) for one in ranges))
    found = list(itertools.chain(*ranges))
    require(bool(found), f"{said} names no seed: {HOW}.")
    require(min(found) >= 0, f"{said} names a negative seed: {HOW}.")
    twice = [seed for seed, times in Counter(found).items() if times > 1]
    require(not twice, f"{said} names seed {', '.join(map(str, twice))} twice: name each once.")
    return sorted(found)


def _range(one: int | str, said: str) -> range:
    first, colon, end = str(one).partition(":")
    start = _whole(first, said)
    return range(start, _whole(end, said) if colon else start + 1)


def _whole(word: int | str, said: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise ConfigError(f"{said} is no number of seeds: {HOW}.") from None


def require_tune_seeds(tune_seeds: Sequence[int], seeds: Sequence[int], axes: Sequence[str]) -> None:
    """Check that tune seeds are some of the seeds, but not all, and that there is a sweep to tune.

    Raises:
        ConfigError: there are tune seeds but no axes, some are not run, or none is left to report.
    """
    require(
        bool(axes) or not tune_seeds,
        "--tune-seeds are for choosing among the schemes' settings: name them with --sweep.",
    )
    some = f"--tune-seeds must be some of the {len(seeds)} seeds"
    strange = ", ".join(str(seed) for seed in tune_seeds if seed not in set(seeds))
    span = f"{seeds[0]} to {seeds[-1]}" if list(seeds) == [*range(seeds[0], seeds[-1] + 1)] else str([*seeds])[1:-1]
    require(not strange, f"{some} ({span}), found {strange}: choose others, or raise --seeds.")
    require(len(set(tune_seeds)) < len(seeds), f"{some}, not all of them: name fewer, or raise --seeds.")
