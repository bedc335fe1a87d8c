"""Lengths of chunks, and estimates of the time left."""

import pytest

from jfed.runner import watch
from jfed.runner.watch import Pace, Watch, duration, resuming


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that the test moves."""

    class Clock:
        now = 1000.0

    monkeypatch.setattr(watch.time, "monotonic", lambda: Clock.now)
    return Clock


def lengths(pace, seconds_per_round, total, compiling=30.0):
    found = []
    while sum(found) < total:
        rounds = min(pace.rounds(), total - sum(found))
        pace.took(rounds, rounds * seconds_per_round + (0 if found else compiling))
        found.append(rounds)
    return found


def test_chunks_take_ten_seconds_and_the_one_that_compiles_says_nothing():
    assert lengths(Pace(500), 0.0003, 2500) == [1, 1, 32, 500, 500, 500, 500, 466]
    assert lengths(Pace(25), 3.0, 12) == [1, 1, 3, 3, 3, 1]
    assert lengths(Pace(25), 60.0, 3) == [1, 1, 1]
    assert lengths(Pace(25), 0.1, 100, compiling=0.0) == [1, 1, 25, 25, 25, 23]
    assert lengths(Pace(1), 0.1, 3) == [1, 1, 1]


def test_a_pace_follows_the_rounds():
    pace = Pace(100)
    for seconds, expected in [(30.0, 1), (1.0, 10), (100.0, 1), (0.0, 32)]:
        pace.took(pace.rounds(), seconds)
        assert pace.rounds() == expected


def test_the_time_left_counts_all_that_is_left_and_no_compiling_as_a_rate(clock):
    # Two groups of 10 rounds each. Compiling takes 50 s, a round 2 s in the first group and 4 s in the second.
    seen = Watch([10, 10], runs=4, runs_done=0, show=False)
    assert seen.seconds_left() is None
    seen.group("a", 10, 10)
    clock.now += 50
    seen.chunk(1, 1)
    assert seen.seconds_left() is None  # only the chunk that compiled is done
    clock.now += 2
    seen.chunk(2, 1)
    assert seen.seconds_left() == pytest.approx(8 * 2 + 10 * 2 + 50)
    clock.now += 16
    seen.chunk(10, 8)
    assert seen.seconds_left() == pytest.approx(10 * 2 + 50)
    seen.unit(2)
    seen.group("b", 10, 10)
    assert seen.seconds_left() == pytest.approx(10 * 2 + 50)  # it is still to be compiled
    clock.now += 50
    seen.chunk(1, 1)
    assert seen.seconds_left() == pytest.approx(9 * 2)  # at the rate seen so far
    clock.now += 4
    seen.chunk(2, 1)
    assert seen.seconds_left() == pytest.approx(8 * 4)  # at its own rate
    assert str(seen) == "b: round 2 of 10, 2 of 4 runs done"


def test_a_log_gets_a_line_now_and_then(clock, capsys):
    seen = Watch([100], runs=21, runs_done=12, show=True)  # pytest's stderr is no terminal
    with seen:
        seen.group("e3cs-0.5", 100, 100)
        for t in range(1, 101):
            clock.now += 5
            seen.chunk(t, 1)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "e3cs-0.5: round 3 of 100, 12 of 21 runs done, about 8 min left"
    assert len(lines) == 9  # of 500 seconds
    with Watch([100], runs=1, runs_done=0, show=False) as silent:
        silent.group("e3cs-0.5", 100, 100)
        for t in range(1, 101):
            clock.now += 5
            silent.chunk(t, 1)
    assert capsys.readouterr().err == ""


def told(clock, capsys, seconds_per_round, rounds=100):
    """Return the lines of a log of one compile group whose compilation takes 100 s."""
    with Watch([rounds], runs=2, runs_done=0, show=True) as seen:
        clock.now += 20
        seen.group("uniform", rounds, rounds)
        clock.now += 100
        for t in range(1, rounds + 1):
            seen.chunk(t, 1)
            clock.now += seconds_per_round
    return capsys.readouterr().err.splitlines()


def test_nothing_is_said_to_be_left_while_a_program_compiles(clock, capsys):
    assert told(clock, capsys, 0.001)[0] == "uniform: compiling, 0 of 2 runs done"
    with Watch([1, 1], runs=2, runs_done=0, show=True) as seen:
        for _ in range(2):
            seen.group("uniform", 1, 1)
            clock.now += 0.1
            seen.chunk(1, 1)
            clock.now += 60
            seen.unit(1)
    assert "about 0 s left" not in capsys.readouterr().err


def test_a_command_that_takes_long_says_so_once(clock, capsys):
    sentence = "This takes about 16 min. Ctrl-C stops it cleanly; the same command resumes."
    assert told(clock, capsys, 10.0).count(sentence) == 1
    assert not [line for line in told(clock, capsys, 5.0) if line.startswith("This takes")]


@pytest.mark.parametrize(
    ("state", "line"),
    [
        ((4, 0, 0, ()), ""),
        ((4, 4, 0, ()), "All 4 runs are in out already: nothing is left to compute."),
        ((4, 1, 0, ()), "Resuming out: 1 of 4 runs are done."),
        ((4, 1, 2, (7, 7)), "Resuming out: 1 of 4 runs are done, 2 continue after round 7."),
        ((4, 0, 3, (9, 7)), "Resuming out: 0 of 4 runs are done, 3 continue after round 7 to 9."),
    ],
)
def test_a_resumed_study_says_so(state, line):
    assert resuming("out", *state) == line


def test_a_terminal_gets_a_bar(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")  # tells rich that stderr is a terminal
    with Watch([4], runs=2, runs_done=0, show=True) as seen:
        seen.group("uniform", 4, 4)
        for t in range(1, 5):
            seen.chunk(t, 1)
        seen.unit(2)
    assert "uniform: round 4 of 4, 2 of 2 runs done" in capsys.readouterr().err


def test_durations():
    said = {0.4: "0 s", 50: "50 s", 99: "99 s", 120: "2 min", 2040: "34 min", 11520: "3.2 h", 5939: "99 min"}
    assert {s: duration(s) for s in said} == said
