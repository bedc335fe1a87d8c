"""The room of models. Convolutional networks will stand here.

The table names options of the one family there is; `engine/spec.py` makes it. `jfed.models.losses` holds what is
computed from logits.
"""

from jfed.models import dense

MODELS: dict[str, dense.Options] = {
    "linear": dense.Options(),
    "mlp": dense.Options(hidden=(64,)),
}
