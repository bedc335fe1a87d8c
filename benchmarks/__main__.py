"""Run benchmarks: `python -m benchmarks [NAME ...] [--repeats N] [--save] [--torch-python PATH] ...`."""

import argparse
import importlib

from rich.console import Console

from benchmarks import page, peers, report

NAMES = (
    "rounds",
    "selection",
    "time_aware",
    "schemes",
    "budget",
    "processes",
    "roofs",
    "lanes",
    "steps",
    "overhead",
    "compiling",
    "memory",
    "analysis",
    "board",
)
WITH_PEERS = ("rounds", "processes")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Speed and memory of jfed beside other tools."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(NAMES)}; all by default")
    parser.add_argument("--repeats", type=int, default=3, help="measurements of each side, taken in turn (3)")
    parser.add_argument("--save", action="store_true", help="write results/NAME.csv and README.md in this folder")
    found = peers.Pythons.of_environment()
    for name, path in found._asdict().items():
        parser.add_argument(
            f"--{name}-python",
            default=path,
            metavar="PATH",
            help=f"a Python interpreter with {peers.NAMES[name]} (${peers.variable(name)})",
        )
    args = parser.parse_args()
    if unknown := sorted(set(args.names) - set(NAMES)):
        parser.error(f"there is no benchmark {', '.join(unknown)}; choose from {', '.join(NAMES)}")
    pythons = peers.Pythons(**{name: getattr(args, f"{name}_python") for name in found._fields})
    console = Console()
    console.print(", ".join(f"{name} {value}" for name, value in report.machine().items()))

    from jfed.runner import host

    host.setup()
    for name in args.names or NAMES:
        extra = (pythons,) if name in WITH_PEERS else ()
        report.say(f"{name} begins")
        rows, notes = importlib.import_module(f"benchmarks.{name}").run(args.repeats, *extra)
        report.show(name, rows, notes)
        if args.save:
            command = _command(name, args.repeats, pythons if extra else None)
            console.print(f"  written: {report.save(name, rows, notes, command)}")
            page.write(NAMES)


def _command(name: str, repeats: int, pythons: peers.Pythons | None) -> str:
    """Return the command that repeats a benchmark, with a word for each interpreter's path."""
    given = pythons._asdict() if pythons else {}
    words = [f"--{peer}-python {peer.upper()}" for peer, path in given.items() if path]
    return " ".join(["python -m benchmarks", name, f"--repeats {repeats} --save", *words])


if __name__ == "__main__":
    main()
