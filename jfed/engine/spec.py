"""The static half of an experiment: everything that shapes the compiled program, hashable."""

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from jfed.algorithms import KINDS
from jfed.algorithms.deadline import Reading
from jfed.controllers import CONTROLLERS
from jfed.envs import ENVIRONMENTS
from jfed.interfaces import Algorithm, Controller, Environment, Model, Selector
from jfed.models import classifier, losses
from jfed.options import is_static
from jfed.selectors import SELECTORS
from jfed.types import Dims


@dataclass(frozen=True)
class TrainingSpec:
    """What is trained.

    Attributes:
        model: its options (all static).
        inputs: what it sees.
        missing: reading of the deadline aggregation.
        algorithm: its kind and options, of which only static fields count.
        returns: which model is tested and returned, the last one, the best so far or the mean of all.
    """

    model: classifier.Options
    inputs: classifier.Inputs
    missing: Reading
    algorithm: tuple[str, Any]
    returns: Literal["last", "best", "mean"] = "last"


@dataclass(frozen=True)
class Spec:
    """One compiled program.

    Attributes:
        dims: sizes.
        environment: name and options, of which only static fields count.
        selector: the same.
        controller: the same; not used without training.
        training: None for a selection-only run.
        lane: how local training is laid out: "sequential" or "vmapped".
        chunk_rounds: rounds between two looks by the host.
        record_selected: keep who was selected in every round, bit-packed.
    """

    dims: Dims
    environment: tuple[str, Any]
    selector: tuple[str, Any]
    controller: tuple[str, Any]
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


def static_half(options: Any) -> Any:
    """The options with every dynamic field back at its default, so that equal programs have equal specs."""
    dynamic = {f.name: f.default for f in dataclasses.fields(options) if not is_static(f)}
    return dataclasses.replace(options, **dynamic)


def build(spec: Spec) -> Parts:
    """The members of a spec."""

    def member(room: dict[str, Any], named: tuple[str, Any]) -> Any:
        name, options = named
        return room[name].make(spec.dims, options)

    model = algorithm = None
    if (t := spec.training) is not None:
        model = classifier.make(t.model, t.inputs)
        kind, options = t.algorithm
        algorithm = KINDS[kind].make(spec.dims, options, losses.mean_loss(model))
    return Parts(
        environment=member(ENVIRONMENTS, spec.environment),
        selector=member(SELECTORS, spec.selector),
        controller=member(CONTROLLERS, spec.controller),
        model=model,
        algorithm=algorithm,
    )
