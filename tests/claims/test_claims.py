"""The claims as a whole: sound files, one verdict of many parts, and the tables of verdicts."""

import pytest
from claimed import claim, table

from jfed.catalog import scheme as method
from jfed.claims import Claim, judge, judge_all, read, summary_table, verdicts_table
from jfed.claims.finding import Finding, certain, together

pytestmark = pytest.mark.check

NUM_CLAIMS = {"E3CS": 19, "RBCS-F": 13, "CS-UCB": 12, "Eiffel": 11}


def test_every_file_is_sound():
    claims = read()
    assert {paper: sum(c.paper == paper for c in claims) for paper in NUM_CLAIMS} == NUM_CLAIMS
    assert len({c.id for c in claims}) == len(claims)
    for one in claims:
        assert one.claim and one.place and one.measure and one.runs
        for test in one.tests:
            assert "metric" in test or "larger" in test, one.id
            assert not {"margin", "relative_margin"} <= set(test), one.id


def test_claims_about_training_name_their_data():
    numerical = ("e3cs_numerical", "rbcs_f_numerical", "cs_ucb_numerical", "cs_ucb_q_numerical")
    without = {c.runs for c in read() if not c.data_sets}
    assert without == {*numerical, "cs_ucb_channels", "cs_ucb_q_channels"}


def test_every_margin_has_a_reason():
    with_margin = [c for c in read() if any({"margin", "relative_margin"} & set(test) for test in c.tests)]
    assert len(with_margin) > 8 and all(len(c.margin_reason.split()) > 8 for c in with_margin)


@pytest.mark.parametrize(
    ("tests", "more", "sentence"),
    [
        ([{"equal": ["a", "b"], "margin": 1.0}], {}, "X-1 needs a margin_reason where it has a margin"),
        ([{"order": ["a", "b"]}], {"margin_reason": "why"}, "X-1 needs a margin_reason where it has a margin"),
        ([{"equal": ["a", "b"]}], {}, "X-1 says equal without a margin"),
        ([{"order": ["a", "b"], "every": 1}], {}, "a claim's test needs one of order"),
        ([{"order": ["a", "b"], "margn": 1}], {}, "and no unknown key, found metric, order, margn"),
        ([], {}, "X-1 needs tests, or a reason why it is untestable"),
        ([{"order": ["a", "b"]}], {"untestable": "why"}, "X-1 needs tests, or a reason why it is untestable"),
    ],
)
def test_a_claim_that_is_not_sound(tests, more, sentence):
    with pytest.raises(ValueError, match=sentence):
        claim(*tests, **more)


def test_schemes_of_claims_are_schemes():
    for one in read():
        if one.paper != "Eiffel":
            for test in one.tests:
                named = [
                    test.get(kind, []) for kind in ("order", "trend", "equal", "identical", "schemes", "gap", "ratio")
                ]
                names = [n for names in named if isinstance(names, list) for n in names] + list(test.get("near", {}))
                for name in (*names, *(n for pair in test.get("differences", []) for n in pair)):
                    assert method(name) is not None, (one.id, name)


def test_a_claim_is_as_good_as_its_worst_part():
    good, bad = Finding("a", 10, shown=0.01, tests=1), Finding("b", 5, shown=0.2, absent=0.6, tests=1)
    found = together([good, bad, Finding("", 20, shown=0.001, tests=1)])
    assert (found.verdict, found.numbers, found.seeds, found.tests) == ("underpowered", "a; b", 5, 3)
    assert together([good, Finding(missing=("no runs of z",))]).verdict == "supported"
    assert together([Finding(missing=("x",)), Finding(missing=("x",))]) == Finding(missing=("x",))


@pytest.mark.parametrize(("field", "word"), [("opposite", "contradicted"), ("absent", "not supported")])
def test_one_of_four_parts_needs_a_quarter_of_the_level(field, word):
    others = [Finding("a", 10, shown=0.01, tests=1)] * 3
    assert together([*others, Finding("b", 7, tests=1, **{field: 0.012})]).verdict == word
    assert together([*others, Finding("b", 7, tests=1, **{field: 0.013})]).verdict == "underpowered"
    # What holds or fails for certain is no test: it needs no correction, and is none for the others.
    assert together([certain(True, "c", 9), Finding("b", 7, tests=1, **{field: 0.04})]).verdict == word
    assert together([*others, certain(False, "c", 9)]).verdict == "contradicted"


def test_the_summary_counts_verdicts_and_says_what_they_mean_together():
    frame = table(a=3.0, b=1.0)
    up, down = {"order": ["a", "b"]}, {"order": ["b", "a"]}
    verdicts = [
        *judge(claim(up), frame),
        *judge(claim(up, {"order": ["a", "z"]}), frame),
        *judge(claim(down), frame),
        *judge(claim(up), None),
        *judge(claim({"every": 3.0, "schemes": ["a"]}), frame),
        *judge(Claim("Y-1", "Y", "", "", "", "x", untestable="why"), None),
    ]
    made = summary_table(verdicts, "Summary")
    assert made.columns[2:4] == ("supported", "contradicted") and made.columns[-1] == "not run"
    assert made.rows == (
        ("X", "1", "2 (1 in part)", "2", "0", "0", "0", "1"),
        ("Y", "1", "0", "0", "0", "0", "1", "0"),
        ("all", "2", "2 (1 in part)", "2", "0", "0", "1", "1"),
    )
    (said,) = made.notes
    assert said.startswith("3 of these verdicts come from tests, 3 in all.")
    assert "were all 3 sentences false and their runs independent, 0.15 would still be called supported" in said


def test_all_claims_on_no_runs():
    verdicts = judge_all({})
    assert summary_table(verdicts, "Summary").notes == ("None of these verdicts comes from a test.",)
    assert {v.finding.verdict for v in verdicts} == {"not run", "untestable as printed"}
    made = verdicts_table(verdicts, "Claims")
    assert len(made.rows) == len(made.data) == sum(NUM_CLAIMS.values())
