"""A run that no memory could hold is refused before anything of it is made."""

import pytest
from support import SELECTION, points

import jfed
from jfed.core.errors import ConfigError
from jfed.runner import room


def test_what_a_run_needs_grows_with_rounds_clients_and_kept_cohorts():
    base = room.least(SELECTION)
    assert base == 48 * SELECTION.num_rounds + 32 * SELECTION.num_clients
    longer, wider = (jfed.replace(SELECTION, {name: 10_000}) for name in ("num_rounds", "num_clients"))
    assert room.least(longer) > base and room.least(wider) > base
    assert room.least(longer, True) - room.least(longer) == 10_000 * SELECTION.num_clients // 8


def test_results_of_a_round_take_half_of_what_is_said_and_are_copied_once():
    results = jfed.run(points(SELECTION, "uniform"), [0])
    of_rounds = [values for values in results.data_vars.values() if "round" in values.dims]
    assert sum(values.nbytes for values in of_rounds) >= room.OF_A_ROUND / 2 * SELECTION.num_rounds


def test_a_run_that_just_fits_runs_and_one_byte_less_is_too_little(monkeypatch):
    monkeypatch.setattr(room, "total", lambda: room.least(SELECTION))
    jfed.run(points(SELECTION, "uniform"), [0])
    monkeypatch.setattr(room, "total", lambda: room.least(SELECTION) - 1)
    with pytest.raises(ConfigError, match="needs at least 0 GB of memory, and this machine has 0 GB: take fewer"):
        jfed.run(points(SELECTION, "uniform"), [0])
    monkeypatch.setattr(room, "total", lambda: room.least(SELECTION))
    with pytest.raises(ConfigError, match="take fewer rounds or clients"):
        jfed.run(points(SELECTION, "uniform"), [0], layout=jfed.Layout(record_selected=True))
