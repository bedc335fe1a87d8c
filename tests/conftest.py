"""Set-up before jax and jfed are imported: two CPU devices, checked shapes, no cache between runs."""

import contextlib
import os
import platform
import sys

import hypothesis
import jax
import jaxtyping
import pytest
from jaxtyping import install_import_hook

# Shapes and types of every annotated function of these modules are checked at each call and trace.
CHECKED = [
    "jfed.algorithms",
    "jfed.controllers",
    "jfed.core.ops",
    "jfed.core.options",
    "jfed.core.prng",
    "jfed.core.learning",
    "jfed.core.types",
    "jfed.engine.ending",
    "jfed.engine.evaluate",
    "jfed.engine.facts",
    "jfed.engine.lanes",
    "jfed.engine.round",
    "jfed.engine.simulate",
    "jfed.engine.train",
    "jfed.envs",
    "jfed.models",
    "jfed.selectors",
]
install_import_hook(CHECKED, "beartype.beartype")

EMITTERS_ONLY = (0, 11)  # from this jax on, loops have one kind of emitter, and the flag that chooses it is an error

jax.config.update("jax_num_cpu_devices", 2)
jax.config.update("jax_enable_compilation_cache", False)

hypothesis.settings.register_profile("jfed", deadline=None, derandomize=True, database=None, max_examples=50)
hypothesis.settings.load_profile("jfed")


@pytest.fixture
def told(monkeypatch, capsys):
    """Return a function that runs `jfed` with some arguments in a wide terminal and returns what it prints."""
    from jfed import cli

    def run(*arguments):
        monkeypatch.setenv("COLUMNS", "300")
        monkeypatch.setattr(sys, "argv", ["jfed", *map(str, arguments)])
        cli.main()
        return capsys.readouterr().out

    return run


@pytest.fixture
def plain_pdf(monkeypatch):
    """Write figures without cutting fonts to size, which takes most of the time of an experiment at a tiny size.

    No other process does it, since it would not know and takes as long to start. There is no page either.
    """
    from jfed.commands import page
    from jfed.report.figures import savers, style

    monkeypatch.setitem(style.RC, "pdf.fonttype", 3)
    monkeypatch.setattr(savers, "MOST", 0)
    monkeypatch.setattr(page, "tell", lambda *_, **__: None)


@contextlib.contextmanager
def _as_before():
    """Forget the members from outside, and their modules, that are loaded here: the catalogue is one for a process."""
    from jfed.catalog import outside

    files, registered, modules = {**outside._files}, {**outside.registered}, {**sys.modules}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outside, "_files", {**files})
        patch.setattr(outside, "registered", {field: {**entries} for field, entries in registered.items()})
        yield
    for name in {*sys.modules} - {*modules}:
        if "pytest-of" in str(getattr(sys.modules[name], "__file__", None)):
            del sys.modules[name]


@pytest.fixture(autouse=True, scope="module")
def module_as_before():
    """Let the other files of tests not know the members that this one loads."""
    with _as_before():
        yield


@pytest.fixture(autouse=True)
def each_as_before(module_as_before):
    """Let the other tests not know the members that this one loads; a module's fixture may load some for all."""
    with _as_before():
        yield


@pytest.fixture(autouse=True)
def small_blocks(request):
    """Let any number of runs of a quick test have blocks of at most two, so that they share programs."""
    from jfed.runner import units

    with pytest.MonkeyPatch.context() as patch:
        if not any(request.node.get_closest_marker(name) for name in ("check", "proof")):
            patch.setattr(units, "SELECTION_RUNS", 2)
        yield


@pytest.fixture(scope="module")
def as_in_use():
    """Give the engine's programs the loops of use, from XLA's newer emitters: tests of their bits should have them."""
    from jfed.engine import compiler, simulate

    simulate.program.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        if jax.__version_info__ < EMITTERS_ONLY:
            options = compiler.ALWAYS["cpu"] | {"xla_cpu_use_fusion_emitters": True}
            patch.setitem(compiler.ALWAYS, "cpu", options)
        yield
    simulate.program.cache_clear()


@pytest.fixture
def types_unchecked():
    """Turn off the tests' own checks of types, which users do not have and which would refuse much of this first."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def pytest_collection_modifyitems(items):
    """Run long files first, so that no worker is left alone with one at the end."""
    items.sort(key=lambda item: "experiments" not in item.path.name)  # stable


def pytest_configure(config):
    """Turn off what takes XLA long, except with `-m proof`: optimisation, and with an older jax its newer emitters.

    Without optimisation the quick suite compiles over three times faster, and without the emitters three times again.
    Numbers are then rounded differently than in use, which once revealed a choice that depended on equal roundings.
    Without optimisation LLVM fails on some AVX-512 code ("Cannot select: SUBV_BROADCAST_LOAD"), hence AVX2.
    """
    if config.getoption("markexpr") != "proof":
        flags = ["--xla_backend_optimization_level=0", "--xla_cpu_parallel_codegen_split_count=1"]  # a core per worker
        if platform.machine().lower() in ("x86_64", "amd64"):
            flags.append("--xla_cpu_max_isa=AVX2")
        if jax.__version_info__ < EMITTERS_ONLY:
            flags.append("--xla_cpu_use_fusion_emitters=false")
        os.environ.setdefault("XLA_FLAGS", " ".join(flags))
