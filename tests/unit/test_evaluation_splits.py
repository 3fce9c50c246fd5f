"""Rolling-origin splits: which rows are trained on, which are tested, and what is refused."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score

from driftglm.baselines import LassoAll
from driftglm.evaluation import RollingOrigin
from driftglm.exceptions import DataError, TimeError

YEARS = np.array([2001, 2001, 2002, 2003, 2003, 2003, 2004, 2005])


def positions(splitter, time=YEARS):
    pairs = splitter.split(np.zeros((len(time), 1)), groups=time)
    return [(train.tolist(), test.tolist()) for train, test in pairs]


def test_expanding_window():
    expected = [([0, 1, 2, 3, 4, 5], [6]), ([0, 1, 2, 3, 4, 5, 6], [7])]
    assert positions(RollingOrigin(dev=2003, test=[2004, 2005])) == expected
    assert positions(RollingOrigin(n_test=2)) == expected
    assert positions(RollingOrigin(dev=2003)) == expected
    assert positions(RollingOrigin(test=np.array([2005, 2004]))) == expected


def test_sliding_window():
    assert positions(RollingOrigin(n_test=2, window=2)) == [
        ([2, 3, 4, 5], [6]),
        ([3, 4, 5, 6], [7]),
    ]


def test_gap():
    assert positions(RollingOrigin(n_test=1, gap=1)) == [([0, 1, 2, 3, 4, 5], [7])]
    assert positions(RollingOrigin(n_test=1, gap=1, window=1)) == [([3, 4, 5], [7])]


def test_rows_in_any_order():
    shuffled = np.random.default_rng(0).permutation(YEARS.size)
    ((train, test),) = positions(RollingOrigin(n_test=1), YEARS[shuffled])
    assert sorted(shuffled[train]) == [0, 1, 2, 3, 4, 5, 6]
    assert shuffled[test].tolist() == [7]


def test_empty_steps_are_no_tests_but_count_for_windows():
    time = np.array([2001, 2002, 2004, 2005])  # nothing in 2003
    assert positions(RollingOrigin(n_test=2), time) == [([0, 1], [2]), ([0, 1, 2], [3])]
    assert positions(RollingOrigin(n_test=1, window=2), time) == [([2], [3])]
    with pytest.raises(TimeError, match="step 2004 has no rows to train on: 1 steps before it"):
        positions(RollingOrigin(test=[2004], window=1), time)
    with pytest.raises(TimeError, match="test names the step 2003, which has no rows"):
        positions(RollingOrigin(test=[2003]), time)


def test_the_dev_fold():
    X = np.zeros((8, 1))
    for splitter in (RollingOrigin(dev=2003, test=[2004]), RollingOrigin(n_test=2)):
        train, dev = splitter.dev_split(X, groups=YEARS)
        assert train.tolist() == [0, 1, 2]
        assert dev.tolist() == [3, 4, 5]
    train, dev = RollingOrigin(dev=2003, test=[2005], gap=1).dev_split(X, time=YEARS)
    assert train.tolist() == [0, 1]


def test_the_fold_before_an_origin_ends_with_its_last_training_step():
    splitter = RollingOrigin(test=[2005], gap=1)
    (fold,) = splitter.folds(YEARS, 8)
    before = splitter.fold_before(fold, YEARS, 8)
    assert before.step == 2003
    assert before.test.tolist() == [3, 4, 5]
    assert before.train.tolist() == [0, 1]


def test_dates_periods_and_categories():
    dates = pd.to_datetime(["2001-01-03", "2001-01-30", "2001-02-05", "2001-03-01"])
    expected = [([0, 1, 2], [3])]
    assert positions(RollingOrigin(n_test=1, freq="M"), dates) == expected
    for label in ("2001-03", pd.Timestamp("2001-03-09"), pd.Period("2001-03", freq="M")):
        assert positions(RollingOrigin(test=[label], freq="M"), dates) == expected
    quarters = pd.PeriodIndex(["2001Q1", "2001Q2", "2001Q2"], freq="Q")
    assert positions(RollingOrigin(test=["2001Q2"]), quarters) == [([0], [1, 2])]
    waves = pd.Categorical(["a", "b", "c"], categories=["a", "b", "c"], ordered=True)
    assert positions(RollingOrigin(dev="b", test=["c"]), waves) == [([0, 1], [2])]


def test_unequal_integer_steps():
    time = [1990, 1995, 1995, 2000]
    assert positions(RollingOrigin(n_test=1, window=1, freq=5), time) == [([1, 2], [3])]


def test_number_of_splits():
    assert RollingOrigin(test=[2004, 2005]).get_n_splits() == 2
    assert RollingOrigin(n_test=3).get_n_splits() == 3
    assert RollingOrigin(dev=2003).get_n_splits(groups=YEARS) == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "nothing says which steps to test"),
        ({"n_test": 2, "test": [2004]}, "both test and n_test"),
        ({"n_test": 0}, "n_test=0"),
        ({"n_test": 1, "window": 0}, "window=0"),
        ({"n_test": 1, "gap": -1}, "gap=-1"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(DataError, match=message):
        RollingOrigin(**settings)


@pytest.mark.parametrize(
    ("splitter", "message"),
    [
        (RollingOrigin(dev=2004, test=[2003, 2005]), "would have seen the future"),
        (RollingOrigin(dev=2005), "no step to test after dev=2005"),
        (RollingOrigin(n_test=5), "only 5 steps have rows"),
        (RollingOrigin(test=[2001]), "step 2001 has no rows to train on"),
    ],
)
def test_impossible_splits_are_refused(splitter, message):
    with pytest.raises(TimeError, match=message):
        positions(splitter)


def test_time_must_be_given():
    with pytest.raises(TimeError, match="pass groups=time"):
        list(RollingOrigin(n_test=1).split(YEARS))


def test_scikit_learn_uses_it(rng):
    time = np.repeat(np.arange(6), 30)
    X = rng.normal(size=(180, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=180)
    splitter = RollingOrigin(n_test=3)
    scores = cross_val_score(Ridge(), X, y, groups=time, cv=splitter)
    by_hand = [Ridge().fit(X[a], y[a]).score(X[b], y[b]) for a, b in splitter.split(X, groups=time)]
    assert scores.tolist() == by_hand
    grid = {"strength": [0.1, 1e5]}
    search = GridSearchCV(LassoAll(), grid, cv=splitter).fit(X, y, groups=time)
    assert search.best_params_ == {"strength": 0.1}
    assert "RollingOrigin" in repr(splitter)


def test_metadata_routing_hands_over_the_times(rng):
    time = np.repeat(np.arange(4), 20)
    X = rng.normal(size=(80, 2))
    splitter = RollingOrigin(n_test=2)
    plain = cross_val_score(Ridge(), X, X[:, 0], groups=time, cv=splitter)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = cross_val_score(Ridge(), X, X[:, 0], cv=splitter, params={"groups": time})
    assert routed.tolist() == plain.tolist()
