"""The rules for data sources hold for what ships with jfed, and each catches a toy that breaks it."""

import dataclasses
import itertools

import numpy as np
import pytest
import toys
from broken import require_caught, toy

import jfed
from jfed import catalog, contracts
from jfed.contracts.check import BENCHES

pytestmark = pytest.mark.check


def changed(**fields):
    def load(self, data_dir=None):
        return dataclasses.replace(toys.ToyData.load(self), **fields)

    return toy(toys.ToyData, load=load)


COUNT = itertools.count()
BROKEN = [
    ("static fields", "noise must be static, as all fields of a data set are",
     toy(toys.ToyData, annotations={"noise": float}, noise=0.1)),
    ("loads", r"load must return a data set, such as jfed.arrays\(\.\.\.\)\.load\(\), found NoneType",
     toy(toys.ToyData, load=lambda self, data_dir=None: None)),
    ("loads", "load raises ZeroDivisionError", toy(toys.ToyData, load=lambda self, data_dir=None: 1 / 0)),
    ("sound", "images must be uint8 or float32, found float64", changed(images=np.zeros((30, 4)))),
    ("sound", "images must be finite", changed(images=np.full((30, 4), np.nan, np.float32))),
    ("sound", "test_images must be like images", changed(test_images=np.zeros((0, 4), np.uint8))),
    ("sound", "labels must be int32, one for each example", changed(labels=np.zeros(29, np.int32))),
    ("sound", "labels must be from 0 to num_classes - 1 = 0", changed(num_classes=1)),
    ("sound", "do not scale the examples to finite numbers", changed(std=0.0)),
    ("owners", "has_owners.. returns True, but the data set has no owners", changed(owners=None)),
    ("owners", "returns False, but the data set has owners", toy(toys.ToyData, has_owners=lambda self: False)),
    ("owners", "owners must be int32 from 0", changed(owners=np.ones(30, np.int32))),
    ("owners", "Each owner must have an example", changed(owners=(np.arange(30) % 2 * 2).astype(np.int32))),
    ("same", "load gives other data when it is called again",
     toy(toys.ToyData, load=lambda self, data_dir=None: toys.ToyData(next(COUNT)).load())),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "sentence", "kind"), BROKEN)
def test_a_broken_rule_is_named_in_a_sentence(rule, sentence, kind):
    require_caught(rule, sentence, kind)


def test_every_rule_of_its_own_has_a_toy_that_breaks_it():
    own = {rule for rule, _ in BENCHES["dataset"][1]} - {"options", "names"}
    assert own == {rule for rule, *_ in BROKEN}


@pytest.mark.parametrize("name", catalog.names("dataset"))
def test_what_ships_keeps_the_rules(name, monkeypatch, tmp_path):
    for variable in ("JFED_DATA_DIR", "TFDS_DATA_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    found = contracts.check(catalog.find("dataset", name))
    assert [finding for finding in found if finding.sentence] == []
    here = name == "digits" or name.startswith("synthetic")
    assert not here or len(found) == len(BENCHES["dataset"][1])


def test_what_is_not_here_is_no_fault(monkeypatch):
    def load(self, data_dir=None):
        raise jfed.DataError("the files are not here (searched everywhere)")

    found = contracts.check(toy(toys.ToyData, load=load))
    assert [finding.rule for finding in found] == ["options", "names", "static fields", "loads"]
    assert found[-1].sentence is None and found[-1].note == "not loaded here: the files are not here"
