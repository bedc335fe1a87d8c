"""Write the table of schemes in docs/reference/schemes.md: what each is and needs, and the worlds that it runs in.

It is written between two marks. Every pair is checked as the settings of a run are, with training if it is refused
without.
"""

import sys
from dataclasses import dataclass, fields
from pathlib import Path

import jfed
from experiments.shared.common import command
from jfed import catalog
from jfed.core.errors import ConfigError
from jfed.engine.spec import build
from jfed.runner.units import Layout, plan

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "schemes.md"
MARKS = ("<!-- schemes: written by python -m tools.schemes -->", "<!-- end of schemes -->")
WORLDS = [kind.called()[0].name for kind in catalog.members("environment")]  # one of each class
BASE = jfed.Config(num_clients=40, cohort_size=8, num_rounds=500)
TRAINING = jfed.Training(samples_per_client=35, test_set="official", test_fraction=0.0)


def row(key: str, entry: catalog.Entry) -> str:
    """Return one scheme's line of the table."""
    number = entry.name.meaning
    example = key.replace("NUMBER", entry.name.examples[-1]) if number else key
    options = catalog.scheme(example)
    words = (sys.modules[type(options).__module__].__doc__ or "").splitlines()[0].rstrip(".")
    if not number and not catalog.has_modes(example):  # several names of one module
        own = [f"{f.name} {getattr(options, f.name)}" for f in fields(options) if getattr(options, f.name) != f.default]
        words += f" ({', '.join(own)})" if own else ""
    tried = {world: _tried(example, world) for world in WORLDS}
    point = jfed.Point(jfed.replace(BASE, {"selector": options, "training": TRAINING}), {})
    selector = build(plan([point], [0], Layout())[0].spec).selector
    needs = [word for word, wanted in (("the truth", selector.needs_oracle), ("losses", selector.probe)) if wanted]
    needs += [f"`{fact}`" for fact in selector.wants]
    return f"| `{key}` | {words} | {number or '-'} | {', '.join(needs) or '-'} | {' | '.join(tried.values())} |"


def _tried(example: str, world: str) -> str:
    delta = {"selector": example, "environment": world}
    refused = ""
    for words, training in (("yes", None), ("with training", TRAINING)):
        try:
            plan([jfed.Point(jfed.replace(BASE, {**delta, "training": training}), {})], [0], Layout())
        except ConfigError as error:
            refused = str(error)
        else:
            return words
    return refused


def table() -> str:
    """Return the whole table between its marks."""
    lines = [f"| scheme | what it is | number | needs | {' | '.join(WORLDS)} |", "|---" * (4 + len(WORLDS)) + "|"]
    known = {key: entry for key, entry in catalog.shipped("selector").items() if entry.name.name in key}
    lines += [row(key, entry) for key, entry in sorted(known.items(), key=lambda item: bool(item[1].name.number))]
    return "\n".join([MARKS[0], *lines, MARKS[1]])


def renewed(text: str) -> str:
    """Return the page's text with its table replaced by this one."""
    before, _, rest = text.partition(MARKS[0])
    return before + table() + rest.partition(MARKS[1])[2]


@dataclass(frozen=True)
class Settings:
    """Command-line settings: none."""


def main(_: Settings) -> None:
    """Write the table into the page."""
    PAGE.write_text(renewed(PAGE.read_text()))
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    command(main, Settings)
