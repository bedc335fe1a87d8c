"""jfed: experiments on client selection in federated learning, in one compiled program.

    import jfed
    points = jfed.methods(jfed.Config(), ["uniform", "fedcs", "e3cs-0.5"])
    results = jfed.run(points, seeds=range(100), out="out/first")

Names are loaded on first use, so that `import jfed`, `jfed.analysis` and `jfed.load` do not need jax.
"""

import importlib
from typing import TYPE_CHECKING, Any

from jfed.core.version import __version__ as __version__

if TYPE_CHECKING:
    from jfed import algorithms as algorithms
    from jfed import analysis as analysis
    from jfed import catalog as catalog
    from jfed import claims as claims
    from jfed import config as config
    from jfed import contracts as contracts
    from jfed import controllers as controllers
    from jfed import data as data
    from jfed import engine as engine
    from jfed import envs as envs
    from jfed import measures as measures
    from jfed import models as models
    from jfed import report as report
    from jfed import results as results
    from jfed import runner as runner
    from jfed import selectors as selectors
    from jfed import stats as stats
    from jfed import sweep as sweep
    from jfed.catalog import load_file as load_file
    from jfed.catalog import register as register
    from jfed.catalog import scheme as scheme
    from jfed.config import Config as Config
    from jfed.config import Training as Training
    from jfed.config import replace as replace
    from jfed.core import errors as errors
    from jfed.core import interfaces as interfaces
    from jfed.core import ops as ops
    from jfed.core import prng as prng
    from jfed.core import types as types
    from jfed.core.errors import ConfigError as ConfigError
    from jfed.core.errors import DataError as DataError
    from jfed.core.interfaces import Algorithm as Algorithm
    from jfed.core.interfaces import Controller as Controller
    from jfed.core.interfaces import Environment as Environment
    from jfed.core.interfaces import Selector as Selector
    from jfed.core.learning import Aggregated as Aggregated
    from jfed.core.learning import Answer as Answer
    from jfed.core.learning import Answers as Answers
    from jfed.core.learning import ClientData as ClientData
    from jfed.core.learning import Received as Received
    from jfed.core.learning import Report as Report
    from jfed.core.members import AlgorithmOptions as AlgorithmOptions
    from jfed.core.members import ControllerOptions as ControllerOptions
    from jfed.core.members import EnvironmentOptions as EnvironmentOptions
    from jfed.core.members import EveryoneOptions as EveryoneOptions
    from jfed.core.members import MemberOptions as MemberOptions
    from jfed.core.members import Modes as Modes
    from jfed.core.members import Name as Name
    from jfed.core.members import SelectorOptions as SelectorOptions
    from jfed.core.options import as_arrays as as_arrays
    from jfed.core.options import static as static
    from jfed.core.prng import seeds as seeds
    from jfed.core.types import Cohort as Cohort
    from jfed.core.types import Costs as Costs
    from jfed.core.types import Dims as Dims
    from jfed.core.types import Facts as Facts
    from jfed.core.types import Feedback as Feedback
    from jfed.core.types import Oracle as Oracle
    from jfed.core.types import Outcome as Outcome
    from jfed.core.types import Plan as Plan
    from jfed.core.types import Probe as Probe
    from jfed.core.types import Problem as Problem
    from jfed.core.types import View as View
    from jfed.data.arrays import arrays as arrays
    from jfed.data.options import DataOptions as DataOptions
    from jfed.engine.outcomes import outcomes as outcomes
    from jfed.models.classifier import ModelOptions as ModelOptions
    from jfed.points import Point as Point
    from jfed.results.load import load as load
    from jfed.runner.executors.processes import Processes as Processes
    from jfed.runner.executors.ray import Ray as Ray
    from jfed.runner.live import Progress as Progress
    from jfed.runner.run import run as run
    from jfed.runner.tensorboard import TensorBoard as TensorBoard
    from jfed.runner.units import Layout as Layout
    from jfed.sweep import crossed_seeds as crossed_seeds
    from jfed.sweep import methods as methods
    from jfed.sweep import product as product
    from jfed.sweep import zipped as zipped

_HOME = {
    "Algorithm": "jfed.core.interfaces",
    "AlgorithmOptions": "jfed.core.members",
    "Aggregated": "jfed.core.learning",
    "Answer": "jfed.core.learning",
    "Answers": "jfed.core.learning",
    "Received": "jfed.core.learning",
    "ClientData": "jfed.core.learning",
    "Cohort": "jfed.core.types",
    "Config": "jfed.config",
    "ConfigError": "jfed.core.errors",
    "Controller": "jfed.core.interfaces",
    "ControllerOptions": "jfed.core.members",
    "Costs": "jfed.core.types",
    "DataError": "jfed.core.errors",
    "DataOptions": "jfed.data.options",
    "Dims": "jfed.core.types",
    "Environment": "jfed.core.interfaces",
    "EnvironmentOptions": "jfed.core.members",
    "EveryoneOptions": "jfed.core.members",
    "Facts": "jfed.core.types",
    "Feedback": "jfed.core.types",
    "Layout": "jfed.runner.units",
    "MemberOptions": "jfed.core.members",
    "ModelOptions": "jfed.models.classifier",
    "Modes": "jfed.core.members",
    "Name": "jfed.core.members",
    "Oracle": "jfed.core.types",
    "Outcome": "jfed.core.types",
    "Plan": "jfed.core.types",
    "Point": "jfed.points",
    "Probe": "jfed.core.types",
    "Problem": "jfed.core.types",
    "Processes": "jfed.runner.executors.processes",
    "Progress": "jfed.runner.live",
    "Ray": "jfed.runner.executors.ray",
    "Report": "jfed.core.learning",
    "Selector": "jfed.core.interfaces",
    "SelectorOptions": "jfed.core.members",
    "TensorBoard": "jfed.runner.tensorboard",
    "Training": "jfed.config",
    "View": "jfed.core.types",
    "arrays": "jfed.data.arrays",
    "as_arrays": "jfed.core.options",
    "crossed_seeds": "jfed.sweep",
    "load": "jfed.results.load",
    "load_file": "jfed.catalog",
    "methods": "jfed.sweep",
    "outcomes": "jfed.engine.outcomes",
    "product": "jfed.sweep",
    "register": "jfed.catalog",
    "replace": "jfed.config",
    "run": "jfed.runner.run",
    "scheme": "jfed.catalog",
    "seeds": "jfed.core.prng",
    "static": "jfed.core.options",
    "zipped": "jfed.sweep",
}
_MODULES = {
    "algorithms": "jfed.algorithms",
    "analysis": "jfed.analysis",
    "catalog": "jfed.catalog",
    "claims": "jfed.claims",
    "config": "jfed.config",
    "contracts": "jfed.contracts",
    "controllers": "jfed.controllers",
    "data": "jfed.data",
    "engine": "jfed.engine",
    "envs": "jfed.envs",
    "measures": "jfed.measures",
    "models": "jfed.models",
    "report": "jfed.report",
    "results": "jfed.results",
    "runner": "jfed.runner",
    "selectors": "jfed.selectors",
    "stats": "jfed.stats",
    "sweep": "jfed.sweep",
    "errors": "jfed.core.errors",
    "interfaces": "jfed.core.interfaces",
    "ops": "jfed.core.ops",
    "prng": "jfed.core.prng",
    "types": "jfed.core.types",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name not in _HOME:
        raise AttributeError(f"module 'jfed' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME, *_MODULES])
