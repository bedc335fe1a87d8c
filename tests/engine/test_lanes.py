"""Lanes: every job is done once with its own steps, and an accelerator does no work that nobody needs."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import LAYOUT, TRAINING, points, run

from jfed import catalog
from jfed.core.interfaces import Algorithm
from jfed.core.learning import Answer, Report
from jfed.core.rarely import rarely
from jfed.core.types import Probe
from jfed.engine import simulate, vmapped
from jfed.engine.evaluate import client_quality
from jfed.engine.jobs import Carried, Data, Jobs
from jfed.engine.lanes import LANES
from jfed.models import classifier
from jfed.runner import memory, site, units
from jfed.runner.units import Layout

K = 5  # clients of each of two runs
INTS = {"dtype": jnp.int32}
KEYS = jax.random.split(jax.random.key(0), 9)


def tally() -> Algorithm:
    """Return an algorithm that adds 10 run + client at each step, and answers the sum, its steps and those planned."""

    def start(key, received, params, data):
        return jnp.int32(0), jnp.int32(0), received.steps

    def step(local, weights, params, data):
        total, steps, planned = local
        return total + weights + params + data.num_samples, steps + 1, planned

    def finish(local, weights, params):
        total, steps, planned = local
        return Answer(move=(total, steps, planned, weights), report=Report(loss=jnp.float32(0)))

    return Algorithm(start, step, finish, aggregate=lambda *_: None)  # type: ignore[arg-type, return-value]


@functools.cache
def training(lane: str, least: int) -> Any:
    """Return the compiled training of nine jobs; `least` is the least number of places."""
    sizes = jnp.tile(jnp.arange(K, **INTS), (2, 1))
    data = Data(
        jnp.zeros((1, 1), jnp.uint8), jnp.zeros(1, **INTS), jnp.zeros((2, K, 1), **INTS), sizes,
        jnp.zeros((2, 1), **INTS), jnp.ones(2, **INTS),
    )  # fmt: skip
    algorithm, runs = tally(), jnp.array([0, 100], **INTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vmapped, "LEAST", least)
        one = jax.jit(lambda jobs: LANES[lane].train(algorithm, Carried(runs), runs // 10, data, jobs).move)
        one(jobs_of([(0, 0, 0, False)] * 9))
    return one


def jobs_of(job: list[tuple[int, int, int, bool]]) -> Jobs:
    run, client, steps, returns = (np.array(x) for x in zip(*job, strict=True))
    steps = np.where(returns, steps, 0).astype(np.int32)
    return Jobs(run.astype(np.int32), client.astype(np.int32), steps, KEYS, returns)  # type: ignore[arg-type]


@pytest.mark.parametrize("lane", LANES)
@settings(max_examples=25)
@given(
    job=st.lists(st.tuples(st.integers(0, 1), st.integers(0, K - 1), st.integers(0, 6), st.booleans()), min_size=9,
                 max_size=9),
    least=st.sampled_from([1, 4]),
)  # fmt: skip
def test_every_job_that_returns_makes_its_own_steps(lane, job, least):
    total, steps, planned, weights = (np.asarray(x) for x in training(lane, least)(jobs_of(job)))
    for i, (number, client, many, returns) in enumerate(job):
        if returns:
            each = 100 * number + 10 * number + client
            assert (total[i], steps[i], planned[i], weights[i]) == (each * many, many, many, 100 * number)


@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("cost", [1, 3, 10])
def test_a_map_leaves_out_what_is_not_wanted(lane, cost, monkeypatch):
    monkeypatch.setattr(vmapped, "IMAGES", 6)  # 6, 2 or 1 at once
    wanted = jnp.array([False, True, True, False, True, True, False, True])
    xs = jnp.arange(8.0)
    got = LANES[lane].each(lambda x: {"twice": 2 * x}, xs, wanted, cost)["twice"]
    np.testing.assert_array_equal(got, np.where(wanted, 2 * xs, np.nan))
    np.testing.assert_array_equal(LANES[lane].each(lambda x: 2 * x, xs, cost=cost), 2 * xs)
    nobody = LANES[lane].each(lambda x: 2 * x, xs, jnp.zeros(8, bool), cost)
    assert np.isnan(nobody).all()


def test_a_rare_branch_gives_each_entry_its_own_value():
    keys, needed = jax.random.split(jax.random.key(0), 3), jnp.array([True, False, True])

    def one(needed, key, x):
        return rarely(needed, lambda key, x: (jax.random.permutation(key, 4), 2 * x), (jnp.arange(4), x), key, x)

    xs = jnp.array([1, 2, 3])
    for x in (xs, xs.astype(float)):
        order, values = jax.vmap(one)(needed, keys, x)
        alone = [one(*args) for args in zip(needed, keys, x, strict=True)]
        np.testing.assert_array_equal(order, [a[0] for a in alone])
        np.testing.assert_array_equal(values, [2, 2, 6])
    shared = jax.vmap(one, in_axes=(0, None, None))(needed, keys[0], jnp.int32(5))
    np.testing.assert_array_equal(shared[1], [10, 5, 10])
    always = jax.vmap(one, in_axes=(None, 0, 0))(jnp.bool_(True), keys, xs)
    np.testing.assert_array_equal(always[1], 2 * xs)


# ------------------------------------------------------------------------------------------ what is in a program


def inner(eqn):
    """Return the programs inside an operation."""
    values = [v for value in eqn.params.values() for v in (value if isinstance(value, tuple | list) else [value])]
    return [jaxpr for v in values if (jaxpr := getattr(v, "jaxpr", v if hasattr(v, "eqns") else None)) is not None]


def names(jaxpr, through=("jit", "pjit", "closed_call", "custom_vmap_call", "custom_jvp_call", "scan")):
    """Return the operations of a program, those of its calls included, those of branches and loops not."""
    found = []
    for eqn in jaxpr.eqns:
        found.append(eqn.primitive.name)
        if eqn.primitive.name in through:
            found += [name for one in inner(eqn) for name in names(one, through)]
    return found


def loops(jaxpr):
    """Return the bodies of all loops, outermost first."""
    found = []
    for eqn in jaxpr.eqns:
        for one in inner(eqn):
            found += ([one] if eqn.primitive.name == "while" else []) + loops(one)
    return found


@pytest.mark.parametrize("algorithm", ["fedprox", "adaptive", "scaffold"])
def test_a_step_on_an_accelerator_neither_sorts_nor_exchanges(algorithm):
    (point,) = points(TRAINING, "uniform", training__algorithm=catalog.find("algorithm", algorithm))
    (unit,) = units.plan([point], [0], Layout(lane="vmapped"))
    program, block, pool = simulate.program(unit.spec), unit.block(), unit.pool()
    args = (pool, block, program.shapes(block), simulate.clock(1, 2, 6, 1))
    bodies = [names(body) for body in loops(program.chunk.trace(*args).jaxpr.jaxpr)]  # type: ignore[attr-defined]
    steps = [body for body in bodies if body.count("dot_general") == 2]  # forward, and for the weights of softmax
    assert steps and not any({"sort", "scatter"} & set(body) for body in steps)
    assert any("cond" in body for body in steps)  # in which the new order of an epoch is drawn


@pytest.mark.check
def test_what_all_clients_score_takes_little_memory_beside_a_large_pool():
    """100 clients of 16 runs on the 60,000 images of CIFAR-10: one client at a time or a broadcast pool, 320 GiB."""
    runs, clients, images = 16, 100, 500
    inputs = classifier.Inputs((32, 32, 3), 10, 255.0, 0.5, 0.25)
    model = classifier.make(catalog.find("model", "e3cs-cifar"), inputs)

    def of(*shape, dtype=jnp.int32):
        return jax.ShapeDtypeStruct(shape, dtype)

    weights = jax.tree.map(lambda x: of(runs, *x.shape, dtype=x.dtype), jax.eval_shape(model.init, jax.random.key(0)))
    pool = of(60_000, 32, 32, 3, dtype=jnp.uint8), of(60_000)
    data = Data(*pool, of(runs, clients, images), of(runs, clients), of(runs, 1), of(runs))
    probe = Probe(of(runs, clients, dtype=bool), of(runs))
    keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(0), runs))
    score = jax.jit(lambda *args: client_quality(LANES["vmapped"], model, *args))
    found = score.lower(weights, data, probe, keys).compile().memory_analysis()
    assert found is not None and found.temp_size_in_bytes < 3 * 2**30


@pytest.mark.check
def test_memory_is_checked_for_the_end_of_a_run_too(monkeypatch):
    seen = []
    monkeypatch.setattr(memory, "check", lambda compiled, *_: seen.append(memory.needed(compiled)))

    run(points(TRAINING, "uniform"), [0], LAYOUT)
    assert len(seen) == 2 and all(seen)


def test_products_on_an_accelerator_have_a_precision_that_is_part_of_the_runs_identity(monkeypatch):
    assert simulate.products() is None and site.here().precision == "float32"
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert simulate.products() == "highest" and site.here().precision == "float32, products highest"
    with jax.default_matmul_precision("tensorfloat32"):
        assert site.here().precision == "float32, products tensorfloat32"


def test_a_program_multiplies_with_that_precision(monkeypatch):
    monkeypatch.setattr(simulate, "products", lambda: "highest")
    made = simulate._compiled(1, lambda x: x @ x, simulate.RUNS, simulate.RUNS)
    assert "Precision.HIGHEST" in str(made.trace(jnp.ones((2, 2))).jaxpr)


def test_places_and_runs_fill_an_accelerator():
    assert [vmapped.places_of(jobs) for jobs in (1, 32, 64, 1024)] == [1, 16, 32, 256]
    assert [vmapped.runs(slots) for slots in (8, 32, 100, 5000)] == [128, 32, 10, 1]
    assert LANES["sequential"].runs(8) == 1
