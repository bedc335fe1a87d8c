"""`jfed export`: results as one file for other tools."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro
from rich.console import Console

from jfed.commands.reading import Results, require_results

USAGE = "jfed export RESULTS --out FILE"


@dataclass(frozen=True)
class Settings:
    """Export results as Parquet or CSV, with a row per round, client or selection, or as NetCDF.

    Attributes:
        out: file to write, ending in .parquet or .csv for a table, or in .nc for NetCDF with the complete results.
        rows: unit of a table's rows; selections needs results that recorded every cohort.
        results: the --out of an experiment.
    """

    out: Path
    rows: Literal["rounds", "clients", "selections"] = "rounds"
    results: tyro.conf.Positional[Results] = None


def main(settings: Settings, console: Console) -> None:
    """Write the file and print its size, and whether there was one before."""
    from jfed.results import export
    from jfed.results.load import load
    from jfed.results.store import writing

    source = require_results(settings.results, USAGE)
    replaced = " (replaced)" if settings.out.is_file() else ""
    if settings.out.suffix == ".nc":
        whole = load(source)
        with writing(settings.out, "The export") as part:
            whole.to_netcdf(part, engine="h5netcdf")
        told = f"{settings.out}{replaced}: {whole.sizes['run']:,} runs"
        console.print(told, highlight=False, markup=False, soft_wrap=True)
        return
    make = {"rounds": export.per_round, "clients": export.per_client, "selections": export.per_selection}[settings.rows]
    frame = make(load(source))
    path = export.write(frame, settings.out)
    told = f"{path}{replaced}: {len(frame):,} rows, {len(frame.columns)} columns"
    console.print(told, highlight=False, markup=False, soft_wrap=True)
