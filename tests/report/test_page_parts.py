"""What the page says: problems and settings, bands, sweeps, settings as code, and the command that writes it."""

import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from scipy import stats

import jfed
from jfed.analysis import jain
from jfed.commands import page
from jfed.commands.meanings import known
from jfed.commands.output import Output
from jfed.config import canonical, digest
from jfed.report.page import again, clients, curves, settings, sweeps, verdicts
from jfed.report.page.levels import num_rounds, of_frame, of_results
from jfed.report.page.parts import Picture
from tests.report.paged import results

SCHEMES = {"uniform": 0.5, "fedcs": 0.9}


def swept(path, values, **schemes):
    """Return results of schemes at the values of a setting; None among the values is a scheme without it."""
    parts = [results({name: rate + (v or 0) / 10}, seeds=3) for name, rate in schemes.items() for v in values[name]]
    import xarray as xr

    whole = xr.concat(parts, "run", data_vars="all")
    given = [v for name in schemes for v in values[name] for _ in range(3)]
    return whole.assign_coords({path.rpartition(".")[2]: ("run", np.array(given, float), {"path": path})})


def test_a_band_is_the_t_interval_cut_to_what_is_possible():
    values = np.array([[0.2, 0.99, np.nan], [0.4, 1.0, 0.5], [0.3, 0.98, 0.5]])
    mean, low, high = curves.band(values, (0.0, 1.0))
    expected = stats.t.interval(0.95, 2, 0.3, stats.sem(values[:, 0]))
    np.testing.assert_allclose((low[0], high[0]), expected)
    np.testing.assert_allclose(mean[:2], [0.3, 0.99])
    assert high[1] == 1.0 and np.isnan([mean[2], low[2], high[2]]).all()


def test_thinned_curves_keep_both_ends_and_say_so():
    keep, said = curves.thinned(2500)
    assert keep[0] == 0 and keep[-1] == 2499 and len(keep) == 250 and np.ptp(np.diff(keep)) <= 1
    assert said == " Drawn are 250 of 2500 points, evenly spaced; nothing is averaged between them."
    assert curves.thinned(250)[0].tolist() == list(range(250)) and curves.thinned(250)[1] == ""


@pytest.mark.parametrize(
    ("seeds", "caption"), [(1, "One seed."), (5, "one line per seed"), (6, "Band: pointwise 95 %")]
)
def test_few_seeds_have_lines_in_place_of_a_band(seeds, caption):
    (level,) = of_results(results(SCHEMES, seeds), (), "uniform")
    picture = curves.pictures(level, {"uniform": 0, "fedcs": 1})[0]
    assert caption in picture.caption and picture.series == ("uniform", "fedcs")
    kinds = [renderer.glyph.__class__.__name__ for renderer in picture.model.renderers]
    assert kinds.count("Line") == 2
    assert kinds.count("MultiLine") == (2 if seeds == 5 else 0) and kinds.count("VArea") == (2 if seeds == 6 else 0)


def test_of_a_setting_of_schemes_each_has_its_best_and_a_problem_makes_tables():
    data = swept("selector.eta", {"uniform": [None], "e3cs": [0.1, 1]}, uniform=0.5, e3cs=0.6)
    (level,) = of_results(data, (), "uniform")
    assert level.knobs == ("eta",) and level.baseline == "uniform" and level.schemes == ("uniform", "e3cs")
    means = level.swept.groupby("eta").num_succeeded.mean()
    assert means[1.0] > means[0.1] and level.frame[level.frame.scheme == "e3cs"].eta.tolist() == [1.0] * 3
    np.testing.assert_array_equal(level.runs["num_succeeded"].values.sum(1), level.frame.num_succeeded)
    (row,) = level.compared("num_succeeded", {}).rows
    assert (row.scheme, row.verdict) == ("e3cs", "not judged") and "Chosen: e3cs eta 1.0." in level.notes
    (level,) = of_results(data, (), "uniform", tune_seeds=[0])
    assert len(level.swept) == 9 and level.frame.seed.tolist() == [1, 2, 1, 2]
    assert level.compared("num_succeeded", {}).rows[0].verdict != "not judged"
    data = swept("cohort_size", {"uniform": [2, 4], "e3cs": [2, 4]}, uniform=0.5, e3cs=0.6)
    levels = of_results(data, (), "uniform")
    assert [level.title for level in levels] == ["cohort_size = 2", "cohort_size = 4"]
    assert {level.knobs for level in levels} == {()} and all(level.swept is None for level in levels)
    data = swept("training.algorithm.prox", {"uniform": [2, 4], "e3cs": [2, 4]}, uniform=0.5, e3cs=0.6)
    (level,) = of_results(data, (), "uniform")
    assert level.knobs == ("prox",) and set(level.frame.prox) == {4.0}


