"""Tests of the references of selection by losses and times: values worked out by hand."""

import math

import pytest

from . import losses, oort, tifl

NAN, INF = math.nan, math.inf


def test_scores_of_oort():
    """Utilities are 2, 4 and 10; client 3 was never seen and has 20 images. The clip is at place int(.95 n)."""
    one = oort.Oort(4, 2, utility={0: 2.0, 1: 4.0, 2: 10.0}, last={0: 1, 1: 4, 2: 2}, returns={0: 1, 1: 1, 2: 1})
    one.duration = {0: 1.0, 1: 8.0, 2: 1.0, 3: 1.0}
    bonus = [math.sqrt(0.1 * math.log(5) / last) for last in (1, 4, 2)]
    scale = 20 - 1.998  # of the code: the images of client 3 are the largest value, and no utility is clipped
    found = one.scores(5, [0, 1, 2, 3], [5, 5, 5, 20], limit=4.0)
    wanted = [0.002 / scale + bonus[0], (2.002 / scale + bonus[1]) / 4, 8.002 / scale + bonus[2]]
    assert [found[i] for i in range(3)] == pytest.approx(wanted) and 3 not in found
    one.by_paper, one.clip = True, 0.5  # among those explored; clipped at place int(1.5), which is 4
    found = one.scores(5, [0, 1, 2, 3], [5, 5, 5, 20], limit=INF)
    wanted = [0.002 / 8.002 + bonus[0], 2.002 / 8.002 + bonus[1], 2.002 / 8.002 + bonus[2]]
    assert [found[i] for i in range(3)] == pytest.approx(wanted)


def test_the_preferred_duration_and_the_penalty_of_oort():
    one = oort.Oort(5, 2, percentile=50.0, duration={0: 4.0, 1: 1.0, 2: 3.0, 4: 2.0})
    assert one.preferred() == 3.0  # place int(4 x .5) of 1 2 3 4
    assert [one.slowness(i, 3.0) for i in range(5)] == [0.5625, 1, 1, 1, 1]
    one.percentile = 100.0
    assert one.preferred() == INF


@pytest.mark.parametrize(("by_paper", "history", "percentile"), [
    (False, [4, 4, 4, 4.5], 60), (False, [4, 4, 4, 5], 50), (False, [1, 1, 6, 6], 40), (False, [0, 0, 0, 1], 40),
    (True, [4, 4, 4, 3.9], 60), (True, [4, 4, 4, 4], 50), (True, [1, 1, 6, 6], 50),
])  # fmt: skip
def test_the_pacer_of_oort(by_paper, history, percentile):
    one = oort.Oort(5, 2, percentile=50.0, rounds=2, by_paper=by_paper, history=[float(x) for x in history])
    one.pace(5)
    assert one.percentile == 50
    one.pace(4)
    assert one.percentile == percentile


def test_the_blacklist_of_oort():
    one = oort.Oort(10, 2, banned_after=10, returns={0: 11, 1: 10, 2: 30, 3: 12, 4: 12, 5: 13})
    assert one.blacklist([0.1, 0.2, 0.3, 0.5, 0.4, 0.6, 0, 0, 0, 0]) == {2, 5, 4}  # three of ten at most; 4 by its tie
    one.banned_after = None
    assert one.blacklist([0.0] * 10) == set()


def test_tiers_credits_and_probabilities_of_tifl():
    assert tifl.form_tiers({0: 5.0, 1: 1.0, 2: 3.0, 4: 2.0}, 5, 2, [0] * 5) == [1, 0, 0, 1, 0]
    assert tifl.change_probabilities([0.5, 0.1, 0.5, 0.9], [1, 0, 7, 3]) == pytest.approx([3 / 6, 0, 2 / 6, 1 / 6])
    one = tifl.Tifl(4, 2, 2, interval=2, credit=2, measurements=1, profile_rounds=9)
    for clients in ({0, 1}, {2, 3}):
        assert not one.profiled(1)
        one.update(clients, [True] * 4, [4.0, 1.0, 3.0, 2.0])
    first = one.select(3, [True] * 4, [1] * 4, [0.5, 0.1], [0.1, 0.2, 0.3, 0.4], [0.0] * 4)
    assert first == {0, 2} and one.credits == [2, 1] and one.tier == [1, 0, 1, 0]
    # In round 4 the slow tier has one client left, and is filled up with the fast one that has the smaller tie number.
    assert one.select(4, [True, True, False, True], [1] * 4, [0.5, 0.1], [0.1, 0.2, 0.3, 0.4], [0.0] * 4) == {0, 1}
    # Its credits are used up: the fast tier, though it arrives later.
    assert one.select(5, [True] * 4, [1] * 4, [0.5, 0.1], [0.1, 0.2, 0.3, 0.4], [0.0] * 4) == {1, 3}


def test_both_draws_of_active_federated_learning():
    """Of four available clients two are disqualified: 0 and 3. Of 1 and 4, with weights 1 and e^-1, 4 arrives first."""
    v, here = [1.0, 4.0, 9.0, 2.0, 2.0], [True, True, False, True, True]
    races = ([9.0, 3.0, 0.0, 0.0, 1.0], [0.3, 0.2, 0.0, 0.1, 0.0])
    found = losses.active(v, here, 2, (0.5, 0.5, 0.5), [0.1, 0.2, 0.3, 0.4, 0.5], races)
    assert found == ({4}, {3})
    v[0] = None  # it is above all others, and of the weight of the largest; now 3 and 4 are disqualified
    races[0][0] = 0.5
    assert losses.active(v, here, 2, (0.5, 0.5, 0.5), [0.1, 0.2, 0.3, 0.4, 0.5], races) == ({0}, {4})
    assert losses.valuation(2.0, 9, None) == 6 and losses.valuation(NAN, 9, 1.5) == 1.5
    assert losses.valuation(NAN, 0, 1.5) == 0


def test_chances_and_draws_by_losses():
    q = losses.loss_chances([1.0, INF, 2.0, 5.0, 0.0], [6, 2, 1, 9, 4], [True, True, True, False, True], 0.2)
    assert q == pytest.approx([0.05 + 0.8 * 6 / 12, 0.05 + 0.8 * 4 / 12, 0.05 + 0.8 * 2 / 12, 0, 0.05])
    assert losses.draw_with_replacement([0.5, 0.0, 0.25, 0.25], [0.49, 0.5, 0.99, 0.0], 3) == [1, 0, 1, 1]
    assert losses.draw_with_replacement([0.0, 0.0], [0.5, 0.5], 2) == [0, 0]
    assert losses.draw_one_by_one([0.5, 0.0, 0.1, 0.4], [True] * 3 + [False], 2, [2.0, 0.1, 0.5, 0.1]) == {0, 2}
    assert losses.draw_one_by_one([0.5, 0.0, 0.1, 0.4], [True] * 4, 4, [2.0, 0.1, 0.5, 0.1]) == {0, 1, 2, 3}
