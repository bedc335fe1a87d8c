"""Digests of code: a changed formula changes them, and nothing else does, on every Python."""

import importlib.util
import json
import linecache
import os
import subprocess
import sys
from pathlib import Path

import pytest

import jfed
from jfed import catalog
from jfed.core import code, source

MEMBER = '''
"""A scheme of one's own."""

from dataclasses import dataclass

import jfed
from jfed.core import ops
from jfed.selectors import uniform
{imports}
SHARE = 2  # of something


def helper(x):
    """Help."""
    return x * SHARE


@dataclass(frozen=True)
class Mine(uniform.Options):
    """Mine."""

    epsilon: float = 0.1

    def make(self, dims):
        # a comment
        return super().make(dims), helper({body})


if __name__ == "__main__":
    results = range(10)
'''


def load(folder, name="mine", imports="", body="1"):
    """Return a member in a module of its own, loaded afresh."""
    path = folder / f"{name}.py"
    path.write_text(MEMBER.format(imports=imports, body=body))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module.Mine


@pytest.fixture(autouse=True)
def forgotten():
    """Remove the modules that a test adds."""
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_an_edited_formula_has_another_digest_and_an_edited_comment_has_not(tmp_path):
    first = load(tmp_path)
    before = code.digest(first)
    text = (tmp_path / "mine.py").read_text()
    for edited, same in [
        (text.replace("# a comment", "# another"), True),
        (text.replace('"""Mine."""', '"""Much\n    longer."""'), True),
        (text.replace("range(10)", "range(20)"), True),  # the script's commands
        (text.replace("    return x * SHARE", "    return (x\n            * SHARE)"), True),
        (text.replace("x * SHARE", "x + SHARE"), False),
        (text.replace("SHARE = 2", "SHARE = 3"), False),
        (text.replace("epsilon: float = 0.1", "epsilon: float = 0.2"), False),
    ]:
        assert edited != text
        (tmp_path / "mine.py").write_text(edited)
        spec = sys.modules["mine"].__spec__
        assert spec is not None and spec.loader is not None
        spec.loader.exec_module(sys.modules["mine"])
        assert (code.digest(sys.modules["mine"].Mine) == before) is same, edited
    assert code.digest(first) == before  # later edits do not change that class


def test_the_source_counts_as_it_was_when_imported(tmp_path):
    kind = load(tmp_path)
    (tmp_path / "mine.py").write_text("raise RuntimeError")
    text = code.digest(kind)
    assert text is not None and text == code.digest(load(tmp_path))


def test_what_a_member_imports_counts_too(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "beside_it.py").write_text("from deeper import y\nx = y\n")
    (tmp_path / "deeper.py").write_text("y = 1\n")
    found = {code.digest(load(tmp_path, imports="from beside_it import x", body="x"))}
    for text in ("y = 2\n", "y = 2  # the same\n", "y = 3\n"):
        (tmp_path / "deeper.py").write_text(text)
        for name in ("beside_it", "deeper"):
            del sys.modules[name]
        importlib.invalidate_caches()
        found.add(code.digest(load(tmp_path, imports="from beside_it import x", body="x")))
    assert None not in found and len(found) == 3


LAZY = "def lazy():\n    from far_away import x\n    return x\n"


@pytest.mark.parametrize(
    ("imports", "body"),
    [("import far_away", "far_away.x"), ("from tools_of_mine.bonus import x", "x"), (LAZY, "lazy()")],
)
def test_imports_from_other_folders_and_in_functions_count(tmp_path, monkeypatch, imports, body):
    """Helpers in another folder of the path, in a folder without `__init__`, and imported only when `make` runs."""
    own, other = tmp_path / "own", tmp_path / "other"
    (other / "tools_of_mine").mkdir(parents=True)
    own.mkdir()
    monkeypatch.syspath_prepend(other)
    found = []
    for text in ("x = 1\n", "x = 2\n", "x = 2  # the same\n"):
        (other / "far_away.py").write_text(text)
        (other / "tools_of_mine" / "bonus.py").write_text(text)
        importlib.invalidate_caches()
        code._digest_of.cache_clear()  # as in another process
        found.append(code.digest(load(own, imports=imports, body=body)))
        for name in ("far_away", "tools_of_mine.bonus", "tools_of_mine"):
            sys.modules.pop(name, None)
    assert None not in found and found[0] != found[1] == found[2]


def test_a_member_of_jfed_depends_on_rooms_and_ops_and_nothing_else():
    kind = type(catalog.find("selector", "cs-ucb-q-0.001"))
    origin = code._origins[kind]

    def changed(name):
        modules = dict(origin.modules) | {name: origin.modules.get(name, b"") + b"\nmore = 1\n"}
        return code._digest(kind, origin._replace(modules=modules)) != code.digest(kind)

    assert changed("jfed.core.ops") and changed("jfed.core.prng") and changed("jfed.core.total")
    assert changed("jfed.selectors.cs_ucb")
    assert not changed("jfed.selectors.e3cs") and not changed("jfed.models.cnn")
    assert "jfed.core.types" not in origin.modules  # the vocabulary decides no numbers