def test_a_sweep_is_ranked_and_drawn_by_its_number_of_settings():
    data = swept("selector.eta", {"uniform": [None], "e3cs": [0.1, 1]}, uniform=0.5, e3cs=0.6)
    levels, marks = of_results(data, (), "uniform"), {"uniform": 0, "e3cs": 1}
    (part,) = sweeps.parts(levels, (), marks, {})
    picture, grid = part.blocks
    by_scheme = {r.data_source.name: r.data_source.data for r in picture.model.renderers}
    means = levels[0].swept.groupby(["scheme", "eta"], dropna=False).num_succeeded.mean()
    assert by_scheme["uniform"]["eta"].tolist() == pytest.approx([0.1, 1])  # level, over all values
    np.testing.assert_allclose(by_scheme["uniform"]["mean"], means["uniform"].iloc[0])
    np.testing.assert_allclose(by_scheme["e3cs"]["mean"], means["e3cs"])
    assert [row[1:3] for row in grid.table.rows] == [("e3cs", "1"), ("e3cs", "0.1"), ("uniform", "-")]
    text = np.where(np.isnan(data["eta"]), "", np.where(data["eta"] == 1, "inc", "0.1"))
    (part,) = sweeps.parts(of_results(data.assign_coords(eta=data["eta"].copy(data=text)), (), None), (), marks, {})
    assert part.blocks[0].model.xaxis.major_label_overrides == {0: "0.1", 1: "inc"}
    b = np.where(np.isnan(data["eta"]), np.nan, data["seed"].values % 2)
    data = data.assign_coords(b=("run", b, {"path": "selector.b"}), seed=("run", np.zeros(9, int)))
    data = data.isel(run=np.flatnonzero(np.isin(np.arange(9), (0, 3, 4, 6, 7))))
    (part,) = sweeps.parts(of_results(data, (), "uniform"), (), marks, {})
    picture, grid = part.blocks
    assert isinstance(picture, Picture) and picture.title.startswith("e3cs: ") and len(grid.table.rows) == 5
    (cells,) = [r.data_source.data for r in picture.model.renderers]
    assert sorted(zip(cells["eta"], cells["b"], strict=True)) == [("0.1", "0"), ("0.1", "1"), ("1", "0"), ("1", "1")]
    assert "Without both settings: uniform" in picture.caption


def test_a_scheme_alone_on_many_problems_says_how_it_was_chosen():
    parts = [
        swept("selector.eta", {"e3cs": [0.1, 1]}, e3cs=rate).assign_coords(k=k) for k, rate in ((2, 0.2), (3, 0.6))
    ]
    import xarray as xr

    whole = xr.concat([part.assign_coords(k=("run", [int(part["k"])] * 6)) for part in parts], "run", data_vars="all")
    levels = of_results(whole, (), None)
    (part,) = verdicts.tables(levels, {}, None)
    assert "Chosen: e3cs eta 1.0." in part.blocks[0].table.notes and len(part.blocks[0].table.rows) == 2
    assert any("biased towards looking good" in note for note in part.blocks[0].table.notes)


