"""What is said about features: the definitions, one by one, and how they are counted."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from driftglm import DriftRegressor
from driftglm.estimators.statements import Thresholds, counted, judged, not_told_apart
from driftglm.exceptions import DataError, DataWarning
from driftglm.fitting.coefficients import SharedFit
from driftglm.fitting.identity import ColumnNotes

NONE = ColumnNotes.none(6)


def kind(fit, **thresholds):
    return judged(fit, Thresholds(**thresholds), NONE).kind


def test_the_interval_of_a_change_is_that_of_the_contrast_of_its_two_steps(fitted):
    """An independent way to it: `contrast` goes through another formula, tested by dense ones."""
    found = judged(fitted._fits[0], Thresholds(), NONE).changes
    path = fitted.coef_path_
    for i in (1, 2, 3, 4):
        earlier, later = int(found.earlier[i]), int(found.later[i])
        assert earlier < later
        assert {earlier, later} == {int(path[:, i].argmin()), int(path[:, i].argmax())}
        steps = fitted.timesteps_
        other = fitted.contrast({(i, steps[later]): 1.0, (i, steps[earlier]): -1.0})
        assert_allclose(found.estimate[i], other.estimate, rtol=1e-6, atol=1e-9)
        assert_allclose([found.lower[i], found.upper[i]], [other.lower, other.upper], atol=1e-6)


def test_a_hump_has_a_change_though_it_ends_where_it_began(rng):
    time = np.repeat(np.arange(9), 100)
    X = rng.normal(size=(900, 2))
    hump = np.sin(np.pi * np.arange(9) / 8)
    y = hump[time] * X[:, 0] + 0.2 * rng.normal(size=900)
    row = DriftRegressor().fit(X, y, time=time).summary().set_index("feature").loc["x0"]
    assert row["kind"] == "drifting"
    assert abs(row["coef_last"] - row["coef_first"]) < 0.2
    assert abs(row["change"]) > 0.8
    assert row["change_lower"] < row["change"] < row["change_upper"]


def test_drifting_needs_probability_and_a_change_worth_mentioning(fitted):
    fit = fitted._fits[0]
    assert kind(fit)[2] == "drifting"
    assert kind(fit)[3] == "sign-flip"
    # The same paths, but such changes do not matter to the user.
    assert kind(fit, negligible=100.0)[2] == "static"
    # Between what is surely negligible and surely not there is no telling.
    change = judged(fit, Thresholds(), NONE).changes
    inside = 0.5 * (np.abs(change.lower[2]) + np.abs(change.upper[2]))
    least = inside * fit.sizes.spread[2] / fit.sizes.reference
    assert kind(fit, negligible=least)[2] == "undecided"


def test_a_drift_that_is_not_sure_is_undecided(fitted):
    fit = fitted._fits[0]
    static = fit.components.is_static & ~fit.components.is_zero
    phi = fit.phi.copy()
    for share, expected in ((0.3, "undecided"), (0.6, "static"), (0.0, "drifting")):
        phi[2] = (1.0 - share) * fit.phi[2] / fit.phi[2][~fit.components.is_static].sum()
        phi[2, static] = share / static.sum()
        assert kind(dataclasses.replace(fit, phi=phi))[2] == expected
    assert_allclose(dataclasses.replace(fit, phi=phi).drift_probability()[2], 1.0)


def test_an_effect_by_shared_directions_is_not_zero_and_not_included(fitted):
    fit = fitted._fits[0]
    mean, root = np.zeros(6), np.full((6, 1), 0.01)
    mean[0], mean[5] = 0.5, 0.001
    moved = dataclasses.replace(fit, shared=SharedFit(mean, root))
    assert kind(fit)[[0, 5]].tolist() == ["zero", "zero"]
    assert kind(moved)[[0, 5]].tolist() == ["shared", "zero"]
    assert moved.effect_probability()[0] > 0.999
    assert_array_equal(moved.inclusion(), fit.inclusion())


def test_a_column_that_cannot_be_told_from_the_intercept_is_undecided(fitted):
    def notes(i):
        return dataclasses.replace(NONE, time_only=np.arange(6) == i)

    assert judged(fitted._fits[0], Thresholds(), notes(3)).kind[3] == "undecided"
    assert judged(fitted._fits[0], Thresholds(), notes(0)).kind[0] == "zero"


def pair(correlation=0.99):
    """Notes on two columns that are most like each other."""
    twin, close = np.array([1, 0, -1]), np.array([correlation, correlation, 0.0])
    return dataclasses.replace(ColumnNotes.none(3), twin=twin, correlation=close)


def apart(inclusion, drift, *, notes=None):
    """Whether either of the pair is not told from the other; drift of .9 or more is seen."""
    third = np.append(inclusion, 0.5), np.append(drift, 0.5)
    found = not_told_apart(*third, third[1] >= 0.9, notes or pair())
    assert not found[2]  # a column that is like no other
    return [not each for each in found[:2]]


def test_a_near_copy_that_is_not_sure_is_not_told_from_one_that_may_be_in():
    for doubtful in (0.45, 0.55):  # not a matter of on which side of a half it is
        assert apart([doubtful, 1.0], [0.0, 0.0]) == [False, True]
        assert apart([doubtful, 0.6], [0.0, 0.0]) == [False, False]
        assert apart([doubtful, 0.05], [0.0, 0.0]) == [True, True]
    assert apart([0.05, 1.0], [0.0, 1.0]) == [True, True]
    assert apart([0.95, 1.0], [0.95, 1.0]) == [True, True]


def test_of_near_copies_either_may_be_what_moves_if_one_of_them_is_in_doubt():
    assert apart([0.45, 1.0], [0.3, 1.0]) == [False, False]
    assert apart([0.45, 1.0], [0.05, 1.0]) == [False, True]


def test_copies_are_never_told_apart_unless_neither_is_in():
    same = pair(-1.0)
    assert apart([0.0, 1.0], [0.0, 1.0], notes=same) == [False, False]
    assert apart([0.05, 0.0], [0.0, 0.0], notes=same) == [True, True]


def test_the_same_is_said_of_a_column_and_its_copy(rows):
    X = np.column_stack([rows.X, 2.0 * rows.X[:, 3] + 1.0])
    model = DriftRegressor(extrapolate="forecast")
    with pytest.warns(DataWarning, match="copies of others"):
        model.fit(X, rows.y, time=rows.time)
    table = model.summary().set_index("feature")
    assert table.loc[["x3", "x6"], "kind"].tolist() == ["undecided"] * 2
    assert table.loc["x2", "kind"] == "drifting"


def test_a_mode_drifts_if_its_change_is_worth_mentioning(rows):
    model = DriftRegressor(prior="exact", static=[1]).fit(rows.X, rows.y, time=rows.time)
    table = model.summary().set_index("feature")
    assert table.loc["x1", "kind"] == "static"
    assert table.loc["x3", "kind"] == "sign-flip"
    assert table["change_lower"].isna().all()
    assert model.summary(negligible=100.0)["kind"].isin(["zero", "static"]).all()


@pytest.mark.parametrize("how", [{"drift_level": 0.2}, {"drift_level": 2}, {"negligible": -1.0}])
def test_thresholds_that_mean_nothing_are_refused(how, fitted):
    with pytest.raises(DataError, match=next(iter(how))):
        fitted.summary(**how)


def test_a_feature_of_several_classes_is_counted_once():
    pairs = [("a", "drifting"), ("b", "static"), ("a", "static"), ("b", "undecided")]
    pairs += [("c", "zero"), ("c", "shared"), ("d", "zero")]
    found = counted(pd.DataFrame(pairs, columns=["feature", "kind"]))
    assert (found.total, found.included) == (4, ["a", "b"])
    assert (found.moving, found.undecided, found.still) == (["a"], ["b"], [])
    assert found.shared == ["c"]


@pytest.mark.parametrize("view", ["levels differ", "levels alike"])
def test_what_is_said_does_not_depend_on_how_an_indicator_is_coded(view):
    """One that is 0 in the first step and 1 in the last: a law that came into force."""
    rng = np.random.default_rng(3)
    time = np.repeat(np.arange(6), 60)
    law = np.where(time < 1, 0, np.where(time > 4, 1, rng.integers(0, 2, 360))).astype(float)
    X = np.column_stack([law, rng.normal(size=(360, 2))])
    levels = rng.normal(size=6)[time] if view == "levels differ" else 0.0
    y = levels + 0.4 * law + X[:, 1] + rng.normal(size=360)

    def told(column):
        coded = np.column_stack([column, X[:, 1:]])
        model = DriftRegressor(extrapolate="forecast").fit(coded, y, time=time)
        return model.predict(coded, time=time), model.inclusion_probability_, model.summary()

    predictions, inclusion, table = told(law)
    for column in (law + 250.0, law - law.mean(), 1.0 - law, 7.0 * law):
        again, same, its = told(column)
        assert_allclose(again, predictions, atol=1e-8)
        assert_allclose(same, inclusion, atol=1e-8)
        assert its["kind"].tolist() == table["kind"].tolist()
