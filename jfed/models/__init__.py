"""The room of models: named options of three families, dense (`dense.py`), convolutional (`cnn.py`) and `svm.py`.

`classifier.make` turns options into a model; `conv.py` is convolution and pool, `losses.py` what logits are used for.
"""

from jfed.models import cnn, dense, svm

MODELS: dict[str, dense.Options | cnn.Options | svm.Options] = {
    "linear": dense.Options(),
    "svm": svm.Options(),  # even labels against odd ones
    "mlp": dense.Options(hidden=(64,)),
    "cnn": cnn.Options((8, 16), kernel=3, padding="same", hidden=(32,)),  # for images as small as the digits
    "e3cs-emnist": cnn.Options(channels=(10, 10), hidden=(1280, 256)),
    "e3cs-cifar": cnn.Options(),
    "rbcs-f-fashion": cnn.Options(channels=(20, 50), hidden=(500,)),
    "rbcs-f-cifar": cnn.Options(),  # the same network as E3CS's
    "wang": cnn.Options((32, 32), padding="same", hidden=(256,), normalize=True, start="wang", scaling="unit"),
    "wang-cifar": cnn.Options((32, 32), padding="same", hidden=(256,), normalize=True, start="wang", scaling="image"),
}
