"""Dense classifiers: softmax regression (no hidden layer) and a multilayer perceptron, as flax modules."""

from dataclasses import dataclass
from typing import Any

from flax import linen
from jax import Array
from jaxtyping import Float, PRNGKeyArray

from jfed.core.errors import require
from jfed.core.members import Name
from jfed.core.options import static
from jfed.models.classifier import Inputs, ModelOptions
from jfed.models.product import dense


@dataclass(frozen=True)
class Options(ModelOptions):
    """Settings of dense networks.

    Attributes:
        hidden: widths of the ReLU layers; () is softmax regression.
    """

    names = (Name("linear"), Name("mlp", {"hidden": (64,)}))

    hidden: tuple[int, ...] = static(())

    @property
    def wide_products(self) -> bool:
        """Return whether there is a hidden layer."""
        return bool(self.hidden)

    def module(self, inputs: Inputs) -> linen.Module:
        """Return the flax module."""
        require(all(w >= 1 for w in self.hidden), f"Hidden layers need at least one unit, found {self.hidden}.")
        return Dense(self.hidden, inputs.num_classes)


class Dense(linen.Module):
    """A dense network: flattened examples, ReLU layers, logits."""

    hidden: tuple[int, ...]
    num_classes: int

    @linen.compact
    def __call__(self, images: Float[Array, "batch ..."]) -> Float[Array, "batch classes"]:
        """Return the logits of scaled examples."""
        x = images.reshape(images.shape[0], -1)
        for i, width in enumerate(self.hidden):
            x = linen.relu(self._layer(width, f"hidden_{i}", x))
        if not self.hidden:
            return Readout(self.num_classes, name="out")(x)
        return self._layer(self.num_classes, "out", x)

    def _layer(self, width: int, name: str, x: Float[Array, "batch inputs"]) -> Float[Array, "batch outputs"]:
        return linen.Dense(width, name=name, param_dtype=x.dtype, dot_general=_product)(x)


def _product(x: Array, kernel: Array, *_: Any, **__: Any) -> Array:
    """Return the product that flax asks of `lax.dot_general`: its axes are always the last and the first."""
    return dense(x, kernel)


class Readout(linen.Module):
    """A dense layer with few outputs, whose kernel is stored as (outputs, inputs).

    On a CPU XLA's product with ten columns takes 2.5 times as long as the transposed product with ten rows, and a round
    of softmax regression 1.8 times as long; behind a hidden layer there is no gain. The initial values are those of
    `linen.Dense`.
    """

    num_outputs: int

    @linen.compact
    def __call__(self, x: Float[Array, "batch inputs"]) -> Float[Array, "batch outputs"]:
        """Return the outputs."""

        def transposed(key: PRNGKeyArray) -> Float[Array, "outputs inputs"]:
            return linen.initializers.lecun_normal()(key, (x.shape[1], self.num_outputs), x.dtype).T

        kernel = self.param("kernel", transposed)
        bias = self.param("bias", linen.initializers.zeros, (self.num_outputs,), x.dtype)
        return (kernel @ x.T).T + bias
