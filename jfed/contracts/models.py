"""Rules for models: finite logits and gradients, logits that depend on their own image alone, both precisions."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jfed.contracts.finding import Broken, Failed, Rules, require, shared
from jfed.contracts.options import Bench, frozen, made, named
from jfed.contracts.programs import host, require_pure, traced
from jfed.contracts.sweeps import sweep
from jfed.core.errors import ConfigError
from jfed.core.interfaces import Grades
from jfed.core.options import dynamic_names
from jfed.models import classifier
from jfed.models.classifier import Inputs

CLASSES, IMAGES = 10, 6
SHAPES = ((8, 8, 1), (28, 28, 1), (32, 32, 3))  # digits, then larger images for models that refuse them


class ModelBench(Bench):
    """One model under test."""

    @shared
    def inputs(self) -> Inputs:
        """The smallest images that the model accepts."""
        refused: Exception | None = None
        for shape in SHAPES:
            inputs = Inputs(shape, CLASSES, 16.0, 0.4, 0.3)
            try:
                jax.eval_shape(classifier.make(self.options, inputs).init, jax.random.key(0))
            except ConfigError as error:
                refused = refused or error
                continue
            except Exception as error:
                raise Failed("the module") from error
            return inputs
        raise Broken(f"The model refuses images of 8 x 8, 28 x 28 and 32 x 32 pixels: {refused}")

    @shared
    def member(self) -> Any:
        """The classifier."""
        return classifier.make(self.options, self.inputs)

    @shared
    def images(self) -> np.ndarray:
        """A few images."""
        return np.random.default_rng(0).integers(0, 17, (IMAGES, *self.inputs.shape)).astype(np.uint8)

    @shared
    def shapes(self) -> tuple[Any, Any, Any]:
        """Shapes of weights, logits and grades."""
        weights = traced("the module's init", self.member.init, jax.random.key(0))
        logits = traced("the module", self.member.logits, weights, self.images)
        return weights, logits, traced("grade", self.member.grade, logits, np.arange(IMAGES, dtype=np.int32))

    @shared
    def weights(self) -> Any:
        """Random weights as host arrays, since the first weights of a model may all be zero."""
        normal = np.random.default_rng(1).normal
        return jax.tree.map(lambda w: normal(0, 0.1, w.shape).astype(w.dtype), self.shapes[0])

    @shared
    def answers(self) -> tuple[Any, Any, Any]:
        """Logits and their gradient; logits of the images in reverse order, and of the first one among blanks."""
        member = self.member

        @jax.jit
        def both(weights: Any, images: Any) -> tuple[Any, Any]:
            logits, back = jax.vjp(lambda w: member.logits(w, images), weights)
            return logits, back(jnp.ones_like(logits))[0]

        blanks = np.zeros_like(self.images)
        blanks[0] = self.images[0]
        one, turned, lone = (both(self.weights, images) for images in (self.images, self.images[::-1], blanks))
        return host(one), host(turned[0]), host(lone[0])


# --------------------------------------------------------------------------------------------------- rules


def fixed(bench: Bench) -> None:
    """Check that all fields are static: like a data set, a model has no numbers to sweep over in one program."""
    dynamic = dynamic_names(type(bench.options))
    require(
        not dynamic,
        f"{', '.join(dynamic)} must be static, as all fields of a {bench.room.word} are: declare it with"
        " jfed.static(...).",
    )


def shaped(bench: ModelBench) -> None:
    """Check that each image has logits, a loss and a verdict, and that the penalty is one number."""
    weights, logits, grades = bench.shapes
    require(
        bool(jax.tree.leaves(weights)) and all(w.dtype == jnp.float32 for w in jax.tree.leaves(weights)),
        "Weights must be float32 arrays (in single precision), at least one.",
    )
    require(
        len(logits.shape) == 2 and logits.shape[0] == IMAGES and logits.dtype == jnp.float32,
        f"Logits must be float32 (images, classes), here of {IMAGES} images, found {logits.dtype}{list(logits.shape)}.",
    )
    require(
        isinstance(grades, Grades)
        and (grades.loss.shape, grades.right.shape) == ((IMAGES,), (IMAGES,))
        and (grades.loss.dtype, grades.right.dtype) == (jnp.float32, jnp.bool_),
        "grade must return Grades(loss, right), a float and a bool for each image.",
    )
    penalty = traced("penalty", lambda w: jnp.asarray(bench.member.penalty(w)), weights)
    require(penalty.shape == (), f"penalty must return a single number, found shape {list(penalty.shape)}.")


def begins(bench: ModelBench) -> str | None:
    """Check that the first weights are finite and depend on the key alone."""
    bench.shapes  # noqa: B018
    init = jax.jit(bench.member.init)
    first, again, other = (jax.tree.leaves(host(init(jax.random.key(s)))) for s in (0, 0, 1))
    require(all(np.isfinite(w).all() for w in first), "The first weights are not all finite.")
    require(
        all((a == b).all() for a, b in zip(first, again, strict=True)),
        "The first weights differ when they are drawn again from the same key.",
    )
    same = all((a == b).all() for a, b in zip(first, other, strict=True))
    return "begins with the same weights whatever the key" if same else None


def learns(bench: ModelBench) -> None:
    """Check that logits, losses and the penalty are finite, and gradients finite and not all zero."""
    (logits, gradient), *_ = bench.answers
    require(np.isfinite(logits).all(), "Logits of random weights are not finite.")
    leaves = jax.tree_util.tree_leaves_with_path(gradient)
    for path, g in leaves:
        require(np.isfinite(g).all(), f"The gradient of weights{jax.tree_util.keystr(path)} is not finite.")
    require(any(np.any(g) for _, g in leaves), "The gradient of the logits is zero for all weights: nothing is learnt.")
    losses = host(jax.jit(bench.member.grade)(logits, np.arange(len(logits), dtype=np.int32)))
    require(np.isfinite(losses.loss).all(), "The loss of finite logits is not finite.")
    require((losses.loss >= 0).all(), "The loss of an image must not be negative.")
    penalty = np.asarray(bench.member.penalty(bench.weights))
    require(bool(np.isfinite(penalty)), "The penalty of finite weights is not finite.")


def alone(bench: ModelBench) -> None:
    """Check that an image's logits do not depend on the rest of its batch, which may be of one image."""
    (logits, _), turned, lone = bench.answers
    pairs = ((turned[::-1], logits), (lone[0], logits[0]))
    require(
        all(np.allclose(a, b, rtol=1e-4, atol=1e-5) for a, b in pairs),
        "An image's logits depend on the other images of its batch: leave out layers that mix images, such as batch"
        " normalisation, since batches are padded.",
    )
    shape = traced("the module", bench.member.logits, bench.shapes[0], bench.images[:1]).shape
    require(shape == (1, *logits.shape[1:]), f"Logits of one image must be (1, classes), found shape {list(shape)}.")


