"""Odd but legitimate data for DriftRegressor."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from driftglm import DriftRegressor
from driftglm.priors import Fixed


def drift(**params):
    """The paper's prior, whatever the default of the class may be."""
    return DriftRegressor(**{"prior": "exact", **params})


# --------------------------------------------------------------------- odd but legitimate data


def odd(name, rng):
    """(X, y, time) of data that are unusual but not wrong."""
    time = np.repeat(np.arange(5), 12)
    X = rng.normal(size=(60, 4))
    y = X[:, 0] * (1 + time) + 0.3 * rng.normal(size=60)
    cases = {
        "one row a step": lambda: (X, y, np.arange(60)),
        "two rows": lambda: (X[:2], y[:2], None),
        "two rows, two steps": lambda: (X[:2], y[:2], [0, 1]),
        "two steps": lambda: (X, y, time // 3),
        "one feature": lambda: (X[:, :1], y, time),
        "more features than rows": lambda: (rng.normal(size=(60, 150)), y, time),
        "duplicate columns": lambda: (np.hstack([X, X[:, :2]]), y, time),
        "constant y": lambda: (X, np.full(60, 0.1), time),
        "large constant y": lambda: (X, np.full(60, 1e8), time),
        "y of zeros": lambda: (X, np.zeros(60), time),
        "exactly linear y": lambda: (X, X @ [1.0, -2.0, 0.0, 0.0], time),
        "boolean X": lambda: (X > 0, y, time),
        "integer y": lambda: (X, (3 * y).astype(int), time),
        "boolean y": lambda: (X, y > 0, time),
        "large X": lambda: (1e8 * X, y, time),
        "small X": lambda: (1e-8 * X, y, time),
        "large y": lambda: (X, 1e8 * y, time),
        "small y": lambda: (X, 1e-8 * y, time),
        "y far from zero": lambda: (X, y + 1e7, time),
        "X far from zero": lambda: (X + 1e7, y, time),
        "X of zeros": lambda: (0 * X, y, time),
        "a column of zeros": lambda: (X * [1, 0, 1, 1], 1e8 * y, time),
        "a constant column": lambda: (np.column_stack([X, np.full(60, 0.1)]), y, time),
        "a column seen once": lambda: (np.column_stack([X, np.arange(60) == 7]), y, time),
        "a column of one step": lambda: (np.column_stack([X, X[:, 1] * (time == 2)]), y, time),
        "half of the steps empty": lambda: (X, y, 2 * time),
    }
    return cases if name is None else cases[name]()


@pytest.mark.parametrize("prior", ["exact", "fixed"])
@pytest.mark.parametrize("solver", ["block", "lbfgs"])
@pytest.mark.parametrize("name", list(odd(None, np.random.default_rng(0))))
@pytest.mark.filterwarnings("ignore::driftglm.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::driftglm.exceptions.DataWarning")
def test_odd_data_give_finite_numbers_and_a_rising_objective(name, solver, prior, rng):
    X, y, time = odd(name, rng)
    for intercept in (True, False):
        model = drift(prior=prior, solver=solver, fit_intercept=intercept, max_iter=60)
        model.fit(X, y, time=time)
        history = model.objective_history_
        for value in (model.coef_path_, model.intercept_path_, model.noise_variance_, history):
            assert np.isfinite(value).all()
        assert np.isfinite(model.predict(X, time=time)).all()
        assert np.isfinite(model.predict(X)).all()
        assert (np.diff(history) >= -1e-9 * np.abs(history).max()).all()
        assert model.noise_variance_ > 0


@pytest.mark.parametrize("weight", [1e-2, 1e8])
@pytest.mark.parametrize("prior", ["exact", "fixed"])
def test_weights_of_any_size_give_finite_numbers(weight, prior, panel_rows):
    X, y, time = panel_rows
    model = drift(prior=prior).fit(X, y, time=time, sample_weight=weight)
    history = model.objective_history_
    assert np.isfinite(model.coef_path_).all()
    assert np.isfinite(model.intercept_path_).all()
    assert (np.diff(history) >= -1e-9 * np.abs(history).max()).all()
    if weight > 1:  # so many rows that no prior can hold against them
        assert_allclose(model.predict(X, time=time), fitted_by_step(X, y, time), atol=1e-3)


def fitted_by_step(X, y, time):
    """Least squares in every step of its own."""
    out = np.empty_like(y)
    for label in np.unique(time):
        own = time == label
        columns = np.column_stack([X[own], np.ones(own.sum())])
        out[own] = columns @ np.linalg.lstsq(columns, y[own], rcond=None)[0]
    return out


def test_a_constant_y_is_the_intercept(rng):
    X = rng.normal(size=(60, 3))
    for value in (0.1, -1e8):
        model = drift().fit(X, np.full(60, value), time=np.repeat(np.arange(5), 12))
        assert_allclose(model.intercept_path_, np.full(5, value), rtol=1e-9)
        assert not model.coef_path_.any()


def test_exactly_linear_data_are_recovered(rng):
    X = rng.normal(size=(200, 4))
    y = X @ [1.0, -2.0, 0.0, 0.0] + 3.0
    model = drift().fit(X, y, time=np.repeat(np.arange(5), 40))
    assert_array_equal(model.inclusion_probability_, [1, 1, 0, 0])
    # The noise is not let go to zero, so the prior still pulls a little.
    assert_allclose(model.coef_path_, np.tile([1.0, -2.0, 0.0, 0.0], (5, 1)), atol=0.01)
    assert_allclose(model.intercept_path_, np.full(5, 3.0), atol=0.01)


@pytest.mark.filterwarnings("ignore:some columns cannot be told")
def test_of_two_identical_columns_one_takes_all(rng):
    X = rng.normal(size=(200, 2))
    y = 2 * X[:, 0] + 0.3 * rng.normal(size=200)
    time = np.repeat(np.arange(4), 50)
    model = drift().fit(np.hstack([X, X[:, :1]]), y, time=time)
    assert model.inclusion_probability_[[0, 2]].sum() == 1
    assert_allclose(model.coef_path_[:, [0, 2]].sum(axis=1), np.full(4, 2.0), atol=0.2)


def test_a_fixed_prior_object_is_used_as_given(panel_rows):
    X, y, time = panel_rows
    tight, loose = (
        drift(prior=Fixed(scale=scale, autocorrelation=0.5)).fit(X, y, time=time)
        for scale in (1e-4, 10.0)
    )
    assert np.abs(tight.coef_path_).max() < np.abs(loose.coef_path_).max()
