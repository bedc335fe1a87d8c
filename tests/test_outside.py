"""Members from outside: by options, by a registered name, from a file, from an installed package."""

import dataclasses
import re
import sys
from importlib import metadata
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from support import LAYOUT, SELECTION, run

import jfed
from jfed import catalog
from jfed.catalog import outside
from jfed.core.errors import ConfigError
from jfed.engine import simulate
from jfed.selectors import e3cs, uniform

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "own-scheme.md"


@dataclasses.dataclass(frozen=True)
class FirstClients(jfed.SelectorOptions):
    """A scheme that selects the first clients, or with `last` the last ones; `bias` has no effect."""

    bias: float = 0.5
    last: bool = jfed.static(False)

    def make(self, dims):
        def select(key, state, params, view):
            place = jnp.arange(dims.num_clients, dtype=jnp.result_type(float)) + 0 * params.bias
            chosen = jfed.ops.smallest(-place if self.last else place, params.k, view.available)
            return state, jfed.Cohort(chosen, jnp.full(place.shape, jnp.nan))

        return jfed.Selector(lambda key, params: (), select, lambda state, *_: state)


def chosen(results, method):
    times = results["times_selected"].values[results["method"].values == method]
    return [np.flatnonzero(row).tolist() for row in times]


@pytest.mark.check
def test_options_are_as_good_as_names():
    points = jfed.methods(SELECTION, ["uniform", FirstClients()])
    assert [p.coords["method"] for p in points] == ["uniform", "first-clients"]
    named = jfed.methods(SELECTION, {"front": FirstClients(), "back": FirstClients(last=True), "any": "random"})
    results = run(named, [0], LAYOUT)
    assert chosen(results, "front") == [[0, 1, 2]] and chosen(results, "back") == [[5, 6, 7]]
    assert results["method"].values.tolist().count("any") == 1


def test_numbers_are_of_their_annotations_type_and_share_a_program():
    before = len(simulate.TRACES)
    swept = jfed.product(jfed.methods(SELECTION, [FirstClients(bias=1)]), {"selector.bias": [1, 2.5, np.float32(3)]})
    run(swept, [0, 1], LAYOUT)
    assert len(simulate.TRACES) == before + 1


def test_a_registered_name_is_known_everywhere():
    jfed.register("tail", FirstClients(last=True))
    assert jfed.scheme("Tail") == FirstClients(last=True) == jfed.Config(selector="tail").selector
    assert catalog.label(FirstClients(last=True)) == "tail" and "tail" in catalog.names("selector")
    jfed.register("tail", FirstClients)  # given anew
    assert jfed.scheme("tail") == FirstClients()
    jfed.register("mine", e3cs.Options(0.25, sampler="exact"))
    assert jfed.scheme("mine", "faithful").sampler == "exact"  # no mode changes what was given


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("uniform", FirstClients(), "'uniform' is a scheme of jfed: give yours another name"),
        ("No Name", FirstClients(), "A name has small letters, digits, . and -, found 'No Name'"),
        ("mine", 3, "3 is not an instance of any base of members: jfed.SelectorOptions"),
        ("mine", jfed.SelectorOptions, "SelectorOptions cannot be made without arguments"),
    ],
)
def test_what_cannot_be_registered(name, options, sentence):
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        jfed.register(name, options)


def test_a_member_must_be_a_frozen_dataclass():
    class Plain(uniform.Options):
        pass

    @dataclasses.dataclass
    class Thawed:
        epsilon: float = 0.1

    for options, sentence in (
        (Plain(), r"Plain must be a frozen dataclass: put @dataclass\(frozen=True\) above the class"),
        (Thawed(), r"scheme must be a name or options on jfed.SelectorOptions, found \S*test_outside\.\S*Thawed"),
        (FirstClients, r"scheme must be options, not their class: write FirstClients\(\)"),
    ):
        with pytest.raises(ConfigError, match=sentence):
            jfed.methods(SELECTION, [options])
        with pytest.raises(ConfigError, match=sentence):
            jfed.Config(selector=options)


def test_make_cannot_read_what_is_dynamic():
    @dataclasses.dataclass(frozen=True)
    class Peeking(FirstClients):
        def make(self, dims):
            assert self.bias > 0
            return super().make(dims)

    before = len(simulate.TRACES)
    with pytest.raises(ConfigError, match=r"Peeking\.make reads bias, which is dynamic: take it from the params"):
        run(jfed.methods(SELECTION, [Peeking()]), [0])
    assert len(simulate.TRACES) == before


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("bias", "much", "Labelled.bias is dynamic and must be a number or a tuple of numbers, found 'much'"),
        ("table", [1, 2], "Labelled.table is static and must be hashable"),
    ],
)
def test_fields_that_cannot_be_used(field, value, sentence):
    kind = dataclasses.make_dataclass(
        "Labelled",
        [("bias", object, 0.5), ("table", object, jfed.static(None))],
        bases=(FirstClients,),
        frozen=True,
    )
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        run(jfed.methods(SELECTION, [kind(**{field: value})]), [0])


def scheme_of_the_docs():
    return re.search(r"```python\n(.*?)```", PAGE.read_text(), re.S)[1]


