"""Energy that is not counted."""

from dataclasses import dataclass

from jfed.core.members import Name
from jfed.core.types import Dims
from jfed.envs.parts.base import EnergyOptions


@dataclass(frozen=True)
class Uncounted(EnergyOptions):
    """Settings of energy that is not counted; there are none."""

    names = (Name("uncounted"),)

    def make(self, dims: Dims) -> None:
        """Return nothing."""
        return None
