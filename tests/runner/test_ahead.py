"""Programs that are compiled ahead: in another thread, once, and for any number of rounds."""

import threading

import jax
import pytest

import jfed
from jfed.engine import simulate
from jfed.runner.units import Layout
from jfed.selectors import fedcs
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
    names = ("uniform", "fedcs", "e3cs-0.5")
    together = run(points(SELECTION, *names), [0, 1], LAYOUT, out=tmp_path)
    assert [main for _, main in traced] == [True, False, False]
    assert len({spec for spec, _ in traced}) == 3
    for name in names:
        alone = run(points(SELECTION, name), [0, 1], LAYOUT)
        assert_same_bits(together.isel(run=together["method"].values == name), alone)


def test_a_program_ahead_has_the_precision_of_the_caller(traced):
    with jax.enable_x64(True):
        run(points(SELECTION, "uniform", "fedcs"), [0, 1], LAYOUT)
    assert len(traced) == 2


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
    assert tries == [False, True] and len(traced) == 1


def test_the_number_of_rounds_makes_no_program_of_its_own(traced):
    for rounds in (2, 5):
        changed = jfed.replace(SELECTION, {"num_rounds": rounds})
        assert run(points(changed, "uniform"), [0, 1], LAYOUT).sizes["round"] == rounds
    assert len(traced) == 1
