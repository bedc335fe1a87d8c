"""The room of models. Convolutional networks will stand here.

A model is one file with `Options` and `make(options, image_shape, num_classes, scale, mean, std)`, and one line
in the table of named options; `jfed.models.losses` holds what is computed from logits.
"""

from jfed.models import dense

MODELS: dict[str, dense.Options] = {
    "linear": dense.Options(),
    "mlp": dense.Options(hidden=(64,)),
}
