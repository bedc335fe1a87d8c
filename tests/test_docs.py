"""The pages in docs: their Python runs and says what they print, their commands exist, and every name has a place."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import jfed
from jfed import analysis
from jfed.runner import units

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text()
PAGES = {"README": README} | {str(path.relative_to(DOCS)): path.read_text() for path in sorted(DOCS.rglob("*.md"))}
BLOCK = re.compile(r"^```(python|pycon)\n(.*?)^```$", re.M | re.S)
COMMAND = re.compile(r"^(?:\$ )?jfed (\w+)(.*?)(?:  +#.*)?$", re.M)
TRIED = [name for name, text in PAGES.items() if BLOCK.search(text)]


def examples(text):
    """Yield the language and the code of each Python block of a page."""
    return [(found[1], found[2]) for found in BLOCK.finditer(text)]


def commands(text):
    """Return each command of `jfed` on a page: its name and its flags."""
    blocks = re.findall(r"^```(?:sh|console)\n(.*?)^```$", text, re.M | re.S)
    return [(name, set(re.findall(r"(?<!\S)--[\w-]+", rest))) for b in blocks for name, rest in COMMAND.findall(b)]


def lines(text):
    """Return the lines of an output as its words, with one sign for every number."""
    words = [" ".join(re.sub(r"[-\u2500]{2,}|<?-?\d[\d.e-]*", "#", line).split()) for line in text.splitlines()]
    return [line for line in words if line]


@pytest.mark.proof
def test_the_tutorial_is_what_its_commands_print(tmp_path):
    page = PAGES["tutorial.md"]
    script, reading = re.findall(r"```python\n(.*?)```", page, re.S)
    (tmp_path / "mine.py").write_text(script)
    (tmp_path / "read.py").write_text(reading)
    consoles = re.findall(r"```console\n\$ (.*?[^\\])\n(.*?)```", page, re.S)
    consoles.append(("python read.py", re.search(r"```text\n(.*?)```", page, re.S)[1]))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command, printed in consoles:
        command = re.sub(r"^jfed", "python -m jfed", command)
        settings = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "400"}
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env=settings, capture_output=True, text=True, check=True
        )
        found = " ".join(lines(done.stdout))
        assert " ".join(lines(printed)) and [line for line in lines(printed) if line not in found] == [], command
    assert {"test_accuracy.csv", "test_accuracy.png"} <= {file.name for file in (tmp_path / "tables").iterdir()}


@pytest.mark.proof
@pytest.mark.parametrize("path", sorted((DOCS / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs_from_the_first_cell_to_the_last(path, tmp_path, monkeypatch):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    book = nbformat.read(path, 4)
    before = [len(cell.outputs) for cell in book.cells if cell.cell_type == "code"]
    nbclient.NotebookClient(book, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert before == [len(cell.outputs) for cell in book.cells if cell.cell_type == "code"]  # as they are committed


@pytest.mark.check
@pytest.mark.parametrize("page", [name for name in TRIED if name != "tutorial.md"])
def test_the_python_of_a_page_runs_and_says_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(units, "SELECTION_RUNS", 2)  # blocks of one size: pages share programs
    names: dict = {"__name__": page}
    for language, code in examples(PAGES[page]):
        if language == "python":
            exec(code, names)
        else:
            found = doctest.DocTestParser().get_doctest(code, names, page, page, None)
            results = doctest.DocTestRunner(verbose=False).run(found, clear_globs=False)
            assert results.attempted and not results.failed, code
            names |= found.globs


def flags(told, capsys, name):
    """Return the flags that a command's help lists."""
    with pytest.raises(SystemExit):
        told(name, "--help")
    return set(re.findall(r"--[a-z][\w-]*", capsys.readouterr().out))


def test_every_command_of_the_pages_exists_with_its_flags(told, capsys):
    found = [(page, *one) for page, text in PAGES.items() for one in commands(text)]
    known = {name: flags(told, capsys, name) for name in {name for _, name, _ in found}}
    assert [(page, name, used - known[name]) for page, name, used in found if used - known[name]] == []
    assert len(found) > 25


def test_every_program_of_the_pages_exists():
    found = {name for text in PAGES.values() for name in re.findall(r"python -m ([a-z]+\.\w+)", text)}
    assert [name for name in found if not (ROOT / f"{name.replace('.', '/')}.py").exists()] == []
    assert len(found) > 15


def test_every_command_has_a_page(capsys, told):
    with pytest.raises(SystemExit):
        told("--help")
    names = re.findall(r"• (\w+) ", capsys.readouterr().out)
    assert names and [name for name in names if f"{{usage}} {name}\n" not in PAGES[f"commands/{name}.md"]] == []


@pytest.mark.parametrize("module", [jfed, analysis], ids=["jfed", "analysis"])
def test_every_public_name_is_described_once(module):
    blocks = [block for text in PAGES.values() for block in re.findall(r"{public} ([\w.]+)\n(.*?)```", text, re.S)]
    found = [name for place, names in blocks if place == module.__name__ for name in names.split()]
    assert sorted(found) == sorted(module._HOME)


def test_links_of_the_readme_lead_to_files():
    found = [link.partition("#")[0] for link in re.findall(r"\]\(([^)]+)\)", README)]
    assert len(found) > 10 and [link for link in found if not (ROOT / link).exists()] == []