def test_runs_that_share_seeds_are_not_taken_for_independent():
    data = results({"uniform": 0.5, "fedcs": 0.7}, seeds=10)
    seed = data["seed"].values
    crossed = {"data_seed": seed, "model_seed": seed // 5, "environment_seed": seed % 5}
    data = data.assign_coords({name: ("run", values) for name, values in crossed.items()})
    (level,) = of_results(data, (), "uniform")
    picture = curves.pictures(level, {"uniform": 0, "fedcs": 1})[0]
    assert "one line per seed, since runs share seeds" in picture.caption and "Band" not in picture.caption
    told = clients.evenness(level).data.set_index(["scheme", "statistic"]).loc[("uniform", "Gini of selections")]
    alone = clients.evenness(of_results(data.drop_vars(list(crossed)), (), "uniform")[0]).data
    own = alone.set_index(["scheme", "statistic"]).loc[("uniform", "Gini of selections")]
    assert told["mean"] == own["mean"] and told["high"] - told["low"] > own["high"] - own["low"]


def test_a_failed_run_leaves_its_cell_of_the_map_blank():
    points = [(eta, b, seed) for eta in (0.1, 1.0) for b in (0, 1) for seed in (0, 1)]
    frame = pd.DataFrame([("e3cs", *point, 5.0) for point in points], columns=["scheme", "eta", "b", "seed", "x"])
    frame.loc[1, "x"] = np.nan
    (picture,) = sweeps._figures(frame, ("eta", "b"), "x", {"e3cs": 0}, "", {})
    (cells,) = [r.data_source.data for r in picture.model.renderers]
    assert np.isnan(cells["mean"]).sum() == 1 and "Blank: a run has failed." in picture.caption


def test_of_the_problem_one_or_two_settings_are_drawn():
    data = swept("cohort_size", {"uniform": [2, 4], "e3cs": [2, 4]}, uniform=0.5, e3cs=0.6)
    marks = {"uniform": 0, "e3cs": 1}
    (part,) = sweeps.parts(of_results(data, (), "uniform"), ("cohort_size",), marks, {})
    assert [picture.title for picture in part.blocks] == ["Models returned to the server, all rounds, by cohort_size"]
    names = ["cohort_size", "a", "b"]
    data = data.assign_coords(dict.fromkeys(names[1:], data["cohort_size"]))
    (part,) = sweeps.parts(of_results(data, (), "uniform"), names, marks, {})
    assert part.blocks[0].sentences[0].startswith("Swept: cohort_size, a, b.")


def test_verdicts_are_told_by_scheme():
    rows = [(s, seed, m + seed / 50) for s, m in {"a": 0.9, "b": 0.1, "c": 0.1}.items() for seed in range(6)]
    frame = pd.DataFrame(rows, columns=["scheme", "seed", "accuracy"])
    frame.loc[frame.scheme == "c", "accuracy"] += [0.01, -0.01] * 3
    frame.loc[frame.scheme == "a", "accuracy"] += [0.0, 0.01, 0.03] * 2

    def groups(baseline):
        levels = [of_frame(frame, ["accuracy"], baseline)]
        (part,) = verdicts.in_words(levels, verdicts.compared(levels, {}))
        return part.blocks[0].groups

    assert groups("b") == (("better than b", "better", ("a",)), ("no difference shown", "neutral", ("c",)))
    assert groups(None) == (
        ("a is better than", "better", ("b", "c")),
        ("no difference shown", "neutral", ("b and c",)),
    )


def test_clients_are_in_the_order_of_their_class():
    data = results({"uniform": 0.5}, seeds=2, rounds=10, clients=4)
    data["times_selected"].values[:] = [[1, 5, 3, 9], [7, 2, 4, 8]]  # classes 0, 1, 0, 1
    (level,) = of_results(data, (), None)
    picture = clients.selections(level, {"0": {"environment.success_rates": [0.1, 0.9]}}, "x")
    cells = next(r.data_source.data for r in picture.model.renderers if r.data_source.name)
    np.testing.assert_allclose(cells["share of rounds"], [0.4, 0.35, 0.35, 0.85])
    assert cells["success rate"] == ["0.1", "0.1", "0.9", "0.9"]
    table = clients.evenness(level)
    assert table.columns[1] == "Jain's index of selections" and len(table.rows) == 1
    expected = [(18**2) / (4 * (1 + 25 + 9 + 81)), (21**2) / (4 * (49 + 4 + 16 + 64))]
    assert table.data["mean"][0] == pytest.approx(np.mean(expected))


def test_clients_that_a_run_does_not_have_are_none():
    counts = np.array([[2.0, 2.0, np.nan, np.nan], [4.0, 0.0, 0.0, 0.0]])
    assert jain(counts).tolist() == [1.0, 0.25]
    data = results({"uniform": 0.5}, seeds=2, rounds=4)
    data = data.assign(num_selected=data["num_selected"].where((data["seed"] == 0) | (data["round"] < 3)))
    assert num_rounds(data).tolist() == [4, 2]


def test_settings_unlike_the_defaults_come_first():
    config = canonical(jfed.Config(num_clients=8, selector="uniform"))
    data = results(SCHEMES, seeds=3).assign_coords(broken=("run", np.zeros(6)))
    data["broken_round"] = ("run", np.array([0, 0, 0, 0, 7, 0]))
    first, unlike, like = settings.parts(data, settings.Origin({"0": config}), known())
    assert unlike.title == "Settings that differ from the defaults (1)" and like.folded and not unlike.folded
    assert unlike.blocks[0].table.rows == (("num_clients", "8", "100", "number of clients"),)
    assert ("environment.deadline_s", "1", "1", "how long the server waits in a round.") in like.blocks[0].table.rows
    table = first.blocks[0].table
    assert table.columns == ("scheme", "seeds done", "failed")
    assert table.rows == (("uniform", "3: 0 to 2", "-"), ("fedcs", "3: 0 to 2", "1: 1"))


@pytest.mark.usefixtures("types_unchecked")  # whole numbers for 1.0
def test_the_code_is_that_of_the_same_points():
    training = jfed.Training(partition_options={"share": 0.7}, partition="primary", algorithm="fedprox", batch_size=5)
    base = jfed.Config(num_clients=9, cohort_size=2, environment="wireless", training=training)
    points = jfed.product(
        jfed.methods(base, ["uniform", "e3cs-0.5", "e3cs-inc"], "corrected"), {"selector.eta": [0.1, 1]}
    )
    pairs = [(json.loads(json.dumps(canonical(p.config))), p.coords) for p in points]
    code = again.code(pairs, "range(3)", known())
    assert code.endswith('results = jfed.run(points, seeds=range(3), out="out/again")\n')
    names = {}
    exec(code.rpartition("results = ")[0], names)
    assert [digest(p.config) for p in names["points"]] == [digest(p.config) for p in points]
    assert [p.coords for p in names["points"]] == [p.coords for p in points]


@pytest.mark.parametrize(
    ("seeds", "code"),
    [({}, "range(3)"), ({"seed": [1, 4, 5]}, "[1, 4, 5]"),
     ({"data_seed": [0, 0, 1]}, "[jfed.seeds(*row) for row in [(0, 0), (1, 0), (2, 1)]]")],
)  # fmt: skip
def test_seeds_as_code(seeds, code):
    data = results({"uniform": 0.5}, seeds=3).assign_coords({n: ("run", v) for n, v in seeds.items()})
    assert again.seeds(data) == code


@pytest.fixture
def ran(told, tmp_path):
    flags = {"seeds": 2, "num-rounds": 8, "num-clients": 4, "cohort-size": 2, "out": tmp_path}
    told("run", "--schemes", "uniform", "fedcs", *(word for k, v in flags.items() for word in (f"--{k}", v)))
    return tmp_path


@pytest.mark.check
def test_the_command_writes_the_page_of_what_a_command_ran(ran, told):
    assert told("report", ran) == f"{ran / 'report.html'}\n"
    text = (ran / "report.html").read_text()
    assert "selector&#34;: jfed.selectors.fedcs.Options()" in text and "compiling included" in text
    history = json.loads((ran / "manifest.json").read_text())
    (ran / "manifest.json").write_text(json.dumps([history[0] | {"command": "jfed run --seeds 2"}]))
    (ran / "tables" / "per_run.csv").write_text("experiment,scheme,seed,cep\ne3cs_numerical,uniform,0,1\n")
    said = io.StringIO()
    Output(ran).tell(Console(file=said))
    assert said.getvalue().endswith(f"Report   {ran / 'report.html'}\n")
    other = ran / "deep" / "other.html"
    assert told("report", ran, "--metric", "num_succeeded", "--out", other) == f"{other}\n"
    text = other.read_text()
    assert (
        "jfed run --seeds 2" in text
        and "Verdicts on the claims" in text
        and "Jain&#39;s index of selections</h4>" not in text
    )


def test_a_csv_file_needs_a_metric(told, tmp_path):
    file = tmp_path / "runs.csv"
    file.write_text(
        "scheme,seed,accuracy\n" + "".join(f"{s},{i},0.{i}{j}\n" for j, s in enumerate("ab") for i in (1, 2))
    )
    with pytest.raises(SystemExit, match=r"Name the column to compare with --metric: .* has accuracy"):
        told("report", file)
    assert told("report", file, "--metric", "accuracy") == f"{tmp_path / 'runs.html'}\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "Results are named without a flag, and --out is where to write"),
        (("nowhere",), "There are no results in nowhere"),
        ((".", "--out", "."), "is a folder: --out names the file to write"),
    ],
)
def test_mistakes_are_one_sentence(told, arguments, sentence):
    with pytest.raises(SystemExit, match=re.escape(sentence)):
        told("report", *arguments)


def test_a_page_that_cannot_be_made_ends_no_experiment(tmp_path):
    (tmp_path / "results").mkdir()
    said = io.StringIO()
    page.tell(tmp_path, Console(file=said, width=20))
    assert said.getvalue().startswith(f"Report   none: There are no results in {tmp_path}")
