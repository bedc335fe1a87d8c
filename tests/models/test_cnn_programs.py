"""Tests of the compiled programs of local training: no XLA convolution, no scatter in the pools, little memory.

Grouped convolutions, which XLA makes of convolutions with batched kernels, are many times slower on a CPU, and so are
the gradients of plain ones in a loop; the gradient of XLA's pool is a select-and-scatter. No program is executed.
"""

import functools
import re
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from flax import linen
from jax import lax

from jfed import catalog
from jfed.algorithms import local_sgd
from jfed.core.learning import Answers
from jfed.core.types import Dims
from jfed.engine.jobs import Carried, Data, Jobs
from jfed.engine.lanes import LANES
from jfed.models import classifier, losses

pytestmark = pytest.mark.check

CLIENTS, SAMPLES, BATCH = 20, 450, 40
NETWORKS = {
    "e3cs-emnist": ((28, 28, 1), 26),
    "e3cs-cifar": ((32, 32, 3), 10),
    "rbcs-f-fashion": ((28, 28, 1), 10),
    "wang": ((28, 28, 1), 10),
    "wang-cifar": ((32, 32, 3), 10),
}
# MB of temporary memory of a round on the sequential lane without the stacked updates: measured, plus a quarter
BUDGETS = {"e3cs-emnist": 32, "e3cs-cifar": 62, "rbcs-f-fashion": 40, "wang": 40, "wang-cifar": 60}
QUICK_FIRST = [pytest.param(n, marks=[] if n == "e3cs-emnist" else pytest.mark.proof) for n in NETWORKS]


def of(shape, dtype=jnp.int32) -> Any:
    return jax.ShapeDtypeStruct(shape, dtype)


@functools.cache
def lowered(name, lane) -> Any:
    """Return the lowered program of one round's training and aggregation: 20 clients of 450 images, batches of 40."""
    image, classes = NETWORKS[name]
    model = classifier.make(catalog.find("model", name), classifier.Inputs(image, classes, 255.0, 0.1, 0.3))
    algorithm = local_sgd.Options().make(Dims(CLIENTS, CLIENTS, BATCH), losses.mean_loss(model))
    own = jax.eval_shape(model.init, jax.random.key(0))
    keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(0), CLIENTS))
    pool = CLIENTS * SAMPLES
    data = Data(
        of((pool, *image), jnp.uint8), of((pool,)), of((1, CLIENTS, SAMPLES)), of((1, CLIENTS)), of((1, 1)), of((1,))
    )

    def round_of_one(weights, params, data, jobs, share, returned):
        runs = jax.tree.map(lambda w: w[None], weights)
        answer = LANES[lane].train(algorithm, Carried(runs), params, data, jobs)
        return algorithm.aggregate(None, weights, params, Answers(answer.move, answer.report, share, returned)).weights

    params = local_sgd.Params(*[of((1,), jnp.float32)] * 3)
    jobs = Jobs(of((CLIENTS,)), of((CLIENTS,)), of((CLIENTS,)), keys, of((CLIENTS,), bool))
    return jax.jit(round_of_one).lower(own, params, data, jobs, of((CLIENTS,), jnp.float32), of((CLIENTS,), bool))


@functools.cache
def compiled(name, lane) -> Any:
    return lowered(name, lane).compile()


def slow(program):
    """Return the names of slow operations in a program's lowered or optimised text (a library's convolution counts)."""
    names = re.findall(r'(convolution|select.and.scatter)"?\(', program)
    names += ["convolution"] * len(re.findall(r'custom_call_target="[^"]*conv', program))
    return {name.replace("_", "-") for name in names}


@pytest.mark.parametrize("name", QUICK_FIRST)
def test_the_sequential_lane_has_neither_convolution_nor_scatter_of_xla(name):
    before, after = lowered(name, "sequential").as_text(), compiled(name, "sequential").as_text()
    assert "stablehlo.dot_general" in before and " dot(" in after
    assert not slow(before) and not slow(after)


@pytest.mark.parametrize("name", QUICK_FIRST)
def test_a_round_of_twenty_clients_fits_its_memory(name):
    if jax.default_backend() != "cpu":
        pytest.skip("the budgets are of programs for a CPU")
    memory = compiled(name, "sequential").memory_analysis()
    updates = CLIENTS * memory.output_size_in_bytes
    assert 0 < memory.temp_size_in_bytes - updates < BUDGETS[name] * 1e6


@pytest.mark.parametrize("name", QUICK_FIRST)
def test_clients_side_by_side_make_no_grouped_convolution(name):
    assert not slow(lowered(name, "vmapped").as_text())


@pytest.mark.proof
def test_clients_side_by_side_make_no_grouped_convolution_when_optimised():
    assert not slow(lowered("e3cs-emnist", "vmapped").compile().as_text())


def test_xlas_own_layers_would_be_seen():
    def layer(x, kernel):
        x = lax.conv_general_dilated(x, kernel, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return (linen.max_pool(x, (2, 2), (2, 2)) ** 2).sum()

    each: Any = jax.jit(jax.vmap(jax.grad(layer, 1))).lower(
        of((3, 2, 6, 6, 1), jnp.float32), of((3, 3, 3, 1, 2), jnp.float32)
    )
    assert slow(each.as_text()) == {"convolution", "select-and-scatter"}
    optimised = each.compile().as_text()  # on a CPU select-and-scatter has become a loop here
    assert "convolution" in slow(optimised)
    assert re.search(r"(feature|batch)_group_count=[2-9]", optimised)
