"""Schemes that ran under different settings: every comparison refuses them, and names the difference."""

import logging

import numpy as np
import pandas as pd
import pytest
from support import LAYOUT, SELECTION, TRAINING, points, run

import jfed
from jfed import analysis
from jfed.claims.runs import Missing, Runs
from jfed.commands import table
from jfed.comparisons.tuning import choose
from jfed.core.errors import ConfigError
from jfed.report.components import components_table
from jfed.results import alike, load

SEEDS = [0, 1]
METRIC = "num_succeeded"


def at(k, *names):
    return points(jfed.replace(SELECTION, {"cohort_size": k}), *names)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """Return a directory in which e3cs-0.5 selected three clients and uniform two."""
    out = tmp_path_factory.mktemp("mixed")
    run(at(3, "e3cs-0.5"), SEEDS, out=out)
    run(at(2, "uniform"), SEEDS, out=out)
    return out


def tidy(results):
    return load.tidy(results, {METRIC: load.score(results, METRIC)})


DIFFERENT = (
    r"e3cs-0.5 and uniform ran under different settings: cohort_size \(3 and 2\)"
    r"|uniform and e3cs-0.5 ran under different settings: cohort_size \(2 and 3\)"
)


def test_every_door_refuses(mixed):
    results = jfed.load(mixed)
    frame = tidy(results)
    doors = [
        lambda: analysis.compare(frame, METRIC),
        lambda: analysis.summarise(frame, METRIC),
        lambda: analysis.compare_times(frame.assign(t=[1.0, 2.0, 3.0, 4.0]), "t", 9),
        lambda: choose_and_compare(frame),
        lambda: components_table(frame, METRIC, "t"),
        lambda: table.show_tables(results, mixed, table.Settings(mixed), None),  # type: ignore[arg-type]
    ]
    for door in doors:
        with pytest.raises(ConfigError, match=DIFFERENT):
            door()
    with pytest.raises(Missing, match=DIFFERENT):
        Runs(frame).paired(["e3cs-0.5", "uniform"], METRIC)
    assert len(Runs(frame).paired(["uniform"], METRIC)) == 2


def choose_and_compare(frame):
    chosen = choose(frame.assign(eta=[0.1, 0.1, np.nan, np.nan]), METRIC, ["eta"])
    return analysis.compare(chosen.reported, METRIC)


def test_a_table_from_a_file_knows_it_too(mixed, tmp_path):
    tidy(jfed.load(mixed)).to_csv(tmp_path / "runs.csv", index=False)
    with pytest.raises(ConfigError, match="ran under different settings"):
        analysis.compare(pd.read_csv(tmp_path / "runs.csv"), METRIC)


def test_what_a_command_varies_on_purpose_is_no_difference(tmp_path):
    swept = run(jfed.product(at(3, "e3cs-0.5", "uniform"), {"cohort_size": [2, 3]}), SEEDS)
    assert len(set(swept.setting.values)) == 1
    for _, rows in load.swept(swept):
        assert len(analysis.compare(tidy(load.part(swept, rows)), METRIC).rows) == 1
        assert analysis.compare(tidy(load.part(swept, rows)), METRIC).remarks == ()
    by_hand = [jfed.Point(at(k, "uniform")[0].config, {"method": f"k-{k}"}) for k in (2, 3)]
    found = analysis.compare(tidy(run(by_hand, SEEDS)), METRIC)
    assert found.remarks == ("k-2 and k-3 differ in more than the scheme: cohort_size (2 and 3).",)


def test_a_setting_that_varies_with_the_scheme_is_a_note(tmp_path):
    run(at(3, "uniform") + at(2, "e3cs-0.5"), SEEDS, out=tmp_path)
    frame = tidy(jfed.load(tmp_path))
    (note,) = analysis.compare(frame, METRIC).remarks
    assert note == "e3cs-0.5 and uniform differ in more than the scheme: cohort_size (2 and 3)."
    assert note in analysis.comparisons_table(analysis.compare(frame, METRIC), "t").notes


