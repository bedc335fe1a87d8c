"""Options of composed worlds: names of parts, dotted paths, sweeps, classes, a part of one's own, and refusals."""

import jax
import numpy as np
import pytest
from walking import problem

import jfed
from jfed import catalog
from jfed import config as configs
from jfed.core import code
from jfed.core.errors import ConfigError
from jfed.core.options import static_half
from jfed.core.types import Dims
from jfed.envs import composed
from jfed.envs.composed import Coins, Cyclic, Deadline, Diurnal, First, Jump, LogNormal, Markov, Pareto, Shocks, Swap
from jfed.envs.parts import base
from jfed.runner import identity, specs, units
from jfed.runner.units import Layout

BASE = jfed.Config(8, 3, 10, selector="uniform", environment="composed")

OWN = '''
"""A part of one's own, and a world that has it."""

from dataclasses import dataclass

import jfed
from jfed.core.members import Name
from jfed.envs import composed
from jfed.envs.parts.base import OnOffOptions, independent


@dataclass(frozen=True)
class Halves(OnOffOptions):
    """Settings of halves."""

    names = (Name("halves"),)
    rate: float = 0.5

    def make(self, dims):
        """Return the process."""
        return independent(lambda params, about: params.rate + 0.0 * about.seconds)

    def expected(self):
        """Return the rate."""
        return self.rate


@dataclass(frozen=True)
class World(composed.Options):
    """A world with it."""

    names = (Name("half-world", {"availability": Halves()}),)
'''


def test_parts_have_names():
    by_name = composed.Options("markov", "shocks", "jump", "both", "heavy-tails", "partial", "joules")
    assert by_name.availability == Markov() and by_name.waiting == Deadline(partial=True)
    assert by_name == composed.Options(Markov(), Shocks(), Jump(), "both", Pareto(), Deadline(partial=True), "joules")
    assert configs.digest(jfed.replace(BASE, {"environment.availability": "Gilbert_Elliott"})) == configs.digest(
        jfed.replace(BASE, {"environment.availability": Markov()})
    )
    with pytest.raises(ConfigError, match=r"unknown part availability 'markow' \(did you mean 'markov'"):
        jfed.replace(BASE, {"environment.availability": "markow"})
    with pytest.raises(ConfigError, match=r"The part change must be a name or options on jfed\.ChangeOptions"):
        base.found(Markov(), base.ChangeOptions, "part change")
    with pytest.raises(ConfigError, match="must be options, not their class"):
        base.found(Jump, base.ChangeOptions, "part change")
    with pytest.raises(ConfigError, match=r"part change cannot be read from a file"):
        composed.Options(change="file.csv")


def test_ready_made_worlds_have_their_names():
    for name in composed.Options.called():
        options = catalog.find("environment", name.name)
        assert catalog.label(options) == name.name and type(options) is composed.Options
        params = options.params(problem(100, 20, 2500))
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(params))


def test_numbers_of_parts_are_swept_in_one_program():
    config = jfed.replace(BASE, {"environment": "phones"})
    axes = {
        "environment.availability.swing": [0.1, 0.2],
        "environment.speed.correlation": [-0.5, 0.5],
        "environment.waiting.deadline_s": [1.0, 2.5],
    }
    points = jfed.product([jfed.Point(config, {"method": "uniform"})], axes)
    assert len({unit.group for unit in units.plan(points, [0], Layout(block_size=8))}) == 1
    assert {point.config.environment.waiting.deadline_s for point in points} == {1.0, 2.5}
    other = jfed.replace(config, {"environment.waiting.partial": True})
    assert static_half(other.environment) != static_half(config.environment)
    half = static_half(config.environment).options
    assert half.waiting.partial is False
    with pytest.raises(ConfigError, match="make reads deadline_s, which is dynamic"):
        half.waiting.deadline_s  # noqa: B018
    with pytest.raises(ConfigError, match=r"unknown setting in 'environment\.speed\.tale'"):
        jfed.replace(config, {"environment.speed.tale": 2.0})
    with pytest.raises(ConfigError, match=r"environment\.speed\.jitter must be float, found 'much'"):
        jfed.replace(config, {"environment.speed.jitter": "much"})


