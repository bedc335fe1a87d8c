"""jfed: experiments on client selection in federated learning, in one compiled program.

    import jfed
    points = jfed.methods(jfed.Config(), ["uniform", "fedcs", "e3cs-0.5"])
    results = jfed.run(points, seeds=range(100), out="out/first")

Names are loaded when they are first used, so that `import jfed.analysis` and `jfed.load` need no jax.
"""

import importlib
from typing import TYPE_CHECKING, Any

from jfed.core.version import __version__ as __version__

if TYPE_CHECKING:
    from jfed.catalog import scheme as scheme
    from jfed.config import Config as Config
    from jfed.config import Training as Training
    from jfed.config import replace as replace
    from jfed.core.errors import ConfigError as ConfigError
    from jfed.core.prng import crossed_seeds as crossed_seeds
    from jfed.core.prng import seeds as seeds
    from jfed.data.arrays import arrays as arrays
    from jfed.data.options import DataOptions as DataOptions
    from jfed.engine.outcomes import outcomes as outcomes
    from jfed.results.load import load as load
    from jfed.runner.run import run as run
    from jfed.runner.units import Layout as Layout
    from jfed.sweep import Point as Point
    from jfed.sweep import methods as methods
    from jfed.sweep import product as product
    from jfed.sweep import zipped as zipped


_HOME = {
    "arrays": "jfed.data.arrays",
    "DataOptions": "jfed.data.options",
    "load": "jfed.results.load",
    "Config": "jfed.config",
    "Training": "jfed.config",
    "scheme": "jfed.catalog",
    "replace": "jfed.config",
    "outcomes": "jfed.engine.outcomes",
    "run": "jfed.runner.run",
    "Layout": "jfed.runner.units",
    "ConfigError": "jfed.core.errors",
    "crossed_seeds": "jfed.core.prng",
    "seeds": "jfed.core.prng",
    "Point": "jfed.sweep",
    "methods": "jfed.sweep",
    "product": "jfed.sweep",
    "zipped": "jfed.sweep",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'jfed' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
