"""Pack what a bare machine lacks, for `gpu_run`: wheels of a few pure packages, and data sets in a compact form.

CIFAR-10 is rounded to steps of 8, for errors of at most 4 of 255, or of 16 to make room for EMNIST beside it; or half
of it is taken without loss. Either becomes a data set of another name. Compressing takes some minutes.
"""

import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from experiments.shared.common import command
from jfed.core.errors import ConfigError, require
from tools.gpu import carried, wheels

CONSTRAINTS = Path(__file__).parents[1] / "constraints.txt"
MIB = 1 << 20


@dataclass(frozen=True)
class Settings:
    """Command-line settings.

    Attributes:
        out: the folder to make; it must be new or empty.
        data_dir: folder of the official files; $JFED_DATA_DIR by default.
        data: data sets: emnist, cifar, mnist, fashion.
        step: 8 or 16: CIFAR-10's bytes are rounded to 32 or 16 levels.
        halves: take 25,000 and 5,000 images of CIFAR-10 without loss, in place of rounding all.
        tests: take CIFAR-10's official test images, too; the tables do not need them.
        wheels: take the wheels, which need a package registry.
        limit: most MiB of the folder.
    """

    out: Path
    data_dir: str | None = None
    data: tuple[str, ...] = ("emnist",)
    step: int = 8
    halves: bool = False
    tests: bool = False
    wheels: bool = True
    limit: float = 58.0


def main(settings: Settings) -> None:
    """Make the folder, and print the sizes of what it holds."""
    out = settings.out
    require(not out.exists() or (out.is_dir() and not any(out.iterdir())), f"{out} is not empty: give a new folder.")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".packing-") as scratch:
        made = Path(scratch, "pack")
        made.mkdir()
        for kind in settings.data:
            started = time.monotonic()
            path = carried.pack(kind, made, settings.data_dir, settings.step, settings.halves, settings.tests)
            print(
                f"{path.name:24} {path.stat().st_size / MIB:6.2f} MiB  {time.monotonic() - started:.0f} s", flush=True
            )
        if settings.wheels:
            _wheels(made / "wheels")
        total = sum(path.stat().st_size for path in made.rglob("*") if path.is_file()) / MIB
        require(
            total <= settings.limit,
            f"The pack has {total:.1f} MiB, above the limit of {settings.limit:g} MiB: take fewer data sets, --step 16"
            " or --halves, or raise --limit.",
        )
        shutil.rmtree(out, ignore_errors=True)
        shutil.move(made, out)
    print(f"{out!s:24} {total:6.2f} MiB of at most {settings.limit:g}")


def _wheels(folder: Path) -> None:
    folder.mkdir()
    wrong = wheels.download(folder, CONSTRAINTS)
    if wrong:
        raise ConfigError(f"The wheels could not be downloaded ({wrong}): try again, or give --no-wheels.")
    names = sorted(path.name.split("-")[0] for path in folder.iterdir())
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{'wheels':24} {size / MIB:6.2f} MiB  {', '.join(names)}")


if __name__ == "__main__":
    command(main, Settings)
