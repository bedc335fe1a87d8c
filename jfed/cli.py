"""The command `jfed`, whose subcommands are the files of `jfed.commands`.

The published experiments are separate commands: `python -m experiments.NAME`.
"""

import sys
from typing import Annotated

import tyro
from rich.console import Console

from jfed.commands import check, claims, data, export, run, show, studyfile, table, variance
from jfed.commands.mistakes import in_words
from jfed.core.version import __version__

DESCRIPTION = """Experiments on client selection in federated learning.

Shell completion: source <(jfed --tyro-print-completion bash); also zsh, tcsh"""


def main() -> None:
    """Run the command `jfed`."""
    if sys.argv[1:] == ["--version"]:
        print(f"jfed {__version__}")
        return
    with in_words():
        file = studyfile.asked(sys.argv[2:]) if sys.argv[1:2] == ["run"] else None
        study = run.Settings() if file is None else studyfile.read(file)
    commands = (
        Annotated[show.Settings, tyro.conf.subcommand("list")]
        | Annotated[run.Settings, tyro.conf.subcommand("run", default=study)]
        | Annotated[data.Settings, tyro.conf.subcommand("data")]
        | Annotated[table.Settings, tyro.conf.subcommand("table")]
        | Annotated[variance.Settings, tyro.conf.subcommand("variance")]
        | Annotated[export.Settings, tyro.conf.subcommand("export")]
        | Annotated[claims.Settings, tyro.conf.subcommand("claims")]
        | Annotated[check.Settings, tyro.conf.subcommand("check")]
    )
    if sys.argv[1:2] == ["export"] and any(word.split("=")[0] == "--to" for word in sys.argv):
        sys.exit(f"error: Results are named without a flag, and the file to write with --out: {export.USAGE}.")
    chosen = tyro.cli(
        commands,
        prog="jfed",
        description=DESCRIPTION,
        config=(tyro.conf.OmitArgPrefixes, tyro.conf.OmitSubcommandPrefixes),  # `data get`, not `data action:get`
    )
    with in_words(getattr(chosen, "load", ())):
        {m.Settings: m for m in (show, run, data, table, variance, export, claims, check)}[type(chosen)].main(
            chosen, Console()
        )


if __name__ == "__main__":
    main()
