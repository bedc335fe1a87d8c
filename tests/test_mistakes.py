"""Mistakes of users, at every door: each ends in one sentence that names what was written, and never in a traceback."""

import re
import zipfile

import numpy as np
import pytest

import jfed
from jfed.core.errors import LONGEST, ConfigError, reason
from jfed.runner import room
from jfed.selectors import e3cs, uniform

BASE = jfed.Config(8, 2, 5)
POINTS = jfed.methods(BASE, ["uniform", "e3cs-0.5"])
TRAINED = jfed.replace(BASE, {"training": jfed.Training(samples_per_client=20, batch_size=5)})
CSV = "scheme,seed,accuracy,eta\n" + "".join(
    f"{scheme},{seed},{seed + len(scheme)},{eta}\n" for scheme in ("a", "bb") for seed in range(6) for eta in (1, 2)
)
FILES = {
    "file": "x",
    "ok.csv": CSV,
    "text.csv": "hello world\nthis is no table\n",
    "twice.csv": "scheme,seed,accuracy,accuracy\na,0,1,2\nb,0,2,3\n",
    "seedless.csv": "scheme,seed,accuracy\na,0,1\nb,,2\n",
    "bad.py": "def f(:\n",
    "nobody.py": "x = 1\n",
}
RUN = "run --num-clients 8 --cohort-size 2 --num-rounds 5 --seeds 2 --out out"
TABLE = "table ok.csv --metric accuracy"
TUNED = f"{TABLE} --tune-over eta"
COMMANDS = {  # command line: words of the sentence
    f"{RUN} --seeds -1": "--seeds -1 asks for no seed: give how many (30), which ones (0 1 5) or a range (0:30).",
    f"{RUN} --seeds 2000000000": "A study can have 1,000,000 seeds at most, found 2,000,000,000",
    f"{RUN} --num-clients 2000000000": "and this machine has 8 GB: take fewer rounds or clients.",
    f"{RUN} --num-rounds 1000000000": "A run of 1,000,000,000 rounds with 8 clients needs at least 48 GB of memory",
    f"{RUN} --num-clients 0": "There must be at least one client, found K = 0.",
    f"{RUN} --cohort-size 50": "Cannot select k = 50 of K = 8 clients.",
    f"{RUN} --schemes": "Name at least one scheme.",
    f"{RUN} --schemes E3CS": "unknown scheme 'E3CS' (did you mean 'e3cs-NUMBER'?)",
    f"{RUN} --world moon": "unknown world 'moon'; the choices are: bursts, ",
    f"{RUN} --mode right": "unknown mode 'right'; the choices are: corrected, faithful",
    f"{RUN} --out file": "The study's flags cannot be written to file/study.toml: File exists.",
    f"{RUN} --load gone.py": "gone.py.",
    f"{RUN} --load bad.py": "bad.py cannot be loaded: SyntaxError: invalid syntax",
    f"{RUN} --load nobody.py": "nobody.py defines no member: give it a frozen dataclass derived from",
    f"{RUN} --set selector.eta": "A setting is written PATH=VALUE, such as selector.eta=0.1, found 'selector.eta'.",
    f"{RUN} --set selector.eta=abc": "selector.eta must be float, found 'abc'.",
    f"{RUN} --set environment.success_rates=0.5": "success_rates must be tuple[float, ...], found 0.5: write (0.5,).",
    f"{RUN} --set selektor.eta=1": "unknown setting in 'selektor.eta': 'selektor' (did you mean 'selector'?)",
    f"{RUN} --set training.batch_size=3": "training.batch_size has a flag of its own here: give --batch-size in",
    f"{RUN} --set selector=uniform": "selector",
    f"{RUN} --set selector.eta=1 selector.eta=2": "selector.eta is given twice, as ",
    f"{RUN} --sweep selector.eta=0.1,0.1": "The axis selector.eta has 0.1 twice.",
    f"{RUN} --sweep selector.eta=0.1 selector.eta=0.2": "selector.eta is given twice, as ",
    f"{RUN} --sweep cohort_size=": "An axis is written PATH=VALUE,VALUE, such as selector.eta=0.1,0.5, found 'cohort_",
    f"{RUN} --sweep cohort_size=2..5": "cohort_size must be int, found '2..5'.",
    f"{RUN} --sweep cohort_size=2,50": "Cannot select k = 50 of K = 8 clients.",
    f"{RUN} --sweep selector=uniform,fedcs": "Schemes and modes are no axes: list them in jfed.methods (on a command",
    f"{RUN} --sweep mode=faithful,corrected": "Schemes and modes are no axes: list them in jfed.methods (on a command",
    f"{RUN} --sweep seed=1,2": "unknown setting in 'seed': 'seed'",
    f"{RUN} --sweep environment=volatility,mars": "unknown world 'mars' (did you mean 'markov'?); the choices are: ",
    f"{RUN} --schemes e3cs-0.5 --sweep selector.quota=0.5,2": "must lie in [0, 1], found 2 (",
    "table gone": "There are no results in gone: run an experiment with --out gone first.",
    "table text.csv --metric a": "text.csv has no column 'scheme': name it with --scheme-column",
    "table twice.csv --metric accuracy": "twice.csv: the column 'accuracy' is 2 times in the header (line 1)",
    "table seedless.csv --metric accuracy": "seedless.csv: line 3 has no seed",
    f"{TABLE[:-8]}acc": "no metric 'acc'; there are 'accuracy', 'eta'",
    f"{TABLE} --tune-over etta": "the frame has no column 'etta'; there are scheme, seed, accuracy, eta",
    f"{TABLE} --tune-over seed": "scheme, seed, the metric and the settings must be different columns",
    f"{TUNED} --tune-seeds 99": "tune seeds 99 are not in the frame",
    f"{TUNED} --tune-seeds 0 1 2 3 4 5": "a with eta 1 has no seeds left to report: all were used to choose it",
    f"{TABLE} --tune-seeds 0": "--tune-seeds are for choosing: name the swept settings to choose with --tune-over.",
    f"{TUNED} --baseline c": "no scheme 'c'; there are 'a', 'bb'",
    f"{TUNED} --out file": "file is a file: --out names a folder for tables.",
    "export gone --out a.csv": "There are no results in gone: run an experiment with --out gone first.",
    "variance ok.csv --metric accuracy": "variance components need two factors that vary, got none among data_seed",
    "variance ok.csv": "Name the column to compare with --metric: ok.csv has accuracy, eta.",
    "table ok.csv": "Name the column to compare with --metric: ok.csv has accuracy, eta.",
    "report ok.csv --out out": "Name the column to compare with --metric: ok.csv has accuracy, eta.",
    "claims gone.csv": "There is no per-run table at gone.csv: name the --out of a finished experiment.",
    "check gone.py": "gone.py.",
    "data get mnsit": "unknown data set 'mnsit' (did you mean 'mnist'?)",
}