def test_classes_are_those_of_the_first_part_that_has_some():
    def of(**more):
        return composed.Options(**more).client_class(problem(7)).tolist()

    assert of() == [0, 1, 2, 3, 0, 1, 2]
    assert of(success="always") == [0] * 7
    assert of(success="always", speed="tempo") == [0, 1, 2, 3, 0, 1, 2]
    assert of(success="always", availability=Markov((0.5, 0.4), (0.1, 0.2, 0.3))) == [0, 1, 2, 3, 4, 5, 0]


def test_costs_are_seconds_and_joules():
    step, exchange = composed.Options(energy="joules", speed="tempo").costs(4)
    np.testing.assert_allclose(step, [[0.01, 0.02, 0.04, 0.08], [0.05] * 4])
    np.testing.assert_allclose(exchange, [[0.5] * 4, [2 * 251200 * 1e-7] * 4])
    assert configs.resources(BASE) == 1 and configs.resources(jfed.replace(BASE, {"environment.energy": "joules"})) == 2


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        (Markov((0.8,), (-0.3,)), r"A memory must lie in \[-0\.25, 1\] where pi is 0\.8, found -0\.3"),
        (Markov((0.5,), good=1.5), r"good must lie in \[0, 1\], found 1\.5"),
        (Coins((0.5, 1.2)), r"The rates must lie in \[0, 1\], found 1\.2"),
        (Coins((0.5,) * 9), "There are 9 rates for only 8 clients"),
        (Coins(()), "At least one of the rates is needed"),
        (Shocks((0.9,), 0.2), r"A rate of 0\.9 is impossible, since a shock comes in 0\.2"),
        (Diurnal((0.8,), 0.3), r"swing must lie in \[0, 0\.2\], so that rates do, found 0\.3"),
        (Cyclic(period=0), "period must be at least 1, found 0"),
        (Jump((1.5,)), r"at must lie in \(0, 1\), as a share of the run"),
        (Swap(first=-1), r"Classes count from 0, found \(-1, 3\)"),
        (Pareto(tail=1.0), "tail must be above 1, so that times have a mean"),
        (LogNormal(correlation=1.5), r"correlation must lie in \[-1, 1\], found 1\.5"),
        (Deadline(0.0), "deadline_s must be positive, found 0"),
        (First(0.9), r"over must be at least 1, found 0\.9"),
    ],
)
def test_impossible_numbers_are_refused(part, sentence):
    with pytest.raises(ConfigError, match=sentence):
        part.params(problem(8))


def test_of_those_asked_the_goal_counts():
    asked = {13: 10, 26: 20, 20: 16, 1: 1, 130: 100}
    assert {k: int(First(1.3).params(problem(200, k)).first) for k in asked} == asked


def test_a_part_of_ones_own(tmp_path):
    path = tmp_path / "my_halves.py"
    path.write_text(OWN)
    (world,) = catalog.load_file(path)
    config = jfed.replace(BASE, {"environment.availability": "halves"})
    part = config.environment.availability
    assert type(part).__name__ == "Halves" and config.environment.expected_availability() == 0.5
    assert catalog.find("environment", "half-world").availability == part and issubclass(world, composed.Options)
    config.environment.make(Dims(8, 8))
    point = jfed.Point(configs.normal(config), {"method": "uniform"})
    spec = specs.make_spec(point.config, Layout(), 4, None, "cpu")
    kind = identity.kind_of(point.config, spec, None, identity.Site("cpu", "float32", "cpu", 1))
    assert kind.reusable and kind.what["code"]["environment.availability"] == code.digest(type(part))
