"""Write the index of a paper's figures and tables into its page in docs/papers, from experiments/artefacts.toml.

The verdicts are those of the committed tables of runs, which also stand beside the printed numbers, and the pictures
are drawn from the numbers in experiments/reproduction/figures. `--take` copies those from the folders in which
`tools.reproduce` leaves its results, or from any folder of that layout.
"""

import itertools
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiments.e3cs import published as e3cs
from experiments.eiffel import published as eiffel
from experiments.shared.common import command
from jfed.claims import Verdict, gather, judge_all
from tools.choices import survives, verdicts
from tools.claims import TABLES
from tools.pages import pictures
from tools.pages.marked import rewritten
from tools.reproduce import folder_of

ROOT = Path(__file__).parents[1]
PAGES, LIST = ROOT / "docs" / "papers", ROOT / "experiments" / "artefacts.toml"
BESIDE = {"e3cs": e3cs.sections, "eiffel": eiffel.sections}  # pages of papers that print numbers
PICTURES, NUMBERS = PAGES / "pictures", TABLES / "figures"


@dataclass(frozen=True)
class Artefact:
    """A published figure or table, and what jfed has in its place.

    Attributes:
        page: file of docs/papers, without its ending.
        printed: its name in the paper.
        what: what it shows.
        command: the experiment that makes ours, with its flags.
        time: what the command takes on two cores.
        seeds: number of seeds.
        claims: claims that are judged on these runs.
        pictures: names of figures in the command's --out, and captions.
        differs: what is not as published, and why.
    """

    page: str
    printed: str
    what: str
    command: str
    time: str
    seeds: int
    claims: list[str]
    pictures: dict[str, str] = field(default_factory=dict)
    differs: str = ""

    def picture(self, name: str) -> Path:
        """Return the place of a picture in the repository."""
        return PICTURES / f"{self.command.split()[0]}_{name}.png"

    def numbers(self, name: str) -> Path:
        """Return the place of the numbers that a picture shows."""
        return NUMBERS / f"{self.command.split()[0]}_{name}.csv"


def artefacts() -> list[Artefact]:
    """Return all figures and tables, paper by paper, in the order of the papers."""
    return [Artefact(**entry) for entry in tomllib.loads(LIST.read_text())["artefact"]]


def text(own: Sequence[Artefact], judged: Sequence[Verdict], others: Sequence[Any]) -> list[str]:
    """Return the Markdown lines of a page: the index with its verdicts, printed numbers beside ours, and the pictures.

    Args:
        own: the artefacts of the page.
        judged: all verdicts.
        others: verdicts at other choices; see `tools.choices.verdicts`.
    """
    lines = ["| printed | what it shows | verdicts | ours | what differs |", "| --- | --- | --- | --- | --- |"]
    for one in own:
        found = "; ".join(filter(None, (_verdicts(name, judged, others) for name in one.claims)))
        ours = f"`{one.command}`: {one.time}, {one.seeds} seed{'s' if one.seeds > 1 else ''}"
        lines.append(f"| {one.printed} | {one.what} | {found} | {ours} | {one.differs} |")
    beside = BESIDE.get(own[0].page)
    lines += beside(TABLES) if beside else ()
    drawn = [(caption, one.picture(name).name) for one in own for name, caption in one.pictures.items()]
    figures = [
        ["", f"![{caption}](pictures/{name})", "", f"*{caption}*"]
        for caption, name in drawn if (PICTURES / name).exists()
    ]  # fmt: skip
    return [*lines, *(["", "### Figures"] if figures else []), *itertools.chain(*figures)]


def _verdicts(name: str, judged: Sequence[Verdict], others: Sequence[Any]) -> str:
    """Return a claim's verdicts as text, each word with how often it was found; a dagger where a choice turns one."""
    own = [v for v in judged if v.claim.id == name]
    words = [v.word for v in own]
    counts = [f"{word}{f' x {words.count(word)}' if words.count(word) > 1 else ''}" for word in dict.fromkeys(words)]
    dagger = "†" if any("**" in survives(v, others) for v in own) else ""
    return f"{name}{dagger} {', '.join(counts)}"


def take(out: Path) -> None:
    """Copy the numbers of all figures that lie below a folder.

    Args:
        out: a folder with one folder for each command, named as `folder_of` does.
    """
    for one in artefacts():
        for name in one.pictures:
            found = out / folder_of(one.command) / "figures" / f"{name}.csv"
            if found.exists():
                pictures.take(found, one.numbers(name))


def draw(own: Sequence[Artefact]) -> None:
    """Draw all pictures whose numbers the repository has, unless they were drawn from them before."""
    for one in own:
        for name in one.pictures:
            if one.numbers(name).exists() and pictures.draw(one.numbers(name), one.picture(name)):
                print(f"drew {one.picture(name)}")


@dataclass(frozen=True)
class Settings:
    """Command-line settings."""

    take: tuple[Path, ...] = ()
    """Folders with a folder for each experiment, whose figures' numbers are first copied."""


def main(settings: Settings) -> None:
    """Write the pages."""
    for out in settings.take:
        take(out)
    judged, others = judge_all(gather(sorted(TABLES.glob("*.csv")))), verdicts()
    every = artefacts()
    draw(every)
    for page in dict.fromkeys(one.page for one in every):
        path = PAGES / f"{page}.md"
        lines = text([one for one in every if one.page == page], judged, others)
        path.write_text(rewritten(path.read_text(), "tools.papers", "\n".join(lines)))
        print(f"wrote {path}")


if __name__ == "__main__":
    command(main, Settings)
