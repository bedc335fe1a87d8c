"""Programs that are compiled ahead: in another thread, once, and for any number of rounds."""

import threading

import jax
import pytest

import jfed
from jfed.engine import simulate
from jfed.runner import ahead, units
from jfed.runner.units import Layout
from jfed.selectors import fedcs, uniform
from tests.support import SELECTION, assert_same_bits, points, run

LAYOUT = Layout(block_size=3)  # with the default length of chunks, no other file uses these programs


class Traced(list):
    """The specs of traced chunks, with the threads that traced them."""

    def append(self, spec):
        super().append((spec, threading.current_thread() is threading.main_thread()))


@pytest.fixture
def traced(monkeypatch):
    simulate.program.cache_clear()
    found = Traced()
    monkeypatch.setattr(simulate, "TRACES", found)
    return found


def test_the_next_groups_programs_are_compiled_once_in_another_thread(traced, tmp_path):
    names = ("uniform", "fedcs")
    together = run(points(SELECTION, *names), [0, 1], LAYOUT, out=tmp_path)
    assert {spec.selector.kind: main for spec, main in traced} == {uniform.Options: True, fedcs.Options: False}
    assert len(traced) == 2
    for name in names:
        alone = run(points(SELECTION, name), [0, 1], LAYOUT)
        assert_same_bits(together.isel(run=together["method"].values == name), alone)


def test_a_program_ahead_has_the_precision_of_the_caller(monkeypatch):
    seen = []
    monkeypatch.setattr(ahead, "_compile", lambda unit, devices: seen.append(jax.config.values["jax_enable_x64"]))
    group = units.plan(points(SELECTION, "uniform"), [0, 1], LAYOUT)
    for wide in (False, True):
        with jax.enable_x64(wide):
            assert ahead.begin(group, 2).wait(60)
    assert seen == [False, True]


@pytest.mark.check
def test_an_error_ahead_is_met_where_the_program_is_used(traced, monkeypatch):
    real, tries = simulate.make_round, []

    def broken(spec):
        if spec.selector.kind is fedcs.Options:
            tries.append(threading.current_thread() is threading.main_thread())
            raise ArithmeticError
        return real(spec)

    monkeypatch.setattr(simulate, "make_round", broken)
    with pytest.raises(ArithmeticError):
        run(points(SELECTION, "uniform", "fedcs"), [0, 1], LAYOUT)
    assert tries == [False, True]


def test_the_number_of_rounds_makes_no_program_of_its_own():
    specs = set()
    for rounds in (2, 5):
        (unit,) = units.plan(points(jfed.replace(SELECTION, {"num_rounds": rounds}), "uniform"), [0, 1], LAYOUT)
        specs.add(unit.spec)
    assert len(specs) == 1
