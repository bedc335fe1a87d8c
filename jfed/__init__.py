"""jfed: experiments on client selection in federated learning, in one compiled program.

    import jfed
    points = jfed.methods(jfed.Config(), ["uniform", "fedcs", "e3cs-0.5"])
    results = jfed.run(points, seeds=range(100), out="out/first")

Names are loaded when they are first used, so that `import jfed.analysis` and `jfed.load` need no jax.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jfed.analysis.load import load as load
    from jfed.catalog import scheme as scheme
    from jfed.config import Config as Config
    from jfed.config import Training as Training
    from jfed.config import replace as replace
    from jfed.engine.outcomes import outcomes as outcomes
    from jfed.engine.run import run as run
    from jfed.engine.units import Layout as Layout
    from jfed.errors import ConfigError as ConfigError
    from jfed.prng import crossed_seeds as crossed_seeds
    from jfed.prng import seeds as seeds
    from jfed.sweep import Point as Point
    from jfed.sweep import methods as methods
    from jfed.sweep import product as product
    from jfed.sweep import zipped as zipped

__version__ = "0.1.0"

_HOME = {
    "load": "jfed.analysis.load",
    "Config": "jfed.config",
    "Training": "jfed.config",
    "scheme": "jfed.catalog",
    "replace": "jfed.config",
    "outcomes": "jfed.engine.outcomes",
    "run": "jfed.engine.run",
    "Layout": "jfed.engine.units",
    "ConfigError": "jfed.errors",
    "crossed_seeds": "jfed.prng",
    "seeds": "jfed.prng",
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