def test_a_file_beside_a_script_is_no_part_of_jfed(tmp_path, monkeypatch):
    kind = type(catalog.scheme("uniform"))
    code._digest_of.cache_clear()
    before = code.digest(kind), code.module_digest("jfed.selectors.uniform")
    (tmp_path / "x.py").write_text("y = 1")  # jfed.core.ops uses x.ndim
    monkeypatch.syspath_prepend(tmp_path)
    code._digest_of.cache_clear()
    assert (code.digest(kind), code.module_digest("jfed.selectors.uniform")) == before


def test_the_members_of_jfed_have_digests_of_their_own():
    kinds = [kind for room in catalog.ROOMS for kind in catalog.members(room)]
    assert len(kinds) > 20 and len({code.digest(kind) for kind in kinds} - {None}) == len(kinds)
    assert code.module_digest("jfed.data.partition") != code.module_digest("jfed.data.primary")


def test_a_class_without_source_has_the_digest_of_its_version_or_none():
    names = {"__name__": "nowhere"}
    exec(compile(MEMBER.format(imports="", body="1"), "<string>", "exec"), names)
    assert code.digest(names["Mine"]) is None
    found = []
    for version in ("1", "2", "2"):
        text = MEMBER.format(imports="", body="1").replace("    epsilon", f'    version = "{version}"\n    epsilon')
        exec(compile(text, "<string>", "exec"), names)
        found.append(code.digest(names["Mine"]))
    assert found[0] != found[1] == found[2] and None not in found


def test_a_file_name_may_lead_to_the_text_of_another_program(monkeypatch):
    """From Python 3.13 on, "<string>" is the text of `python -c`, and `type(...)` has no statement of its own."""
    other = "import jfed\nclass Other:\n    pass\n"
    monkeypatch.setitem(linecache.cache, "<string>", (len(other), None, other.splitlines(True), "<string>"))
    names = {"__name__": "nowhere"}
    exec(compile(MEMBER.format(imports="", body="1"), "<string>", "exec"), names)
    assert code.digest(names["Mine"]) is None


def test_a_class_made_by_a_call_has_no_source(tmp_path):
    text = MEMBER.format(imports="", body="1") + 'Made = type("Made", (Mine,), {"extra": len(__file__)})\n'
    (tmp_path / "called.py").write_text(text)
    spec = importlib.util.spec_from_file_location("called", tmp_path / "called.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["called"] = module
    try:
        spec.loader.exec_module(module)
        assert code.digest(module.Mine) is not None and code.digest(module.Made) is None
    finally:
        del sys.modules["called"]


def test_a_class_in_a_function_has_no_source_of_its_own(tmp_path):
    text = "from jfed.selectors import uniform\ndef f(a):\n"
    text += "    class Mine(uniform.Options):\n        x = a\n    return Mine\n"
    (tmp_path / "inside.py").write_text(text)
    spec = importlib.util.spec_from_file_location("inside", tmp_path / "inside.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["inside"] = module
    spec.loader.exec_module(module)
    assert code.digest(module.f(1)) is None  # the value of `a` is not in the source


def cell(text, names, number):
    """Run a cell as notebooks do, with its source where tracebacks look for it."""
    file = f"<cell-{number}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), names)


def test_a_cell_of_a_notebook_counts_if_it_needs_no_other_cell():
    names = {"__name__": "notebook"}
    cell("import jfed\nfrom jfed.core import ops\nfrom jfed.selectors import uniform\n", names, 1)
    own = "class Mine(uniform.Options):\n    x = {}\n    y = ops\n"
    found = []
    for number, value in enumerate(("1", "1  # the same", "2", "other")):
        names["other"] = 3
        cell(own.format(value), names, 2 + number)
        found.append(code.digest(names["Mine"]))
    assert found[0] == found[1] != found[2] and None not in found[:3]
    assert found[3] is None  # it uses a name that another cell may change


PYTHONS = [p for p in (Path.home() / ".pyenv" / "versions").glob("3.1[1-9]*/bin/python") if p.exists()]


@pytest.mark.check
def test_the_normal_form_is_that_of_every_python():
    script = (
        "import ast, importlib.util, json, pathlib, sys\n"
        "spec = importlib.util.spec_from_file_location('source', sys.argv[1])\n"
        "m = importlib.util.module_from_spec(spec); spec.loader.exec_module(m)\n"
        "files = sorted(pathlib.Path(sys.argv[2]).rglob('*.py'))\n"
        "print(json.dumps({str(p): m.digest([m.normal(ast.parse(p.read_bytes()))]) for p in files}))\n"
    )
    if not PYTHONS:
        pytest.skip("no other interpreter of Python 3.11 or newer is here")
    home = os.path.dirname(jfed.__file__)
    for python in [sys.executable, *PYTHONS]:
        done = subprocess.run([python, "-c", script, source.__file__, home], capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        if python == sys.executable:
            here = found
        assert found == here, python
    assert len(set(here.values())) > 100
