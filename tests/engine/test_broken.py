"""A run whose model is no longer finite: it is marked, its neighbours do not change, and tables count it as failed."""

import dataclasses

import numpy as np
import pytest
from support import LAYOUT, TRAINING, assert_same_bits, points, run

import jfed
from jfed import analysis
from jfed.results.load import tidy
from jfed.runner.units import Layout

FOUR = Layout(block_size=4, chunk_rounds=LAYOUT.chunk_rounds)
SOUND = (0.1, 0.05, 0.02)


def sweep(*rates):
    where = points(TRAINING, "uniform", environment__success_rates=(0.6, 0.9))
    return jfed.product(where, {"training.algorithm.learning_rate": list(rates)})


@pytest.fixture(scope="module")
def mixed():
    """Return the results of one block: a run that breaks among three that do not."""
    return run(sweep(0.1, 1e38, 0.05, 0.02), [0], FOUR)


def test_the_round_is_the_first_after_which_the_model_is_not_finite(mixed):
    broken = mixed.broken_round.values[mixed.learning_rate.values == 1e38][0]
    assert mixed.broken_round.dtype == np.int32
    assert broken > 0 and (mixed.broken_round.values[mixed.learning_rate.values < 1] == 0).all()
    wild = mixed.isel(run=np.flatnonzero(mixed.learning_rate == 1e38)[0])
    assert wild.num_steps.sel(round=slice(None, broken)).any()
    assert not wild.num_steps.sel(round=slice(broken + 1, None)).any()  # it trains no more
    assert wild.num_succeeded.sel(round=slice(broken + 1, None)).any()  # while it goes on selecting
    for name in ("test_loss", "test_accuracy"):
        assert np.isfinite(wild[name].sel(eval_round=slice(None, broken - 1))).all()
        assert np.isnan(wild[name].sel(eval_round=slice(broken, None))).all()
    assert np.isnan(wild.client_loss).all() and np.isnan(wild.client_accuracy).all()


@pytest.mark.parametrize("lane", ["sequential", pytest.param("vmapped", marks=pytest.mark.proof)])
def test_its_neighbours_keep_their_bits(lane):
    layout = dataclasses.replace(FOUR, lane=lane)
    mixed, calm = (run(sweep(0.1, rate, 0.05, 0.02), [0], layout) for rate in (1e38, 0.2))
    assert mixed.broken_round.any() and not calm.broken_round.any()
    for rate in SOUND:
        one, other = (d.isel(run=np.flatnonzero(d.learning_rate == rate)) for d in (mixed, calm))
        assert one.sizes["run"] == 1
        assert_same_bits(one, other)


def test_tables_count_it_as_failed():
    results = run(sweep(0.1, 1e38), [0, 1], FOUR)
    metrics = {"accuracy": results.test_accuracy.max("eval_round"), "returned": results.num_succeeded.sum("round")}
    assert np.isfinite(metrics["accuracy"]).any()  # a best round before it broke is no result either
    frame = tidy(results, metrics, by=["learning_rate"])
    for metric in metrics:
        summary = analysis.summarise(frame, metric)
        made = analysis.summary_table(summary, "digits")
        failed = {row[0]: row[made.columns.index("failed")] for row in made.rows}
        assert failed == {"uniform, learning_rate=0.1": "0", "uniform, learning_rate=1e+38": "2"}
        compared = analysis.compare(frame, metric, baseline="uniform, learning_rate=0.1")
        table = analysis.comparisons_table(compared, "digits")
        assert table.rows[1][-1] == "failed runs"
        assert "Failed runs of uniform, learning_rate=1e+38: seeds 0, 1." in " ".join(table.notes)
