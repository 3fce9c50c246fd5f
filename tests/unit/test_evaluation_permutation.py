"""What is found in shuffled data."""

import numpy as np
import pandas as pd
import pytest

from driftglm import DriftRegressor
from driftglm.evaluation import permutation_check
from driftglm.evaluation.permutation import shuffled_labels, shuffled_outcomes
from driftglm.exceptions import DataError


def walk(seed=0):
    rng = np.random.default_rng(seed)
    time = np.repeat(np.arange(2001, 2007), 60)
    X = pd.DataFrame(rng.normal(size=(time.size, 4)), columns=list("abcd"))
    path = np.array([0.0, 1.0, -0.5, 1.5, 0.0, 2.0])
    y = path[time - 2001] * X["a"] + X["b"] + 0.3 * rng.normal(size=time.size)
    return X, y.to_numpy(), time


def test_outcomes_stay_in_their_step_and_groups_stay_whole():
    rng = np.random.default_rng(0)
    codes = np.tile(np.repeat([0, 1, 2], 4), 5)
    units = np.repeat(np.arange(10), 6)  # ten groups of six rows, over the steps
    rows = shuffled_outcomes(codes, units, rng)
    assert sorted(rows) == list(range(60))
    assert (codes[rows] == codes).all()
    assert (rows != np.arange(60)).mean() > 0.5
    # A balanced panel: a person's outcomes go to one other person, at all steps.
    codes, persons = np.tile([0, 1, 2], 20), np.repeat(np.arange(20), 3)
    donor = persons[shuffled_outcomes(codes, persons, rng)].reshape(20, 3)
    assert (donor == donor[:, :1]).all()
    assert sorted(donor[:, 0]) == list(range(20))


def test_labels_move_among_the_steps_of_a_group_or_whole_groups_move():
    rng = np.random.default_rng(0)
    codes, persons = np.tile([0, 1, 2], 20), np.repeat(np.arange(20), 3)
    rows = shuffled_labels(codes, persons, rng)
    assert (persons[rows] == persons).all()
    assert (codes[rows] != codes).mean() > 0.4
    days = np.repeat(np.arange(12), 5)  # four days a step, five rows a day
    codes = days // 4
    moved = codes[shuffled_labels(codes, days, rng)].reshape(12, 5)
    assert (moved == moved[:, :1]).all()
    assert sorted(moved[:, 0]) == sorted(np.repeat([0, 1, 2], 4))
    alone = shuffled_labels(codes, np.arange(60), rng)
    assert sorted(alone) == list(range(60))


def test_shuffled_data_hold_nothing_and_the_data_do():
    X, y, time = walk()
    check = permutation_check(DriftRegressor(), X, y, time, n_shuffles=3)
    table = check.table()
    assert table.loc["none", ["included", "drifting"]].tolist() == [2.0, 1.0]
    assert table.loc["outcome", "included"] <= 0.5  # of four features, and three shuffles
    assert table.loc["time", "drifting"] == 0.0
    assert table.loc["time", "included"] >= 1.0
    assert check.features["feature"].tolist() == list("abcd")
    assert "2 of 4 features are included" in check.sentence()
    again = permutation_check(DriftRegressor(), X, y, time, n_shuffles=3)
    pd.testing.assert_frame_equal(check.counts, again.counts)
    pytest.importorskip("matplotlib")
    assert len(check.plot().axes) == 2


def test_dependent_rows_mislead_unless_groups_are_shuffled():
    """Hours of a day share error and column: rows shuffled apart look as if all were well."""
    rng = np.random.default_rng(3)
    days = np.repeat(np.arange(60), 20)
    time = days // 10
    X = rng.normal(size=(60, 3))[days]
    y = rng.normal(size=60)[days] + 0.3 * rng.normal(size=days.size)
    how = {"n_shuffles": 4}
    apart = permutation_check(DriftRegressor(), X, y, time, **how).table()
    whole = permutation_check(DriftRegressor(), X, y, time, days, **how).table()
    assert apart.loc["outcome", "included"] <= 1.0
    assert whole.loc["outcome", "included"] >= 2.0


@pytest.mark.parametrize(
    ("how", "match"),
    [
        ({"groups": [1, 2]}, "one id a row"),
        ({"groups": np.full(360, np.nan)}, "missing ids"),
        ({"n_shuffles": 0}, "n_shuffles=0"),
    ],
)
def test_what_cannot_be_shuffled_is_refused(how, match):
    X, y, time = walk()
    with pytest.raises(DataError, match=match):
        permutation_check(DriftRegressor(), X, y, time, **how)
    with pytest.raises(DataError, match="pass a drift model"):
        permutation_check(object(), X, y, time)
