"""`jfed export`: results as one flat table for other tools."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console


@dataclass(frozen=True)
class Settings:
    """Results as Parquet or CSV: a row per round, per client, or per selection."""

    out: Path
    """The --out of an experiment."""
    to: Path
    """A new file that ends in .parquet or .csv; or in .nc, for NetCDF with everything that the results hold."""
    rows: Literal["rounds", "clients", "selections"] = "rounds"
    """selections needs results that recorded every cohort."""


def main(settings: Settings, console: Console) -> None:
    """Write the table and say how large it is."""
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
