"""The command `jfed`, whose subcommands are the files of `jfed.commands`.

The published experiments are separate commands: `python -m experiments.NAME`.
"""

import sys
from typing import Annotated

import tyro
from rich.console import Console

from jfed.commands import check, claims, data, export, report, run, show, table, variance
from jfed.commands.mistakes import in_words
from jfed.core.version import __version__


def main() -> None:
    """Run the command `jfed`."""
    commands = (
        Annotated[show.Settings, tyro.conf.subcommand("list")]
        | Annotated[run.Settings, tyro.conf.subcommand("run")]
        | Annotated[data.Settings, tyro.conf.subcommand("data")]
        | Annotated[table.Settings, tyro.conf.subcommand("table")]
        | Annotated[report.Settings, tyro.conf.subcommand("report")]
        | Annotated[variance.Settings, tyro.conf.subcommand("variance")]
        | Annotated[export.Settings, tyro.conf.subcommand("export")]
        | Annotated[claims.Settings, tyro.conf.subcommand("claims")]
        | Annotated[check.Settings, tyro.conf.subcommand("check")]
    )
    if sys.argv[1:] == ["--version"]:
        print(f"jfed {__version__}")
        return
    if sys.argv[1:2] == ["export"] and any(word.split("=")[0] == "--to" for word in sys.argv):
        sys.exit(f"error: Results are named without a flag, and the file to write with --out: {export.USAGE}.")
    chosen = tyro.cli(
        commands,
        prog="jfed",
        description="Experiments on client selection in federated learning.",
        config=(tyro.conf.OmitArgPrefixes, tyro.conf.OmitSubcommandPrefixes),  # `data get`, not `data action:get`
    )
    with in_words(getattr(chosen, "load", ())):
        {m.Settings: m for m in (show, run, data, table, report, variance, export, claims, check)}[type(chosen)].main(
            chosen, Console()
        )


if __name__ == "__main__":
    main()
