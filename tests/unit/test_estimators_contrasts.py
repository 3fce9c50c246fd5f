"""Contrasts of fitted models: names, steps, units, and what other attributes say."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import driftglm
from driftglm import DriftClassifier, DriftPoissonRegressor, DriftRegressor
from driftglm.exceptions import DataError, TimeError
from driftglm.priors import Learned

N_STEPS, N_FEATURES = 8, 6


def moments(contrast):
    return [contrast.estimate, contrast.std]


# ---------------------------------------------------------------- what other attributes say


@pytest.mark.parametrize("step", [0, 3, N_STEPS - 1])
def test_one_coefficient_is_that_of_the_path(step, fitted):
    for i in range(N_FEATURES):
        found = fitted.contrast({(i, 2000 + step): 1.0}, level=0.8)
        expected = [fitted.coef_path_[step, i], fitted.coef_std_path_[step, i]]
        assert_allclose(moments(found), expected, rtol=1e-8)
        assert found.level == 0.8


def test_the_interval_of_a_feature_that_is_surely_in_is_that_of_the_path(fitted):
    lower, upper = fitted.coef_interval(0.9)[:, 4, 3]
    found = fitted.contrast({(3, 2004): 1.0})
    assert fitted.inclusion_probability_[3] > 0.999
    assert_allclose([found.lower, found.upper], [lower, upper], atol=0.1 * found.std)


def test_the_next_step_is_that_of_coef_and_summary(fitted):
    table = fitted.summary().set_index("feature")
    for i in range(N_FEATURES):
        found = fitted.contrast({(i, "next"): 1.0})
        assert_allclose(found.estimate, fitted.coef_[i], rtol=1e-9)
        row = table.loc[f"x{i}"]
        assert_allclose(found.std, (row.upper - row.lower) / (2 * 1.6448536269514722), rtol=1e-8)
        assert found == fitted.contrast({(i, 2000 + N_STEPS): 1.0})


@pytest.mark.parametrize("extrapolate", ["forecast", "hold"])
@pytest.mark.parametrize("step", [N_STEPS - 1, N_STEPS, N_STEPS + 3])
def test_the_contrast_of_a_row_has_the_moments_of_its_eta(step, extrapolate, rows):
    model = DriftRegressor(fit_intercept=False, extrapolate=extrapolate, always_in=[2])
    model.fit(rows.X, rows.y, time=rows.time)
    for x in rows.X[:3]:
        found = model.contrast({(i, 2000 + step): value for i, value in enumerate(x)})
        mean, variance = model._eta_moments(x[None], [2000 + step])
        assert_allclose(found.estimate, mean[0], rtol=1e-5, atol=1e-5)
        assert_allclose(found.std, np.sqrt(variance[0]), rtol=1e-4)


def test_held_coefficients_are_those_of_the_summary(rows):
    model = DriftRegressor(extrapolate="hold").fit(rows.X, rows.y, time=rows.time)
    table = model.summary().set_index("feature")
    found = model.contrast({(3, "next"): 1.0})
    assert_allclose(found.estimate, model.coef_path_[-1, 3], rtol=1e-9)
    ends = table.loc["x3", ["lower", "upper"]].astype(float)
    assert_allclose([found.lower, found.upper], ends, rtol=1e-6)


def test_shared_directions_are_part_of_a_contrast(rng):
    """Many small effects that lie in one direction of the columns."""
    time = np.repeat(np.arange(4), 60)
    factor = rng.normal(size=(240, 2))
    X = factor @ rng.normal(size=(2, 120)) + rng.normal(size=(240, 120))
    y = factor @ [3.0, -2.0] + rng.normal(size=240)
    model = DriftRegressor(fit_intercept=False).fit(X, y, time=time)
    assert model._fits[0].shared.variance.max() > 0
    one = model.contrast({(0, 2): 1.0})
    assert_allclose(moments(one), [model.coef_path_[2, 0], model.coef_std_path_[2, 0]], rtol=1e-8)
    found = model.contrast({(i, 3): value for i, value in enumerate(X[0])})
    mean, variance = model._eta_moments(X[:1], [3])
    assert_allclose(moments(found), [mean[0], np.sqrt(variance[0])], rtol=1e-8)


# ------------------------------------------------------------------------------ kinds of features


def test_a_difference_tells_what_drifts_from_what_does_not(fitted, rows):
    drifting = fitted.contrast({(3, 2007): 1.0, (3, 2000): -1.0})
    assert drifting.lower < rows.paths[-1, 3] - rows.paths[0, 3] < drifting.upper
    assert drifting.probability_positive > 0.999
    assert fitted.contrast({(3, 2000): 1.0, (3, 2007): -1.0}).probability_positive < 0.001
    constant = fitted.contrast({(1, 2007): 1.0, (1, 2000): -1.0})
    assert constant.probability_zero > 0.4
    assert constant.lower <= 0.0 <= constant.upper


def test_steps_of_a_path_are_not_taken_for_independent(fitted):
    difference = fitted.contrast({(4, 2004): 1.0, (4, 2003): -1.0})
    apart = np.hypot(*fitted.coef_std_path_[[3, 4], 4])
    assert difference.std < 0.9 * apart


def test_two_features_differ_by_what_they_do(fitted):
    found = fitted.contrast({(1, 2004): 1.0, (4, 2004): -1.0})
    path, std = fitted.coef_path_[4], fitted.coef_std_path_[4]
    joint = fitted._fits[0].at(4).joint
    variance = std[1] ** 2 + std[4] ** 2 - 2.0 * joint[1] @ joint[4]
    assert_allclose(moments(found), [path[1] - path[4], np.sqrt(variance)], rtol=1e-8)
    assert found.lower < 1.3 < found.upper


def test_features_that_are_always_in_or_static_have_contrasts(rows):
    model = DriftRegressor(
        always_in=[0, 2], static=[2, 3], noise="constant", extrapolate="forecast"
    ).fit(rows.X, rows.y, time=rows.time)
    for i in (0, 2, 3):
        found = model.contrast({(i, 2004): 1.0})
        expected = [model.coef_path_[4, i], model.coef_std_path_[4, i]]
        # Of what is always in, the posterior is stored up to the tolerance of the fit.
        assert_allclose(moments(found), expected, rtol=1e-4, atol=1e-5)
        ahead = model.contrast({(i, "next"): 1.0})
        assert_allclose(ahead.estimate, model.coef_[i], rtol=1e-8, atol=1e-12)
    assert 0.0 < model.contrast({(0, 2007): 1.0, (0, 2000): -1.0}).probability_zero < 1.0
    for i in (2, 3):
        assert model.contrast({(i, 2007): 1.0, (i, 2000): -1.0}).probability_zero == 1.0


def test_a_column_in_another_unit_has_contrasts_in_that_unit(rows):
    factors = np.array([1.0, 1.0, 1.0, 1000.0, 1.0, 0.01])
    model = DriftRegressor(always_in=[5]).fit(rows.X, rows.y, time=rows.time)
    other = DriftRegressor(always_in=[5]).fit(rows.X * factors, rows.y, time=rows.time)
    for i in (3, 5):
        terms = {(i, 2007): 1.0, (i, 2001): -1.0}
        one, scaled = model.contrast(terms), other.contrast(terms)
        expected = [one.estimate, one.std, one.lower, one.upper]
        found = [scaled.estimate, scaled.std, scaled.lower, scaled.upper]
        assert_allclose(np.array(found) * factors[i], expected, rtol=1e-4, atol=1e-6)
        assert_allclose(scaled.probability_zero, one.probability_zero, atol=1e-6)


# ----------------------------------------------------------------------------------- families


def test_counts_and_two_classes_have_contrasts(count_rows, make_class_rows):
    X, y, time = count_rows
    counts = DriftPoissonRegressor().fit(X, y, time=time)
    X, y, time = make_class_rows(2)
    classes = DriftClassifier().fit(X, y, time=time)
    for model, truth in ((counts, 1.6), (classes, 5.0)):
        last = model.timesteps_[-1]
        change = model.contrast({("x0", last): 1.0, ("x0", 2001): -1.0})
        assert change.lower < truth < change.upper
        found = model.contrast({("x1", last): 1.0})
        expected = [model.coef_path_[-1, 1], model.coef_std_path_[-1, 1]]
        assert_allclose(moments(found), expected, rtol=1e-8)


def test_of_more_than_two_classes_one_must_be_named(make_class_rows):
    X, y, time = make_class_rows(3)
    model = DriftClassifier().fit(X, np.array(["a", "b", "c"])[y], time=time)
    for k, label in enumerate("abc"):
        found = model.contrast({(0, 2003): 1.0}, class_=label)
        expected = [model.coef_path_[2, k, 0], model.coef_std_path_[2, k, 0]]
        assert_allclose(moments(found), expected, rtol=1e-8)
    for wrong in (None, "d"):
        with pytest.raises(DataError, match="pass one of 'a', 'b', 'c'"):
            model.contrast({(0, 2003): 1.0}, class_=wrong)


def test_one_set_of_coefficients_has_no_class(fitted):
    with pytest.raises(DataError, match="one set of coefficients"):
        fitted.contrast({(0, 2003): 1.0}, class_="a")


# ---------------------------------------------------------------------------------- what to pass


def test_an_array_of_weights_says_the_same_as_terms(fitted):
    weights = np.zeros((N_STEPS + 2, N_FEATURES))
    weights[2, 1], weights[N_STEPS + 1, 3] = 2.0, -1.0
    expected = fitted.contrast({("x1", 2002): 2.0, ("x3", 2000 + N_STEPS + 1): -1.0})
    assert fitted.contrast(weights) == expected
    once = fitted.contrast({(1, 2002): 1.0})
    assert fitted.contrast({("x1", 2002): 0.25, (1, 2002): 0.25, (-5, 2002): 0.5}) == once


def test_columns_of_a_frame_have_their_names(rows):
    X = pd.DataFrame(rows.X, columns=list("uvwxyz"))
    model = DriftRegressor().fit(X, rows.y, time=rows.time)
    assert model.contrast({("x", 2003): 1.0}) == model.contrast({(3, 2003): 1.0})
    with pytest.raises(DataError, match="'q', which X does not have; its columns are 'u', 'v'"):
        model.contrast({("q", 2003): 1.0})


def test_dates_and_categories_are_given_as_they_are_called(rows):
    months = pd.PeriodIndex.from_ordinals(rows.time, freq="M")
    first, last = months.min(), months.max()
    model = DriftRegressor().fit(rows.X, rows.y, time=months)
    expected = model.contrast({(3, last): 1.0, (3, first): -1.0})
    assert_allclose(expected.estimate, np.diff(model.coef_path_[[0, -1], 3])[0], rtol=1e-8)
    assert model.contrast({(3, str(last)): 1.0, (3, first.to_timestamp()): -1.0}) == expected
    assert model.contrast({(3, last + 1): 1.0}) == model.contrast({(3, "next"): 1.0})
    names = list("abcdefgh")
    labels = pd.Categorical.from_codes(rows.time - 2000, names, ordered=True)
    model = DriftRegressor().fit(rows.X, rows.y, time=labels)
    assert_allclose(model.contrast({(3, "c"): 1.0}).estimate, model.coef_path_[2, 3], rtol=1e-8)
    with pytest.raises(TimeError, match="'z'; the model has steps from 'a' to 'h'"):
        model.contrast({(3, "z"): 1.0})


def test_a_model_without_time_has_one_step(rows):
    model = DriftRegressor().fit(rows.X, rows.y)
    found = model.contrast({(1, "next"): 1.0})
    assert_allclose(moments(found), [model.coef_[1], model.coef_std_path_[0, 1]], rtol=1e-8)
    with pytest.raises(TimeError, match=r"has one step: pass .* 'next'"):
        model.contrast({(1, 2003): 1.0})


@pytest.mark.parametrize("step", [1999, "2003", "last", None, 2003.5])
def test_a_step_the_model_does_not_have_is_refused_by_those_it_has(step, fitted):
    with pytest.raises(TimeError, match="steps from 2000 to 2007: pass a label"):
        fitted.contrast({(0, step): 1.0})


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({("q", 2003): 1.0}, "'q', which X does not have; its columns are 'x0', 'x1'"),
        ({(6, 2003): 1.0}, "column 6 but X has 6 columns"),
        ({(None, 2003): 1.0}, "the feature None; pass a name or a position"),
        ({(("x0", "x1"), 2003): 1.0}, "the feature .*; pass a name or a position"),
        ({(True, 2003): 1.0}, "the feature True"),
        ({"x0": 1.0}, "pairs"),
        ({("x0", 2003): np.nan}, "not finite numbers"),
        ({("x0", 2003): "1"}, "not finite numbers"),
        (np.zeros((N_STEPS, 5)), r"shape \(8, 5\); .* \(8, 6\)"),
        (np.zeros((N_STEPS - 1, N_FEATURES)), r"shape \(7, 6\)"),
        (np.zeros(N_FEATURES), r"shape \(6,\)"),
    ],
)
def test_terms_that_make_no_sense_are_refused(terms, message, fitted):
    with pytest.raises(DataError, match=message):
        fitted.contrast(terms)


def test_a_level_must_be_a_probability(fitted):
    with pytest.raises(DataError, match="level=90"):
        fitted.contrast({(0, 2003): 1.0}, level=90)


def test_a_mode_has_no_contrasts(rows):
    model = DriftRegressor(prior="fixed").fit(rows.X, rows.y, time=rows.time)
    with pytest.raises(DataError, match="prior='learned'"):
        model.contrast({(0, 2003): 1.0})


def test_a_model_read_from_a_file_has_the_same_contrasts(fitted, tmp_path):
    fitted.save(tmp_path / "model.drift")
    again = driftglm.load(tmp_path / "model.drift")
    terms = {(3, "next"): 1.0, (3, 2000): -1.0}
    assert again.contrast(terms) == fitted.contrast(terms)


def test_the_pinned_boundary_has_contrasts(rows):
    model = DriftRegressor(prior=Learned(boundary="pinned")).fit(rows.X, rows.y, time=rows.time)
    found = model.contrast({(3, 2004): 1.0})
    assert_allclose(moments(found), [model.coef_path_[4, 3], model.coef_std_path_[4, 3]], rtol=1e-8)
    assert_allclose(model.contrast({(3, "next"): 1.0}).estimate, model.coef_[3], rtol=1e-8)


def test_python_blocks_of_the_guide_run_one_after_the_other():
    page = Path(__file__).resolve().parents[2] / "docs" / "contrasts.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    assert len(blocks) == 2
    names = {}
    for block in blocks:
        exec(block, names)  # noqa: S102
    truth = names["panel"].coef_path
    assert names["change"].lower < truth[7, 6] - truth[0, 6] < names["change"].upper
