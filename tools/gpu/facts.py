"""What machine this is, and whether jfed computes on its device what it computes on its CPU.

Writes facts.csv, agreement.csv (device beside CPU) and blocks.csv (the device beside itself, in other company).
"""

import os
import platform
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pandas as pd
import psutil

from tools.gpu import agreement
from tools.gpu.child import Asked, Rows, told

PACKAGES = ("jax", "jaxlib", "flax", "optax", "numpy", "pandas", "xarray", "matplotlib", "tyro")
QUERY = "name,driver_version,memory.total,clocks.max.sm,power.limit"
GIB = 1 << 30


def facts() -> Iterator[tuple[str, str]]:
    """Yield names and values."""
    import jax

    device = jax.devices()[0]
    yield "python", platform.python_version()
    for name in PACKAGES:
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            yield name, "missing"
    yield "backend", jax.default_backend()
    yield "device", f"{device.device_kind} ({jax.device_count()} in all)"
    yield "platform", str(getattr(device.client, "platform_version", "")).replace("\n", " ")
    for name, value in (device.memory_stats() or {}).items():
        yield f"memory: {name}", f"{value / GIB:.2f} GiB" if value > GIB else str(value)
    yield "cores", str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())
    yield "memory", f"{psutil.virtual_memory().total / GIB:.1f} GiB"
    yield "nvidia-smi", _said("nvidia-smi", f"--query-gpu={QUERY}", "--format=csv,noheader")
    yield "XLA_FLAGS", os.environ.get("XLA_FLAGS", "")


def _said(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"none ({type(error).__name__})"
    return (done.stdout or done.stderr).strip().replace("\n", "; ")


def on_cpu(asked: Asked, folder: Path) -> "subprocess.Popen[bytes]":
    """Begin to compute the CPU's answers in a process that sees no other device."""
    env = os.environ | {"JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": ""}
    own = ("--out", str(folder), "--data-dir", str(asked.data_dir), "--seconds", f"{0.75 * asked.left():.1f}")
    small = ("--small",) if asked.small else ()
    return subprocess.Popen((sys.executable, "-m", "tools.gpu.agreement", *own, *small), env=env)


def tell(rows: list[dict[str, Any]], title: str) -> None:
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
    asked = told(__doc__)
    folders = [asked.out / side for side in ("device", "cpu")]
    table = Rows(asked.out / "facts.csv")
    process = on_cpu(asked, folders[1])
    try:
        for name, value in facts():
            table.add({"fact": name, "value": value})
        seconds = 0.75 * asked.left()
        agreement.write(folders[0], "vmapped", asked.small, lambda: seconds - asked.spent())
        process.wait(max(asked.left() - 2, 0.1))
    except subprocess.TimeoutExpired:
        print("the CPU's side was not done in time")
    finally:
        process.kill()
    own = [("agreement", agreement.compared(*folders), "Device beside CPU")]
    own += [("blocks", agreement.within(folders[0]), "Device beside itself, in blocks of other sizes")]
    for stem, rows, title in own:
        found = list(rows)
        tell(found, title)
        pd.DataFrame(found).to_csv(asked.out / f"{stem}.csv", index=False)
    wanted = list(agreement.PIECES)[: (agreement.SMALL if asked.small else agreement.WHOLE).pieces]
    missing = [name for name in wanted if not all((f / f"{name}.npz").exists() for f in folders)]
    if missing:
        print(f"not compared: {', '.join(missing)}")


if __name__ == "__main__":
    main()
