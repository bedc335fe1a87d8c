"""`jfed export`: results as one file for other tools."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console


@dataclass(frozen=True)
class Settings:
    """Export results as Parquet or CSV, with a row per round, client or selection, or as NetCDF.

    Attributes:
        out: the --out of an experiment.
        to: file to write, ending in .parquet or .csv for a table, or in .nc for NetCDF with the complete results.
        rows: unit of a table's rows; selections needs results that recorded every cohort.
    """

    out: Path
    to: Path
    rows: Literal["rounds", "clients", "selections"] = "rounds"


def main(settings: Settings, console: Console) -> None:
    """Write the file and print its size."""
    from jfed.results import export
    from jfed.results.load import load

    if settings.to.suffix == ".nc":
        whole = load(settings.out)
        settings.to.parent.mkdir(parents=True, exist_ok=True)
        whole.to_netcdf(settings.to, engine="h5netcdf")
        console.print(f"{settings.to}: {whole.sizes['run']:,} runs", highlight=False, markup=False, soft_wrap=True)
        return
    make = {"rounds": export.per_round, "clients": export.per_client, "selections": export.per_selection}[settings.rows]
    frame = make(load(settings.out))
    path = export.write(frame, settings.to)
    console.print(
        f"{path}: {len(frame):,} rows, {len(frame.columns)} columns", highlight=False, markup=False, soft_wrap=True
    )