def test_a_sweep_that_is_filled_level_by_level_is_one(tmp_path):
    for k in (2, 3):
        run(jfed.product(at(3, "e3cs-0.5", "uniform"), {"cohort_size": [k]}), SEEDS, out=tmp_path)
    results = jfed.load(tmp_path)
    assert len(set(results.setting.values)) == 1 and len(load.swept(results)) == 2


def test_a_scheme_of_another_setting_does_not_hide_among_the_levels_of_a_sweep(tmp_path):
    run(jfed.product(at(3, "e3cs-0.5"), {"cohort_size": [2, 3]}), SEEDS, out=tmp_path)
    run(at(4, "uniform"), SEEDS, out=tmp_path)
    results = jfed.load(tmp_path)
    for _, rows in load.swept(results):
        with pytest.raises(ConfigError, match=r"cohort_size \(several values and 4\)"):
            analysis.compare(tidy(load.part(results, rows)), METRIC)


def test_data_precision_and_code_are_part_of_a_setting():
    what = {"config": {"": "Config", "k": 3, "selector": {"": "a"}}, "data": "d", "precision": "float32"}
    what |= {"code": {"selector": "1", "environment": "2"}}
    for change, words in [
        ({"data": "e"}, "data (d and e)"),
        ({"precision": "float64"}, "precision (float32 and float64)"),
        ({"code": {"selector": "1", "environment": "3"}}, "code of the environment"),
        ({"config": what["config"] | {"k": 4}}, "k (3 and 4)"),
    ]:
        settings = [alike.setting(what, ()), alike.setting(what | change, ())]
        with pytest.raises(ConfigError) as caught:
            alike.require_alike(["a", "b"], settings)
        assert f"a and b ran under different settings: {words}." in str(caught.value)
    other = what | {"config": what["config"] | {"selector": {"": "b"}}, "code": {"selector": "9", "environment": "2"}}
    assert alike.setting(other, ()) == alike.setting(what, ())


def test_several_versions_are_a_note(tmp_path):
    frame = tidy(run(at(3, "e3cs-0.5", "uniform"), SEEDS))
    assert analysis.compare(frame, METRIC).remarks == ()
    frame["versions"] = ["engine 5, jax 1"] * 2 + ["engine 6, jax 1"] * 2
    made = analysis.comparisons_table(analysis.compare(frame, METRIC), "t")
    assert "Made by several versions: engine 5, jax 1; engine 6, jax 1." in made.notes


def test_of_two_runs_of_one_name_the_last_one_counts_and_it_is_said(tmp_path, caplog):
    caplog.set_level(logging.WARNING, "jfed")
    run(at(3, "uniform"), SEEDS, out=tmp_path)
    last = run(at(2, "uniform"), SEEDS, out=tmp_path)
    assert caplog.messages == []
    found = jfed.load(tmp_path)
    assert found.config.values.tolist() == last.config.values.tolist()
    assert caplog.messages == [
        f"{tmp_path} holds 2 runs of uniform twice: cohort_size (3 and 2). Those that a command requested last are"
        " taken."
    ]
    for cohort in (3, 2, 3):
        again = run(at(cohort, "uniform"), SEEDS, out=tmp_path)  # nothing is computed
        assert jfed.load(tmp_path).run_id.values.tolist() == again.run_id.values.tolist()


def test_old_results_say_nothing_and_are_let_pass():
    frame = pd.DataFrame({"scheme": list("aabb"), "seed": [0, 1] * 2, "x": [1.0, 2.0, 3.0, 5.0], "setting": [""] * 4})
    assert len(analysis.compare(frame, "x", higher_is_better=True).rows) == 1


def test_variables_have_units_and_long_names(tmp_path):
    results = run(points(TRAINING, "uniform", eval_every=4), [0], LAYOUT, out=tmp_path)
    assert results["round_time_s"].attrs == {"units": "s", "long_name": "simulated time of the round"}
    assert all({"units", "long_name"} <= set(v.attrs) for v in jfed.load(tmp_path).data_vars.values())
