"""What machine this is, and whether jfed computes on its device what it computes on its CPU.

Writes facts.csv, agreement.csv (device beside CPU) and blocks.csv (the device beside itself, in other company). Each
side is a process of its own, so that what one has found is compared even if the other hangs or dies.
"""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from tools.gpu import agreement
from tools.gpu.child import Asked, told

NO_DEVICE = {"JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": ""}
SHARE = 0.75  # of the time: then no further piece is begun
RESERVE = 4.0  # seconds for the comparison


def begun(asked: Asked, folder: Path, env: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    """Begin to compute the answers of one side."""
    own = ("--out", str(folder), "--data-dir", str(asked.data_dir), "--seconds", f"{SHARE * asked.left():.1f}")
    small = ("--small",) if asked.small else ()
    return subprocess.Popen((sys.executable, "-m", "tools.gpu.agreement", *own, *small), env=os.environ | env)


def tell(rows: Iterable[Mapping[str, Any]], title: str) -> None:
    """Print how many answers agree, and those that do not."""
    found = Counter(row["verdict"] for row in rows)
    print(f"{title}: {', '.join(f'{many} {verdict}' for verdict, many in found.items()) or 'nothing was compared'}")
    for row in rows:
        if row["verdict"] not in ("same", "close"):
            place = f", from {row['from']} on" if row["from"] else ""
            print(f"  {row['piece']}: {row['answer']}: {row['rows']}{place}, up to {row['apart']:.3g} apart")
        elif row["verdict"] == "close" and row["answer"] == "test_loss":
            print(f"  {row['piece']}: {row['answer']}: within {row['apart']:.2g}")


def main() -> None:
    """Run the stage."""
    asked = told(__doc__, set_up=False)  # this process must not take the device's memory
    folders = {name: asked.out / name for name in agreement.LANES}
    sides = {name: begun(asked, folder, NO_DEVICE if name == "cpu" else {}) for name, folder in folders.items()}
    for name, side in sides.items():
        try:
            code = side.wait(max(asked.left() - RESERVE, 0.1))
            if code:
                print(f"the {name}'s side failed (exit {code})")
        except subprocess.TimeoutExpired:
            print(f"the {name}'s side was not done in time")
            side.kill()
    for stem, found, title in (
        ("agreement", agreement.compared(folders["device"], folders["cpu"]), "Device beside CPU"),
        ("blocks", agreement.within(folders["device"]), "Device beside itself, in blocks of other sizes"),
    ):
        rows = list(found)
        tell(rows, title)
        pd.DataFrame(rows).to_csv(asked.out / f"{stem}.csv", index=False)
    pieces = list(agreement.PIECES)[: (agreement.SMALL if asked.small else agreement.WHOLE).pieces]
    missing = [name for name in pieces if not all((f / f"{name}.npz").exists() for f in folders.values())]
    if missing:
        print(f"not compared: {', '.join(missing)}")


if __name__ == "__main__":
    main()