def test_the_scheme_of_the_docs(tmp_path, monkeypatch):
    code = scheme_of_the_docs()
    assert len(code.splitlines()) <= 32
    path = tmp_path / "scheme_of_the_docs.py"
    path.write_text(code)
    (kind,) = jfed.load_file(path)
    assert jfed.load_file(path) == [kind]  # imported once
    base = jfed.replace(SELECTION, {"num_rounds": 60})
    results = run(jfed.methods(base, ["uniform", "Epsilon-Greedy"]), range(4), jfed.Layout(block_size=4))
    returned = results["num_succeeded"].values.sum(1)
    label = results["method"].values
    assert returned[label == "epsilon-greedy"].mean() > 1.2 * returned[label == "uniform"].mean()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x = 1\n", "defines no member: give it a frozen dataclass derived from one of jfed.SelectorOptions"),
        ("import nothing_of_the_kind\n", "broken_scheme.py, line 1, cannot be loaded: ModuleNotFoundError"),
        ("def f(:\n", "cannot be loaded: SyntaxError"),
        (
            "import jfed\nfrom dataclasses import dataclass\n@dataclass\nclass Soft(jfed.SelectorOptions):\n    pass\n",
            "from a frozen one: write @dataclass(frozen=True) above the class.",
        ),
        (
            "import jfed\nfrom dataclasses import dataclass\n@dataclass(frozen=True)\n"
            "class Uniform(jfed.SelectorOptions):\n    def make(self, dims):\n        pass\n",
            "'uniform' is a scheme of jfed; give yours another name",
        ),
        (
            "import jfed\nfrom dataclasses import dataclass\n@dataclass(frozen=True)\n"
            "class Half(jfed.SelectorOptions):\n    def made(self, dims):\n        pass\n",
            "Half lacks `make`: define it as in CONTRIBUTING.md",
        ),
    ],
)
def test_files_that_cannot_be_loaded(tmp_path, text, sentence):
    path = tmp_path / "broken_scheme.py"
    path.write_text(text)
    with pytest.raises(ConfigError, match=re.escape(sentence)) as caught:
        jfed.load_file(path)
    assert "\n" not in str(caught.value)
    path.write_text(scheme_of_the_docs())
    assert len(jfed.load_file(path)) == 1  # the mended file, in the same process
    with pytest.raises(ConfigError, match="There is no Python file"):
        jfed.load_file(tmp_path / "none.py")


def test_a_file_must_not_hide_a_module(tmp_path):
    path = tmp_path / "json.py"
    path.write_text(scheme_of_the_docs())
    with pytest.raises(ConfigError, match="there is another module 'json'; give the file another name"):
        jfed.load_file(path)


def test_files_of_the_environment_and_installed_packages(tmp_path, monkeypatch):
    path = tmp_path / "environment_scheme.py"
    path.write_text(scheme_of_the_docs())
    monkeypatch.setenv("JFED_LOAD", str(path))
    assert "epsilon-greedy" in catalog.names("selector")

    points = [
        metadata.EntryPoint("packaged", f"{__name__}:FirstClients", "jfed.selectors"),
        metadata.EntryPoint("absent", "no_such_package:Thing", "jfed.selectors"),
    ]
    monkeypatch.setattr(metadata, "entry_points", lambda group: points if group == "jfed.selectors" else [])
    outside._entry_points.cache_clear()
    try:
        assert jfed.scheme("packaged") == FirstClients() and "absent" not in catalog.names("selector")
    finally:
        outside._entry_points.cache_clear()


def test_a_command_loads_files(tmp_path, monkeypatch, capsys):
    from jfed import cli

    path = tmp_path / "command_scheme.py"
    path.write_text(scheme_of_the_docs())
    monkeypatch.setattr(sys, "argv", ["jfed", "list", "--load", str(path)])
    cli.main()
    assert "epsilon-greedy" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["jfed", "list", "--load", str(tmp_path / "none.py")])
    with pytest.raises(SystemExit, match="error: There is no Python file"):
        cli.main()


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("coin, tie =", "if returned.sum() > 3:\n                key = key\n            coin, tie =",
         r"error: TracerBoolConversionError: .* \(faulty_scheme.py:\d+\); .* use jnp.where or .*`jfed check "),
        ("params.epsilon)", "params.epsilom)", r"has no attribute 'epsilom' \(faulty_scheme.py:\d+\). `jfed check "),
        ("returned + feedback.succeeded", "jnp.stack([returned, returned])",
         r"This may come from a member of faulty_scheme.py. `jfed check .*faulty_scheme.py` looks for the cause"),
    ],
)  # fmt: skip
def test_a_faulty_scheme_ends_a_command_in_words(tmp_path, monkeypatch, old, new, sentence):
    from jfed import cli

    path, code = tmp_path / "faulty_scheme.py", scheme_of_the_docs()
    assert code.count(old) == 1
    path.write_text(code.replace(old, new))
    arguments = ["--schemes", "epsilon-greedy", "uniform", "--seeds", "2", "--num-clients", "6", "--cohort-size", "2"]
    arguments += ["--num-rounds", "3", "--out", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", ["jfed", "run", "--load", str(path), *arguments])
    with pytest.raises(SystemExit, match=sentence):
        cli.main()
    monkeypatch.setenv("JFED_TRACEBACK", "1")
    with pytest.raises((TypeError, AttributeError, ValueError)):
        cli.main()
