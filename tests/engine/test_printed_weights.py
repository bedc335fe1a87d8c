"""Weights in the average, by hand: with importance in every reading, and Eiffel's as printed, which do not sum to 1."""

import jax.numpy as jnp
import numpy as np
import pytest

from jfed.algorithms import deadline, estimating
from jfed.core.learning import Answers, Report
from jfed.core.types import Dims, Estimates


@pytest.mark.parametrize(("reading", "total"), [("all", 14), ("selected", 12), ("returned", 4), ("unscaled", 10)])
def test_images_times_importance_over_those_who_count(reading, total):
    """The products are 4, 8, 0 and 2; as printed, they are divided by all ten images."""
    n, importance = jnp.array([4, 2, 0, 4]), jnp.array([1.0, 4.0, 3.0, 0.5])
    selected, returned = jnp.array([True, True, True, False]), jnp.array([True, False, True, False])
    got = deadline.share(reading, n, selected, returned, importance)
    np.testing.assert_allclose(got, np.array([4, 8, 0, 2]) / total, rtol=1e-6)


@pytest.mark.parametrize("reading", ["all", "selected", "returned", "unscaled"])
def test_nobody_of_importance_weighs_nothing(reading):
    n, nobody = jnp.array([4, 2]), jnp.zeros(2, bool)
    assert deadline.share(reading, n, nobody, nobody, jnp.zeros(2)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("average", "model", "distances"), [("models", 1.0, (1.0, 6.0)), ("moves", 1.4, (5 / 3, 10 / 3))]
)
def test_two_models_of_three_that_weigh_six_tenths_together(average, model, distances):
    """From w = 1 two clients go to 3 and -1, with weights 0.4 and 0.2; the third, with weight 0.4, does not return.

    As printed the model is 0.4 x 3 - 0.2 x 1, and the gradient of 5 and 10 is 0.4 x 5 + 0.2 x 10 (lines 12 and 13).
    """
    made = estimating.Options(average=average).make(Dims(3, 3, batch_size=4), lambda w, x, y, real: jnp.sum(w["w"]))
    moves = {"w": jnp.array([[2.0], [-2.0], [jnp.nan]])}
    gradients = {"w": jnp.array([[5.0], [10.0], [jnp.nan]])}
    blank = jnp.zeros(3)
    report = Report(loss=blank, estimates=Estimates(blank, blank, blank, blank, blank > 0, blank))
    share, returned = jnp.array([0.4, 0.2, 0.4]), jnp.array([True, True, False])
    answers = Answers(moves, report, share=share, returned=returned, more=gradients)
    after = made.aggregate(None, {"w": jnp.ones(1)}, estimating.Params(jnp.float32(0.1)), answers)
    assert float(after.weights["w"][0]) == pytest.approx(model)
    np.testing.assert_allclose(after.reports.estimates.divergence[:2], distances, rtol=1e-6)
