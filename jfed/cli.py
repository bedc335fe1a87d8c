"""The command `jfed`, whose subcommands are the files of `jfed.commands`.

The published experiments are separate commands: `python -m experiments.NAME`.
"""

import sys
from typing import Annotated, Any, Union

import tyro
from rich.console import Console

from jfed.commands import (
    check,
    claims,
    data,
    diff,
    export,
    listing,
    merge,
    plot,
    report,
    run,
    show,
    studyfile,
    submit,
    table,
    variance,
    work,
)  # fmt: skip
from jfed.commands.hints import plain
from jfed.commands.mistakes import in_words, until_closed
from jfed.core.version import __version__

DESCRIPTION = """Experiments on client selection in federated learning.

Shell completion: source <(jfed --tyro-print-completion bash); also zsh, tcsh"""
COMMANDS: dict[str, Any] = {
    "list": listing, "run": run, "data": data, "show": show, "table": table, "plot": plot, "report": report,
    "diff": diff, "variance": variance, "export": export, "claims": claims, "check": check, "submit": submit,
    "work": work, "merge": merge,
}  # fmt: skip


@until_closed()
def main() -> None:
    """Run the command `jfed`."""
    if sys.argv[1:] == ["--version"]:
        print(f"jfed {__version__}")
        return
    if sys.argv[1:2] == ["export"] and any(word.split("=")[0] == "--to" for word in sys.argv):
        sys.exit(f"error: Results are named without a flag, and the file to write with --out: {export.USAGE}.")
    with in_words():
        file = studyfile.asked(sys.argv[2:]) if sys.argv[1:2] == ["run"] else None
        defaults = {"run": run.Settings() if file is None else studyfile.read(file)}
    for module in COMMANDS.values():
        plain(module.Settings)
    each = [
        Annotated[module.Settings, tyro.conf.subcommand(name, default=defaults.get(name, tyro.MISSING_NONPROP))]
        for name, module in COMMANDS.items()
    ]
    chosen: Any = tyro.cli(
        Union[tuple(each)],  # type: ignore[arg-type]  # noqa: UP007
        prog="jfed",
        description=DESCRIPTION,
        config=(tyro.conf.OmitArgPrefixes, tyro.conf.OmitSubcommandPrefixes),  # `data get`, not `data action:get`
    )
    with in_words(getattr(chosen, "load", ())):
        mains = {module.Settings: module.main for module in COMMANDS.values()}
        mains[type(chosen)](chosen, Console())


if __name__ == "__main__":
    main()
