"""Traces and tables from files: reproduced exactly, identified by their content, and refused in a sentence."""

import dataclasses
import pickle

import numpy as np
import pytest
from walking import ons, problem

import jfed
from jfed import config as configs
from jfed.core.errors import ConfigError, DataError
from jfed.core.options import static_half
from jfed.envs import composed
from jfed.envs.composed import Tempo, Trace

ROWS = [(0, 0, 3), (2, 1, 2), (0, 5, 9), (3, 0, 10), (2, 2, 4), (33, 8, 9.5)]  # intervals may touch


def write(path, rows=ROWS, header="client,start,end"):
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def expected(num_clients, num_rounds, round_s=1.0, wrap=None):
    """Return who is on in each round, (T, K), interval by interval."""
    on = np.zeros((num_rounds, num_clients), bool)
    for client, start, end in ROWS:
        for t in range(num_rounds):
            when = t * round_s % wrap if wrap else t * round_s
            on[t, client] |= start <= when < end
    return on


@pytest.mark.parametrize(("num_rounds", "round_s", "repeats"), [(10, 1.0, False), (25, 0.37, False), (23, 1.5, True)])
def test_a_trace_is_reproduced_exactly(tmp_path, num_rounds, round_s, repeats):
    trace = Trace.from_file(write(tmp_path / "phones.csv"), round_s, repeats)
    on, chance = ons(trace, 34, num_rounds, 2)
    want = expected(34, num_rounds, round_s, 10 if repeats else None)
    np.testing.assert_array_equal(on, [want] * 2)
    np.testing.assert_array_equal(chance, on)
    assert want.any(0).sum() == 4 and trace.expected() == pytest.approx(21.5 / (10 * 34))


def test_a_trace_is_its_content(tmp_path):
    csv = write(tmp_path / "a.csv")
    client, start, end = map(np.array, zip(*ROWS, strict=True))
    np.savez(tmp_path / "b.npz", client=client, start=start, end=end)
    other = write(tmp_path / "c.csv", [(0, 0, 4), *ROWS[1:]])
    base = jfed.Config(40, 5, 10, environment="composed")
    made = [jfed.replace(base, {"environment.availability": str(path)}) for path in (csv, tmp_path / "b.npz", other)]
    assert isinstance(made[0].environment.availability, Trace)
    one, two, three = map(configs.digest, made)
    assert one == two != three and one != configs.digest(base)
    assert static_half(made[0].environment) == static_half(made[2].environment)  # they share a program
    back = pickle.loads(pickle.dumps(made[0]))
    assert configs.digest(back) == one and back.environment == made[0].environment
    own = [config.environment.availability.params(problem(40)).words for config in (back, made[0])]
    np.testing.assert_array_equal(*own)
    configs.check(configs.normal(made[0]))
    assert configs.digest(configs.normal(made[0])) == one
    longer = jfed.replace(made[0], {"environment.availability.round_s": 0.5})
    assert longer.environment.availability.content is made[0].environment.availability.content


@pytest.mark.parametrize(
    ("rows", "header", "sentence"),
    [
        ([(0, 0, 3), (1, 4, 2)], "client,start,end", r"line 3: an interval must end after its start 4, found 2"),
        (
            [(0, 0, 3), (0, 4, 6), (0, 2, 4)],
            "client,start,end",
            "line 4: this interval of client 0 overlaps that of line 2",
        ),
        ([(0, -1, 3)], "client,start,end", "line 2: an interval must not begin before 0, found -1"),
        ([(0.5, 0, 3)], "client,start,end", "line 2: client must be a whole number from 0, found 0.5"),
        ([(0, 0, 3), (0, "late", 9)], "client,start,end", "line 3: start must be a finite number"),
        ([(0, 0)], "client,start,end", "line 2: there are 2 values for 3 columns"),
        ([(0, 0, 3)], "who,start,end", "must have the columns client, start and end, found who, start, end"),
        (
            [(0, 0, 3, 9)],
            "client,start,end,end",
            "client, start and end, found client, start, end, end",
        ),
        ([], "client,start,end", "has no rows: it must have the columns"),
    ],
)
def test_a_bad_trace_is_refused_by_line(tmp_path, rows, header, sentence):
    with pytest.raises(DataError, match=sentence):
        Trace.from_file(write(tmp_path / "bad.csv", rows, header))


def test_a_trace_must_fit_the_run(tmp_path):
    trace = Trace.from_file(write(tmp_path / "a.csv"))
    with pytest.raises(ConfigError, match=r"line 7: there is no client 33 among 20, counted from 0"):
        trace.params(problem(20))
    with pytest.raises(ConfigError, match=r"ends at 10, before round 11, which begins at 10: let it repeat"):
        trace.params(problem(40, num_rounds=11))
    assert dataclasses.replace(trace, repeats=True).params(problem(40, num_rounds=11)).words.shape == (11, 2)
    with pytest.raises(ConfigError, match="A trace needs a file: write availability"):
        Trace().params(problem(4))
    with pytest.raises(DataError, match=r"nowhere\.csv cannot be read"):
        Trace.from_file(tmp_path / "nowhere.csv")
    (tmp_path / "no.npz").write_text("text")
    with pytest.raises(DataError, match="is no npz file with arrays of numbers"):
        Trace.from_file(tmp_path / "no.npz")


def test_times_from_a_table(tmp_path):
    header = "client,step_s,exchange_s"
    table = Tempo.from_file(write(tmp_path / "t.csv", [(1, 0.2, 3), (0, 0.1, 2), (2, 0.4, 0)], header))
    assert table == Tempo((0.1, 0.2, 0.4), (2.0, 3.0, 0.0), 0.0)
    assert composed.Options(speed=str(tmp_path / "t.csv")).speed == table
    for rows, sentence in [
        ([(0, 1, 1), (0, 2, 2)], "line 3: client 0 is there twice"),
        ([(0, 1, 1), (2, 2, 2)], "lacks client 1, though it has client 2"),
        ([(0, -1, 1)], "line 2: times must not be negative"),
    ]:
        with pytest.raises(DataError, match=sentence):
            Tempo.from_file(write(tmp_path / "bad.csv", rows, header))
