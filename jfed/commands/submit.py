"""`jfed submit`: a study as an array of Slurm's jobs."""

import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from rich.console import Console
from tyro.conf import arg

from jfed.commands import studyfile
from jfed.commands.work import Settings as Shard
from jfed.commands.work import main as compute
from jfed.core.errors import ConfigError, extra, require

FOLDER, AGAIN = "jobs", 1000  # a job is started so many times again after its time limit


@dataclass(frozen=True)
class Settings:
    """Submit a study to Slurm, as an array of jobs that compute it together; each is a `jfed work`.

    Attributes:
        study: file with the flags of `jfed run`, such as a study.toml.
        out: folder of results, which all machines see; by default that of the file.
        array: number of jobs.
        cluster: slurm, or local for processes on this machine.
        minutes: time limit of a job; what is unfinished then is submitted again.
        gpus: GPUs of a job.
        cpus: cores of a job.
        slurm: further settings of a job by their names in submitit, such as slurm_partition=gpu mem_gb=32.
    """

    study: Annotated[tyro.conf.Positional[Path], arg(metavar="FILE")]
    out: Path | None = None
    array: int = 10
    cluster: Literal["slurm", "local"] = "slurm"
    minutes: int = 240
    gpus: int = 0
    cpus: int = 4
    slurm: tuple[str, ...] = ()


class Job:
    """A job, which computes what is left; when its time is over, Slurm starts it again."""

    def __init__(self, out: Path) -> None:
        """Take the folder of results."""
        self._out = out

    def __call__(self, shard: str) -> None:
        """Compute what is left, beginning with a shard."""
        compute(Shard(self._out, shard), Console())

    def checkpoint(self, shard: str) -> Any:
        """Return what Slurm is to start again; checkpoints are in the folder of results already."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self, shard)


def main(settings: Settings, console: Console) -> None:
    """Write the study's file beside the results, submit the jobs, and print what to do then."""
    from jfed.catalog import load_file
    from jfed.commands import run
    from jfed.results import store
    from jfed.runner.units import ask

    study = studyfile.read(settings.study)
    for name, least in (("array", 1), ("minutes", 1), ("gpus", 0), ("cpus", 1)):
        require(
            getattr(settings, name) >= least, f"--{name} must be at least {least}, found {getattr(settings, name)}."
        )
    further = dict(map(_setting, settings.slurm))
    with extra("slurm"):
        import submitit
    out = (settings.out or study.results.out).resolve()
    for path in study.load:
        load_file(path)
    asked = run.asked(study)
    ask(asked.points, asked.seeds, asked.layout, study.training.data_dir)  # refuses what cannot be run
    require(not asked.looks, "--until-decided looks at results as it goes: use `jfed run --on` for it.")
    slurm = settings.cluster == "local" or shutil.which("sbatch") is not None
    require(slurm, "There is no Slurm here: sbatch is not found.")
    store.prepare(out)
    file = studyfile.write(studyfile.changed(study, out=out))
    shards = [f"{number}/{settings.array}" for number in range(1, settings.array + 1)]
    try:
        executor = submitit.AutoExecutor(out / FOLDER / "%j", cluster=settings.cluster, slurm_max_num_timeout=AGAIN)
        executor.update_parameters(
            name=out.name, timeout_min=settings.minutes, cpus_per_task=settings.cpus, gpus_per_node=settings.gpus,
            tasks_per_node=1, **further,
        )  # fmt: skip
        jobs = executor.map_array(Job(out), shards)
    except (RuntimeError, ValueError, TypeError, NameError, NotImplementedError, OSError) as error:
        raise ConfigError(f"The jobs cannot be submitted: {str(error).rstrip('.')}.") from error
    for line in (
        f"{len(jobs)} jobs, {jobs[0].job_id} to {jobs[-1].job_id}; what they say is in {out / FOLDER}",
        f"What is done:  jfed show {shlex.quote(str(out))}",
        f"Tables, later: jfed run --config {shlex.quote(str(file))}",
    ):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def _setting(text: str) -> tuple[str, Any]:
    """Return the name and the value of a setting; what reads as a whole number is one."""
    name, equals, value = text.partition("=")
    require(bool(equals), f"--slurm takes NAME=VALUE, such as slurm_partition=gpu, found {text}.")
    return name, int(value) if value.lstrip("-").isdecimal() else value
