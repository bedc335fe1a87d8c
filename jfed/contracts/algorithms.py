"""Rules for algorithms, checked from outside by tiny runs through the engine.

One program holds several runs: one in which all clients return, one in which none does, one without steps, and one for
a second value of each dynamic field.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jfed.config import Config, replace
from jfed.contracts.finding import Failed, Rules, require, shared
from jfed.contracts.options import Bench, K, arrays, frozen, made, named
from jfed.contracts.programs import host
from jfed.contracts.sweeps import NUM_ROUNDS, TINY
from jfed.controllers import fixed
from jfed.core.errors import ConfigError
from jfed.core.interfaces import Algorithm
from jfed.core.types import Dims
from jfed.engine import simulate
from jfed.engine.lanes import LANES
from jfed.engine.spec import made as made_by
from jfed.envs import volatility
from jfed.models import classifier
from jfed.models.classifier import Inputs
from jfed.models.losses import mean_loss
from jfed.runner.units import Layout, Unit, plan
from jfed.sweep import Point


class AlgorithmBench(Bench):
    """One algorithm under test."""

    makes = Algorithm

    def make(self, options: Any) -> Any:
        """Return the algorithm for the loss of a small model."""
        model = classifier.make(TINY.model, Inputs((8, 8, 1), 10, 16.0, 0.4, 0.3))
        return made_by(options, self.makes, Dims(K, K, TINY.batch_size), mean_loss(model))

    @shared
    def points(self) -> list[Point]:
        """The runs: all clients return, none returns, no steps; then a second value of each dynamic field."""
        base = Config(K, 3, NUM_ROUNDS, selector="uniform", controller=fixed.Options(3), training=TINY)
        base = replace(base, {"environment": volatility.Options(success_rates=(1.0,))})
        own = replace(base, {"training.algorithm": self.options})
        runs = [
            own,
            replace(own, {"environment.success_rates": (0.0,)}),
            replace(own, {"controller.steps": 0}),
            *(replace(base, {"training.algorithm": options}) for options in self.varied.values()),
        ]
        return [Point(config, {"method": "checked", "value": i}) for i, config in enumerate(runs)]

    def unit(self, lane: str) -> Unit:
        """Return the runs as one block of one program, on a lane.

        Raises:
            Broken: the runs need more than one program.
        """
        self.member  # noqa: B018 (whose errors name the function)
        layout = Layout(block_size=len(self.points), chunk_rounds=NUM_ROUNDS, lane=lane)  # type: ignore[arg-type]
        units = plan(self.points, [0], layout)
        require(
            len(units) == 1,
            "A sweep over the member's numbers compiles several programs: a shape depends on a dynamic number.",
            "one trace",
        )
        return units[0]

    def trained(self, lane: str) -> tuple[Any, Any]:
        """Return the states of all runs before the first round and after the last one, on the host."""
        try:
            unit = self.unit(lane)
            program = simulate.program(unit.spec)
            pool, block = unit.pool(), unit.block()
            start = program.init(block)
            before = host(start)
            when = simulate.clock(1, NUM_ROUNDS + 1, NUM_ROUNDS, NUM_ROUNDS)
            return before, host(program.chunk(pool, block, start, when)[0])
        except (ConfigError, Failed):
            raise
        except TypeError as error:  # such as that of a loop whose carry changes its type
            raise Failed("a training run") from error

    @shared
    def sequential(self) -> tuple[Any, Any]:
        """The states before and after a training run in which clients are trained one after another."""
        return self.trained("sequential")


def _weights(state: Any, run: int) -> list[np.ndarray]:
    return [np.asarray(leaf)[run] for leaf in jax.tree.leaves(state.weights)]


# --------------------------------------------------------------------------------------------------- rules


def learns(bench: AlgorithmBench) -> None:
    """Check that the model of a run in which all clients return changes and stays finite."""
    before, after = bench.sequential
    pairs = list(zip(_weights(before, 0), _weights(after, 0), strict=True))
    require(all(np.isfinite(new).all() for _, new in pairs), "After a few rounds of training a weight is not finite.")
    require(
        any((old != new).any() for old, new in pairs), "The model never moves, though all clients train and return."
    )


def still(bench: AlgorithmBench) -> None:
    """Check that the model stays the same bit for bit if no client returns, or if none makes a step."""
    before, after = bench.sequential
    for run, what in ((1, "no client returned"), (2, "no client made a step")):
        same = all((a == b).all() for a, b in zip(_weights(before, run), _weights(after, run), strict=True))
        require(same, f"The model moved in rounds in which {what}: aggregate must return the same weights then.")


def lanes(bench: AlgorithmBench) -> None:
    """Check that the models are the same whether clients are trained one after another or side by side."""
    other = next(lane for lane in LANES if lane != "sequential")
    states = bench.sequential[1], bench.trained(other)[1]
    for run in range(len(bench.points)):
        same = all(
            np.allclose(a, b, rtol=1e-3, atol=1e-5)
            for a, b in zip(_weights(states[0], run), _weights(states[1], run), strict=True)
        )
        require(
            same,
            "Clients trained side by side (under jax.vmap) give another model than clients trained one after another:"
            " step must depend on its own client alone.",
        )


def wide(bench: AlgorithmBench) -> None:
    """Check that in double precision a round can be traced and the weights are float64."""
    with jax.enable_x64(True):
        unit = bench.unit("sequential")
        pool, block = unit.pool(), unit.block()
        program = simulate.program.__wrapped__(unit.spec)
        try:
            state = program.shapes(block)
            when = simulate.clock(1, NUM_ROUNDS + 1, NUM_ROUNDS, NUM_ROUNDS)
            after = jax.eval_shape(program.chunk, pool, block, state, when)[0]
        except Exception as error:
            raise Failed("In float64 (jax_enable_x64) a training run") from error
        leaves = jax.tree.leaves(after.weights)
        require(
            all(leaf.dtype == jnp.float64 for leaf in leaves),
            f"In float64 (jax_enable_x64) a round makes the weights {leaves[0].dtype}.",
        )


RULES: Rules = (
    ("options", frozen),
    ("names", named),
    ("params", arrays),
    ("make", made),
    ("learns", learns),
    ("still", still),
    ("lanes", lanes),
    ("float64", wide),
)
