"""`jfed work`: one of several processes, on any machines, that compute a study in one directory."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from tyro.conf import arg

from jfed.commands import studyfile
from jfed.commands.flags import Results
from jfed.core.errors import ConfigError, require


@dataclass(frozen=True)
class Settings:
    """Compute those runs of a study that nobody has computed and no other process is computing.

    Start it any number of times, at the same time, on machines that see the folder. Then `jfed run --config
    OUT/study.toml` prints the tables.

    Attributes:
        study: folder of the results with the study.toml of `jfed run` or `jfed submit`, or such a file.
        shard: number of this process of how many, such as 3/100: where it begins, so that processes seldom meet. With
            pod, jax.distributed says it, as on the hosts of a TPU pod.
        minutes: stop cleanly after this time; the same command resumes the work.
    """

    study: Annotated[tyro.conf.Positional[Path], arg(metavar="OUT")]
    shard: str = "1/1"
    minutes: float | None = None


def main(settings: Settings, console: Console) -> None:
    """Compute what is left, and print how much that was."""
    from jfed.catalog import load_file
    from jfed.commands import run
    from jfed.runner.executors.shared import work
    from jfed.runner.host import setup

    file = file_of(settings.study)
    study = studyfile.read(file)
    if settings.study.is_dir():
        study = studyfile.changed(study, out=file.parent)
    require(
        study.results.out != Results().out or "out" in studyfile.named(file),
        f'{file} does not say where results are to be written: add a line such as out = "/shared/out", so that all'
        " processes and `jfed run --config` use the same folder.",
    )
    for path in study.load:
        load_file(path)
    setup()  # before jax.distributed, which uses jax
    shard = _shard(settings.shard)
    require(not study.amount.until_decided, "--until-decided looks at results as it goes: use `jfed run --on` for it.")
    asked = run.asked(study if settings.minutes is None else studyfile.changed(study, minutes=settings.minutes))
    computed, others = work(asked.points, asked.seeds, study.results.out, asked.layout, study.training.data_dir, shard)
    left = f"; {others} of others are not finished yet" if others else ": all are finished"
    console.print(f"{computed} runs computed here{left}.", highlight=False)


def file_of(path: Path) -> Path:
    """Return the file of a study, given itself or its folder.

    Raises:
        ConfigError: there is none.
    """
    file = path / studyfile.NAME if path.is_dir() else path
    require(file.is_file(), f"There is no {file}: `jfed run` and `jfed submit` write it.")
    return file


def _shard(text: str) -> tuple[int, int]:
    """Return the shard that a text names; "pod" connects this process with the others first."""
    if text == "pod":
        import jax

        try:
            jax.distributed.initialize()
        except (RuntimeError, ValueError) as error:
            raise ConfigError(
                f"--shard pod needs what jax.distributed.initialize needs: {str(error).rstrip('.')}."
            ) from error
        shard = jax.process_index() + 1, jax.process_count()
        jax.distributed.shutdown()  # units need nobody else: a process that ends must not end the others
        return shard
    number, slash, many = text.partition("/")
    if not (slash and number.isdecimal() and many.isdecimal()):
        raise ConfigError(f"--shard is a number of how many, such as 3/100, or pod, found {text}.")
    return int(number), int(many)