@pytest.mark.usefixtures("types_unchecked")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command(told, monkeypatch, tmp_path, command):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(room, "total", lambda: 8e9)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(SystemExit) as stopped:
        told(*command.split())
    said = str(stopped.value)
    assert said.startswith("error: ") and COMMANDS[command] in said and "\n" not in said
    assert not (tmp_path / "out").exists()


CALLS = {
    "seeds: a number": (lambda: jfed.run(POINTS, 5), "Seeds must be a list of whole numbers or of jfed.seeds(...)"),
    "seeds: texts": (lambda: jfed.run(POINTS, ["0"]), "A seed is a whole number from 0 to 2^32 - 1, found '0'."),
    "seeds: fractions": (lambda: jfed.run(POINTS, np.array([0.5])), "A seed is a whole number from 0 to 2^32 - 1"),
    "seeds: fewer than none": (
        lambda: jfed.crossed_seeds(data=-1),
        "The number of data seeds must be at least 1, found -1.",
    ),
    "seeds: half of one": (lambda: jfed.crossed_seeds(model=1.5), "The number of model seeds must be at least 1, foun"),
    "seeds: too many": (lambda: jfed.run(POINTS, range(10**10)), "A study can have 1,000,000 seeds at most, found 10,"),
    "seeds: too many crossed": (lambda: jfed.crossed_seeds(10**4, 10**4), "A study can have 1,000,000 seeds at most"),
    "points: a config": (lambda: jfed.run(BASE, [0]), "Points must be a list, found Config(...): give a list such as"),
    "points: none": (lambda: jfed.run(None, [0]), "Points must be a list, found None: give a list such as"),
    "out": (lambda: jfed.run(POINTS, [0], out=5), "Results are written to a folder, found out=5."),
    "out: no name": (lambda: jfed.run(POINTS, [0], out=" "), "Results are written to a folder, found out=' '."),
    "out: no letter": (
        lambda: jfed.run(POINTS, [0], out="a\0b"),
        "Results are written to a folder, found out='a\\x00b'",
    ),
    "data: 3": (lambda: jfed.run(POINTS, [0], data_dir=3), "Data sets are read from a folder, found data_dir=3."),
    "layout: a dict": (lambda: jfed.run(POINTS, [0], layout={}), "The layout must be a jfed.Layout, found {}."),
    "layout: a time": (
        lambda: jfed.run(POINTS, [0], out="out", layout=jfed.Layout(max_seconds="3")),
        "Layout.max_seconds must be float | None, found '3'.",
    ),
    "layout: a size": (
        lambda: jfed.run(POINTS, [0], layout=jfed.Layout(block_size=2**31)),
        "Layout.block_size must be below 2^31, found 2147483648.",
    ),
    "rounds: too many": (
        lambda: jfed.run([jfed.Point(jfed.Config(8, 3, 2**31))], [0]),
        "num_rounds must be below 2^31, found 2147483648.",
    ),
    "a number that would be 0": (
        lambda: jfed.product(POINTS, {"selector.eta": [1e-46]}),
        "selector.eta must be 0 or from 1.2e-38 to 3.4e+38 in size, found 1e-46.",
    ),
    "a number that would be infinite": (
        lambda: jfed.run([jfed.Point(jfed.Config(8, 3, 4, selector=e3cs.Options((0.1, 1e39))))], [0]),
        "selector.quota must be 0 or from 1.2e-38 to 3.4e+38 in size, found (0.1, 1e+39).",
    ),
    "a number that is no float": (
        lambda: jfed.run(jfed.product(POINTS, {"selector.eta": [10**400]}), [0]),
        "E3CS's learning rate eta must be positive, found inf.",
    ),
    "an array for a word": (
        lambda: jfed.run([jfed.Point(jfed.Config(8, 3, 4, selector=e3cs.Options(sampler=np.ones(2))))], [0]),
        "selector.sampler must be Literal['sequential', 'exact'], found ndarray of shape (2,)",
    ),
    "a name: none": (
        lambda: jfed.run(jfed.methods(BASE, {"": "uniform"}), [0]),
        "The method of a point is the name of its scheme, a line of text, found ''.",
    ),
    "a name: two lines": (
        lambda: jfed.run(jfed.methods(BASE, {"a\nb": "uniform"}), [0]),
        "The method of a point is the name of its scheme, a line of text, found 'a\\nb'.",
    ),
    "a name: no text": (
        lambda: jfed.run(jfed.methods(BASE, {"\ud800": "uniform"}), [0]),
        "The method of a point is the name of its scheme, a line of text, found '\\ud800'.",
    ),
    "layout": (lambda: jfed.run(POINTS, [0], layout="fast"), "The layout must be a jfed.Layout, found 'fast'."),
    "load": (lambda: jfed.load(5), "Results are loaded from a folder or a file, found 5."),
    "schemes: a name": (lambda: jfed.methods(BASE, "uniform"), 'Schemes must be a list, such as ["uniform"], or a map'),
    "schemes: none": (lambda: jfed.methods(BASE, []), "Name at least one scheme."),
    "schemes: a number": (lambda: jfed.methods(BASE, [3]), "The scheme must be a name or options on jfed.Selector"),
    "schemes: a class": (lambda: jfed.methods(BASE, [uniform.Options]), "must be options, not their class: write Opt"),
    "a path: a number": (lambda: jfed.product(POINTS, {3: [1]}), "A setting is named by its path, such as 'selector.e"),
    "a path: a number, set": (lambda: jfed.replace(BASE, {3: 1}), "A setting is named by its path, such as 'selector"),
    "a path: a gap": (lambda: jfed.product(POINTS, {"selector..eta": [1]}), "unknown setting in 'selector..eta': ''"),
    "a path: beyond a number": (
        lambda: jfed.product(POINTS, {"num_rounds.x": [1]}),
        "There is no setting 'num_rounds.x': num_rounds has no settings of its own here.",
    ),
    "a path: of a scheme without settings": (
        lambda: jfed.zipped(POINTS, {"selector.eta": [0.1]}),
        "There is no setting 'selector.eta': the part before 'eta' has no settings of its own.",
    ),
    "a path: unknown room": (lambda: jfed.product(POINTS, {"selektor.eta": [1]}), "'selektor' (did you mean 'selector"),
    "changes of points": (lambda: jfed.replace(POINTS, {"cohort_size": 3}), "Changes are made to a jfed.Config, found"),
    "a method: a number": (
        lambda: jfed.run([jfed.Point(BASE, {"method": 3})], [0]),
        "The method of a point is the name of its scheme, a line of text, found 3.",
    ),
    "a name: a number": (lambda: jfed.register(3, uniform.Options()), "A name has small letters, digits, . and -, fo"),
    "one rate": (
        lambda: jfed.replace(BASE, {"environment.success_rates": 0.5}),
        "environment.success_rates must be tuple[float, ...], found 0.5: write (0.5,).",
    ),
    "a word for a truth": (
        lambda: jfed.replace(POINTS[1].config, {"selector.clip_exponent": "true"}),
        "selector.clip_exponent must be bool, found 'true': write True.",
    ),
    "a negative prox": (
        lambda: jfed.run(jfed.methods(jfed.replace(TRAINED, {"training.algorithm.prox": -1.0}), ["uniform"]), [0]),
        "FedProx's coefficient must be finite and not negative, found -1.",
    ),
    "data: a number": (lambda: jfed.Training(dataset=5), "The data set must be a name, the path of an .npz file or"),
    "an unknown algorithm": (
        lambda: jfed.Training(algorithm="FedAvgg"),
        "unknown algorithm 'FedAvgg' (did you mean 'f",
    ),
}


@pytest.mark.usefixtures("types_unchecked")
@pytest.mark.parametrize("call", CALLS)
def test_a_call(call):
    action, words = CALLS[call]
    with pytest.raises(ConfigError, match=re.escape(words)) as refused:
        action()
    assert "\n" not in str(refused.value)


def test_a_librarys_error_is_one_short_line():
    assert reason(ValueError("\n  bad magic number.\nmore")) == "bad magic number"
    assert reason(EOFError()) == "EOFError" and reason(OSError("a\x00b\x1b[31m")) == "a?b?[31m"
    long = reason(zipfile.BadZipFile(f"header {b'PK' * 500!r}"))
    assert len(long) == LONGEST + 3 and long.startswith("header b'PK") and long.endswith("...")
