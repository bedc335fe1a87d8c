"""The static half of an experiment: everything that shapes the compiled program, hashable."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar

from jfed.algorithms.deadline import Reading
from jfed.core.errors import require, shown
from jfed.core.interfaces import Algorithm, Controller, Environment, Model, Selector
from jfed.core.options import Static
from jfed.core.types import Dims
from jfed.models import classifier, losses

Member = TypeVar("Member")


@dataclass(frozen=True)
class TrainingSpec:
    """The static half of training.

    Attributes:
        model: options of the model, all of them static.
        inputs: shape and scale of the examples.
        average_over: reading of the deadline aggregation.
        algorithm: static half of the algorithm's options.
        final_model: tested model: the last one, the best so far or the mean of all.
    """

    model: classifier.ModelOptions
    inputs: classifier.Inputs
    average_over: Reading
    algorithm: Static
    final_model: Literal["last", "best", "mean"] = "last"


@dataclass(frozen=True)
class Spec:
    """Everything that shapes one compiled program.

    Attributes:
        dims: sizes of arrays.
        environment, selector, controller: static halves of their options.
        training: None for a selection-only run.
        lane: how local training is laid out: "sequential" or "vmapped".
        chunk_rounds: most rounds of a chunk.
        record_selected: whether to keep the cohort of every round, bit-packed.
    """

    dims: Dims
    environment: Static
    selector: Static
    controller: Static
    training: TrainingSpec | None
    lane: str
    chunk_rounds: int
    record_selected: bool = False


class Parts(NamedTuple):
    """The members of a program; model and algorithm are None in a selection-only run."""

    environment: Environment
    selector: Selector
    controller: Controller
    model: Model | None
    algorithm: Algorithm | None


def made(options: Any, kind: type[Member], *given: Any) -> Member:
    """Return the member that options make of the arguments `given`.

    Raises:
        ConfigError: it is not of this kind.
    """
    member, name = options.make(*given), type(options).__qualname__
    require(isinstance(member, kind), f"{name}.make must return a jfed.{kind.__name__}, found {shown(member)}.")
    return member


def build(spec: Spec) -> Parts:
    """Return the members of a spec."""
    model = algorithm = None
    if (t := spec.training) is not None:
        model = classifier.make(t.model, t.inputs)
        algorithm = made(t.algorithm.options, Algorithm, spec.dims, losses.mean_loss(model))
    return Parts(
        environment=made(spec.environment.options, Environment, spec.dims),
        selector=made(spec.selector.options, Selector, spec.dims),
        controller=made(spec.controller.options, Controller, spec.dims),
        model=model,
        algorithm=algorithm,
    )
