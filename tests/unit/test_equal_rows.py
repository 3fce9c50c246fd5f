"""Equal rows are one row of more weight, and no figure of a fit depends on it."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from driftglm import DriftClassifier, DriftPoissonRegressor
from driftglm.fitting import equal_rows as merging
from driftglm.fitting.equal_rows import equal_rows


@pytest.fixture(params=["dense", "sparse"])
def kind(request):
    return np.asarray if request.param == "dense" else sp.csr_array


def repeating(rng, n_rows=3000, n_columns=4):
    """Dummies of few different rows, and steps in no order."""
    return rng.integers(0, 2, (n_rows, n_columns)).astype(float), rng.integers(0, 5, n_rows)


def test_sets_are_equal_rows_of_a_step_sorted_by_step(rng, kind):
    X, codes = repeating(rng)
    number = rng.integers(0, 2, codes.size).astype(float)
    first, place = equal_rows(kind(X), codes, [number])
    keys = np.column_stack([codes, number, X])
    assert len(first) == len(np.unique(keys, axis=0))
    assert_array_equal(keys[first[place]], keys)
    assert (np.diff(codes[first]) >= 0).all()
    assert_array_equal(first, [np.flatnonzero(place == k)[0] for k in range(len(first))])


def test_rows_of_equal_sums_are_compared(rng, kind, monkeypatch):
    X, codes = repeating(rng)

    class Flat:
        def normal(self, size):
            return np.ones(size)  # rows of as many ones have equal sums

    monkeypatch.setattr(merging.np.random, "default_rng", lambda _: Flat())
    assert equal_rows(kind(X), codes, []) is None


def test_rows_that_differ_are_left_alone(rng, kind):
    X, codes = rng.normal(size=(3000, 3)), rng.integers(0, 5, 3000)
    assert equal_rows(kind(X), codes, []) is None


def world(seed, n_rows=2600):
    rng = np.random.default_rng(seed)
    X, time = repeating(rng, n_rows, 6)
    eta = X @ [1.0, -1.0, 0.5, 0.0, 0.0, 0.0] + 0.3 * X[:, 0] * time
    return X, eta, time, rng


def alone_and_merged(model, X, y, time, monkeypatch, **more):
    merged = model().fit(X, y, time=time, **more)
    with monkeypatch.context() as patch:
        patch.setattr(merging, "LEAST_ROWS", 10**9)
        alone = model().fit(X, y, time=time, **more)
    return alone, merged


@pytest.mark.parametrize("extrapolate", ["forecast", "average"])
def test_a_logistic_fit_is_the_same_with_rows_merged(kind, extrapolate, monkeypatch):
    X, eta, time, rng = world(1)
    y, weight = (rng.random(eta.size) < 1 / (1 + np.exp(-eta))).astype(int), rng.uniform(1, 3, 2600)

    def model():
        return DriftClassifier(extrapolate=extrapolate)

    fits = alone_and_merged(model, kind(X), y, time, monkeypatch, sample_weight=weight)
    alone, merged = fits
    assert_allclose(merged.objective_history_, alone.objective_history_, rtol=1e-9)
    assert_allclose(merged.coef_path_, alone.coef_path_, atol=1e-8)
    assert_allclose(merged.predict_proba(X), alone.predict_proba(X), atol=1e-8)
    # Rows are judged one by one, as they were given.
    assert_allclose(merged.residuals_, alone.residuals_, atol=1e-5)


def test_counts_are_merged_where_they_are_equal(monkeypatch):
    X, eta, time, rng = world(2)
    y = rng.poisson(np.exp(0.2 * eta))
    alone, merged = alone_and_merged(DriftPoissonRegressor, X, y, time, monkeypatch)
    assert_allclose(merged.objective_history_, alone.objective_history_, rtol=1e-9)
    assert_allclose(merged.coef_path_, alone.coef_path_, atol=1e-8)
    assert_allclose(merged.residuals_, alone.residuals_, atol=1e-5)
