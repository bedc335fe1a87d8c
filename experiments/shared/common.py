"""Parts that all experiment commands share: the command line and the output files."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from jfed.commands.hints import plain
from jfed.commands.mistakes import in_words, until_closed
from jfed.commands.output import Output as Output
from jfed.commands.output import show as show

S = TypeVar("S")


def _preset(arguments: Sequence[str], names: Sequence[str]) -> str:
    """Return the value of --preset, or the first name if there is none or an unknown one (tyro then reports it)."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--preset", default=names[0], nargs="?")
    chosen = parser.parse_known_args(arguments)[0].preset
    return chosen if chosen in names else names[0]


def program() -> str | None:
    """Return how the running module is called, `python -m experiments.NAME`; None if it was not called by its name."""
    spec = sys.modules["__main__"].__spec__
    return None if spec is None else f"python -m {spec.name}"


@until_closed()
def command(main: Callable[[S], None], settings: type[S] | Mapping[str, S]) -> None:
    """Run an experiment from the command line; a user's mistake ends it with one sentence.

    Args:
        main: the experiment, a function of its settings.
        settings: the dataclass of the settings, or presets by name. --preset chooses a preset (by default the first),
            which gives all flags their defaults.
    """
    try:
        import tyro
    except ImportError:
        sys.exit("The command line needs tyro: pip install tyro.")
    from jfed.runner.host import setup

    plain(settings if isinstance(settings, type) else type(next(iter(settings.values()))))
    prog, description = program(), sys.modules["__main__"].__doc__
    if isinstance(settings, Mapping):
        default = settings[_preset(sys.argv[1:], list(settings))]
        chosen = tyro.cli(type(default), prog=prog, default=default, description=description)
    else:
        chosen = tyro.cli(settings, prog=prog, description=description)
    setup()
    with in_words(getattr(chosen, "load", ())):
        main(chosen)
