"""Schemes that want facts or polls, for the driver of `stepping`, which makes up losses and accuracies only."""

from jfed.core.interfaces import Selector
from jfed.core.types import Facts


def telling(selector: Selector, fact: str = "", square: bool = False) -> Selector:
    """Return a selector that finds the loss of the feedback, or its square, as a fact of that name."""

    def update(state, params, view, cohort, feedback):
        told = feedback.loss**2 if square else feedback.loss
        return selector.update(state, params, view, cohort, feedback._replace(facts=Facts(**{fact: told})))

    return selector._replace(update=update)


def polled(selector: Selector) -> Selector:
    """Return a selector that finds the accuracy of the view as the loss of polled clients."""

    def select(key, state, params, view):
        return selector.select(key, state, params, view._replace(probed=view.probed_accuracy))

    return selector._replace(select=select)
