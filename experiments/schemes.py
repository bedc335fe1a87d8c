"""The README's table of schemes and worlds: what each scheme is and needs, and where it runs.

It is written between two marks. Every pair is tried: its settings are checked as those of any run, with training if it
is refused without.
"""

import sys
from dataclasses import dataclass, fields
from pathlib import Path

import jfed
from experiments.common import command
from jfed.engine.spec import build
from jfed.engine.units import Layout, plan
from jfed.envs import ENVIRONMENTS
from jfed.errors import ConfigError
from jfed.schemes import FAMILIES, METHODS, QUOTAS, has_modes, method

README = Path(__file__).parent.parent / "README.md"
MARKS = ("<!-- schemes: written by python -m experiments.schemes -->", "<!-- end of schemes -->")
BASE = jfed.Config(num_clients=40, cohort_size=8, num_rounds=500)
TRAINING = jfed.Training(samples_per_client=35, test_set="official", test_fraction=0.0)
QUOTA = "quota, a share of k/K, or inc"


def families() -> dict[str, tuple[str, str]]:
    """Schemes with a number: an example, and what the number is."""
    examples = {name: f"{name}-{10 if name == 'dirichlet' else 0.5}" for name in (*QUOTAS, *FAMILIES)}
    return {name: (examples[name], QUOTA if name in QUOTAS else FAMILIES[name][0]) for name in examples}


def row(name: str, example: str, number: str) -> str:
    """One scheme's line."""
    options = method(example)
    words = (sys.modules[type(options).__module__].__doc__ or "").splitlines()[0].rstrip(".")
    if not number and not has_modes(example):  # several names of one file
        own = [f"{f.name} {getattr(options, f.name)}" for f in fields(options) if getattr(options, f.name) != f.default]
        words += f" ({', '.join(own)})" if own else ""
    tried = {world: _tried(example, world) for world in ENVIRONMENTS}
    point = jfed.Point(jfed.replace(BASE, {"selector": options, "training": TRAINING}), {})
    selector = build(plan([point], [0], Layout())[0].spec).selector
    needs = [word for word, wanted in (("the truth", selector.needs_oracle), ("losses", selector.probe)) if wanted]
    label = f"`{name}-NUMBER`" if number else f"`{name}`"
    return f"| {label} | {words} | {number or '-'} | {', '.join(needs) or '-'} | {' | '.join(tried.values())} |"


def _tried(example: str, world: str) -> str:
    delta = {"selector": method(example), "environment": ENVIRONMENTS[world].options()}
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
    """The whole table, with its marks."""
    worlds = " | ".join(ENVIRONMENTS)
    lines = [f"| scheme | what it is | number | needs | {worlds} |", "|---" * (4 + len(ENVIRONMENTS)) + "|"]
    lines += [row(name, name, "") for name in METHODS]
    lines += [row(name, *pair) for name, pair in families().items()]
    return "\n".join([MARKS[0], *lines, MARKS[1]])


def renewed(text: str) -> str:
    """The README with this table in the place of the one that it has."""
    before, _, rest = text.partition(MARKS[0])
    return before + table() + rest.partition(MARKS[1])[2]


@dataclass(frozen=True)
class Settings:
    """Command line."""


def main(_: Settings) -> None:
    """Write the table."""
    README.write_text(renewed(README.read_text()))
    print(f"wrote {README}")


if __name__ == "__main__":
    command(main, Settings)
