"""Settings as NumPy's numbers, or as mappings, are kept as Python's numbers and pairs: one form, and one identity."""

import numpy as np
import pytest
from support import LAYOUT, SELECTION, points

import jfed
from jfed import config as configs
from jfed.algorithms import local_sgd
from jfed.data import synthetic
from jfed.envs import volatility
from jfed.models import dense
from jfed.runner import units
from jfed.runner.units import Layout
from jfed.selectors import e3cs

pytestmark = pytest.mark.usefixtures("types_unchecked")


def test_numpy_numbers_are_numbers():
    grid = {"cohort_size": np.arange(2, 4), "selector.eta": np.linspace(0.1, 0.5, 2)}
    found = jfed.product(points(SELECTION, "e3cs-0.5"), grid)
    plain = jfed.product(points(SELECTION, "e3cs-0.5"), {k: v.tolist() for k, v in grid.items()})
    assert [units.plan([p], [0], LAYOUT)[0].id for p in found] == [units.plan([p], [0], LAYOUT)[0].id for p in plain]


def numbers(integer, real):
    """Return a config, its training's and members' numbers included, and a layout, of two types of numbers."""
    training = jfed.Training(
        dataset=synthetic.Options(owners=integer(8), alpha=real(0.5)),
        partition_options={"min_samples": integer(2)},
        test_fraction=real(0.25),
        model=dense.Options(hidden=(integer(3),)),
        algorithm=local_sgd.Options(learning_rate=real(0.5)),
        batch_size=integer(4),
    )
    config = jfed.Config(
        num_clients=integer(8),
        cohort_size=integer(3),
        num_rounds=integer(6),
        selector=e3cs.Options(quota=real(0.5)),
        environment=volatility.Options(success_rates=(real(0.5), real(0.25))),
        training=training,
    )
    return config, Layout(block_size=integer(2), checkpoint_s=real(0.5))


@pytest.mark.parametrize(("integer", "real"), [(np.int64, np.float32), (np.uint8, np.float64), (np.int32, np.float16)])
def test_numpy_numbers_are_kept_as_pythons(integer, real):
    (config, layout), (plain, same) = numbers(integer, real), numbers(int, float)
    assert (config, layout) == (plain, same) and hash(config) == hash(plain) and repr(config) == repr(plain)
    assert repr(layout) == repr(same) and "np." not in repr((config, layout))
    configs.check(config)
    assert configs.digest(config) == configs.digest(plain)
    (point,) = jfed.methods(SELECTION, [config.selector])
    assert (
        point.coords["method"] == "e3cs-0.5" == jfed.methods(SELECTION, [e3cs.Options(real(0.5))])[0].coords["method"]
    )
    ids = [units.plan([jfed.Point(c)], [integer(3)], used)[0].id for c, used in ((config, layout), (plain, same))]
    assert ids[0] == ids[1]


def test_options_of_a_partition_may_be_a_mapping():
    pairs = (("share", 0.5), ("balanced", 0))
    base = jfed.Config(training=jfed.Training(partition_options=dict(pairs)))
    assert base == jfed.Config(training=jfed.Training(partition_options=pairs)) and base.training is not None
    assert base.training.partition_options == pairs
    path = "training.partition_options"
    assert jfed.replace(jfed.Config(training=jfed.Training()), {path: dict(pairs)}) == base
    swept, same = (jfed.product([jfed.Point(base)], {path: [values]}) for values in (dict(pairs), pairs))
    assert swept == same and swept[0].coords == {"partition_options": pairs}