def pure(bench: ModelBench) -> None:
    """Check that there are no side effects: the same program in each trace, no leaks, no callbacks."""
    bench.shapes  # noqa: B018
    member = bench.member
    require_pure(lambda key, images: member.logits(member.init(key), images), jax.random.key(0), bench.images)


def wide(bench: ModelBench) -> None:
    """Check that weights and logits are float64 in double precision."""
    bench.shapes  # noqa: B018
    with jax.enable_x64(True):
        weights = traced("the module's init", bench.member.init, jax.random.key(0))
        logits = traced("the module", bench.member.logits, weights, bench.images)
        for what, leaves in (("weights", jax.tree.leaves(weights)), ("logits", [logits])):
            require(
                all(x.dtype == jnp.float64 for x in leaves),
                f"In float64 (jax_enable_x64) {what} are still {leaves[0].dtype}: give the layers param_dtype=x.dtype.",
            )


def trains(bench: ModelBench) -> str | None:
    """Check that a run of a few rounds on the digits works, if the model accepts images of 8 x 8 pixels."""
    bench.shapes  # noqa: B018
    if bench.inputs.shape != SHAPES[0]:
        return "not trained here, since it refuses images of 8 x 8 pixels"
    results = sweep({"training.model": [bench.options]}, training=True, selector="uniform")
    require(np.isfinite(results["test_loss"]).all(), "After a few rounds of training the loss is not finite.")
    return None


RULES: Rules = (
    ("options", frozen),
    ("names", named),
    ("static fields", fixed),
    ("make", made),
    ("shapes", shaped),
    ("float64", wide),
    ("pure", pure),
    ("first weights", begins),
    ("learns", learns),
    ("alone", alone),
    ("runs", trains),
)
