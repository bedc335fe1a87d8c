"""Run benchmarks: `python -m benchmarks [NAME ...] [--repeats N] [--save] [--torch-python PATH]`."""

import argparse
import importlib
import os

from rich.console import Console

from benchmarks import report

NAMES = (
    "selection",
    "time_aware",
    "budget",
    "convolution",
    "rounds",
    "lanes",
    "steps",
    "overhead",
    "compiling",
    "memory",
    "analysis",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Speed and memory of jfed.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(NAMES)}; all by default")
    parser.add_argument("--repeats", type=int, default=5, help="measurements of each side, taken in turn (5)")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/NAME.csv")
    parser.add_argument(
        "--torch-python",
        default=os.environ.get("JFED_TORCH_PYTHON"),
        help="a Python interpreter with PyTorch, for `rounds` ($JFED_TORCH_PYTHON)",
    )
    args = parser.parse_args()
    if unknown := sorted(set(args.names) - set(NAMES)):
        parser.error(f"there is no benchmark {', '.join(unknown)}; choose from {', '.join(NAMES)}")
    console = Console()
    facts = report.machine()
    console.print(", ".join(f"{name} {value}" for name, value in facts.items()))

    from jfed.runner import host

    host.setup()
    for name in args.names or NAMES:
        extra = (args.torch_python,) if name == "rounds" else ()
        rows, notes = importlib.import_module(f"benchmarks.{name}").run(args.repeats, *extra)
        report.show(name, rows, notes)
        if args.save:
            console.print(f"  written: {report.save(name, rows)}")


if __name__ == "__main__":
    main()
