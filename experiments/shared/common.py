"""Parts that all experiment commands share: the command line and the output files."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console

from jfed.analysis import Table, save, to_terminal, write
from jfed.catalog import load_file
from jfed.core.errors import ConfigError, Unfinished

S = TypeVar("S")


@dataclass(frozen=True)
class Output:
    """The output folder of a command, and the tables and figures that it has written there.

    Attributes:
        out: the output folder.
        files: the written files, in the order of writing.
    """

    out: Path
    files: list[Path] = field(default_factory=list)

    def table(self, table: Table, stem: str) -> None:
        """Write a table as CSV, Markdown and LaTeX."""
        self.files.extend(write(table, self.out / "tables", stem).values())

    def figure(self, figure: Any, stem: str) -> None:
        """Write a figure as PNG and PDF."""
        self.files.extend(save(figure, self.out / "figures", stem))

    def tell(self, console: Console, results: Sequence[Path] = ()) -> None:
        """Print where the files are; `results` names the folders of results, by default `out`."""
        console.print()
        for folder in results or [self.out]:
            console.print(f"Results  {folder / 'results'}  (read them with jfed.load({str(folder)!r}))")
        for kind in ("tables", "figures"):
            stems = sorted({f.stem for f in self.files if f.parent.name == kind})
            endings = sorted({f.suffix for f in self.files if f.parent.name == kind})
            if stems:
                console.print(f"{kind.capitalize():8} {self.out / kind}/{{{','.join(stems)}}}{{{','.join(endings)}}}")


def show(table: Table, console: Console) -> None:
    """Print a table after an empty line."""
    console.print()
    to_terminal(table, console)


def _preset(arguments: Sequence[str], names: Sequence[str]) -> str:
    """Return the value of --preset, or the first name if it is missing or unknown (tyro then reports it)."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--preset", default=names[0])
    chosen = parser.parse_known_args(arguments)[0].preset
    return chosen if chosen in names else names[0]


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

    description = sys.modules["__main__"].__doc__
    if isinstance(settings, Mapping):
        default = settings[_preset(sys.argv[1:], list(settings))]
        chosen = tyro.cli(type(default), default=default, description=description)
    else:
        chosen = tyro.cli(settings, description=description)
    setup()
    try:
        for path in getattr(chosen, "load", ()):
            load_file(path)
        main(chosen)
    except (ConfigError, FileNotFoundError) as error:
        sys.exit(f"error: {error}")
    except Unfinished as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        print("\nStopped. Finished work is kept: run the same command again to resume.", file=sys.stderr)
        sys.exit(130)
