"""When a training has converged."""

import math

import pytest
from genever.estimators import EarlyStopping

pytestmark = pytest.mark.core


def test_stops_after_so_many_evaluations_without_a_better_one():
    early = EarlyStopping(metric="loss", patience=2)
    history = [(10, 1.0), (20, 0.5), (30, 0.6)]
    assert early.why_stop(history) is None
    assert early.why_stop([*history, (40, 0.5)]) == (
        "loss has not got better than 0.5 of step 20 in 2 evaluations"
    )
    assert early.why_stop([*history, (40, 0.4)]) is None


def test_a_little_better_does_not_count():
    early = EarlyStopping(metric="auc", higher_is_better=True, patience=1, min_delta=0.01)
    assert early.why_stop([(10, 0.7), (20, 0.72)]) is None
    assert "0.7 of step 10" in early.why_stop([(10, 0.7), (20, 0.705)])


@pytest.mark.parametrize(("higher", "value", "stops"), [(True, 0.9, True), (False, 0.9, False)])
def test_stops_at_a_threshold(higher, value, stops):
    early = EarlyStopping("m", higher_is_better=higher, patience=None, threshold=0.8)
    assert bool(early.why_stop([(10, value)])) == stops


def test_never_stops_before_min_steps():
    early = EarlyStopping("loss", patience=1, min_steps=40)
    assert early.why_stop([(10, 1.0), (20, 2.0), (30, 2.0)]) is None
    assert early.why_stop([(10, 1.0), (20, 2.0), (30, 2.0), (40, 2.0)])


def test_what_is_no_number_is_not_better():
    early = EarlyStopping("loss", patience=2)
    assert early.why_stop([(10, math.nan)]) is None
    assert early.why_stop([(10, math.nan), (20, math.nan)]) == (
        "loss was not a number in 2 evaluations"
    )
    assert early.why_stop([(10, 1.0), (20, math.nan), (30, 0.5)]) is None


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="nothing would ever stop"):
        EarlyStopping("loss", patience=None)
    with pytest.raises(ValueError, match="min_delta"):
        EarlyStopping("loss", min_delta=-1.0)
    with pytest.raises(ValueError, match="EarlyStopping.patience"):
        EarlyStopping("loss", patience=0)
    with pytest.raises(ValueError, match="'acc' is no metric of this model; choose from auc, loss"):
        EarlyStopping("acc").value({"auc": 1.0, "loss": 0.1, "global_step": 3})
