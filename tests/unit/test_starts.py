"""Starting fits: which rows they see, and what they must not depend on."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Lasso, Ridge

from driftglm.fitting.starts import RIDGE_GRID, StartData, start_paths

KINDS = ["lasso-one", "lasso-all", "ridge-all"]
ALL_KINDS = pytest.mark.parametrize("kind", KINDS)
CENTERED = pytest.mark.parametrize("center", [False, True])
T = 4


def start_data(rng, *, center=False, n_features=5, rows_per_step=30, n_timesteps=T):
    """Two features matter, one of them more and more; columns have different sizes."""
    codes = np.repeat(np.arange(n_timesteps), rows_per_step)
    X = rng.normal(size=(codes.size, n_features)) * np.geomspace(0.1, 10, n_features)
    target = X[:, 0] * 10 * codes + X[:, 2] + 0.5 * rng.normal(size=codes.size)
    if center:  # beside an intercept path the steps' means are taken out beforehand
        target = target - (np.bincount(codes, target) / rows_per_step)[codes]
    return StartData(X, target, codes, np.ones(codes.size), center)


def replaced(data, **changes):
    parts = {name: getattr(data, name) for name in ("X", "target", "codes", "weights", "center")}
    return StartData(**{**parts, **changes})


@ALL_KINDS
def test_a_start_is_constant_over_time(kind, rng):
    paths = start_paths(kind, start_data(rng), T)
    assert paths.shape == (5, T)
    assert paths.any()
    assert_array_equal(paths, paths[:, :1] * np.ones(T))


@pytest.mark.parametrize("kind", ["zero", "auto"])
def test_zero_means_zero(kind, rng):
    assert not start_paths(kind, start_data(rng), T).any()


@ALL_KINDS
def test_nothing_to_explain_starts_at_zero(kind, rng):
    data = start_data(rng)
    assert not start_paths(kind, replaced(data, target=np.zeros_like(data.target)), T).any()


@ALL_KINDS
def test_no_features_start_as_no_paths(kind, rng):
    data = start_data(rng)
    assert start_paths(kind, replaced(data, X=data.X[:, :0]), T).shape == (0, T)


def test_lasso_one_fits_the_last_step_only(rng):
    """Given the strength, rows before the last two steps are not looked at at all."""
    data = start_data(rng)
    start = start_paths("lasso-one", data, T)
    early = data.codes < T - 2
    shuffled = data.target.copy()
    shuffled[early] = 100 * rng.normal(size=early.sum())
    assert_array_equal(start_paths("lasso-one", replaced(data, target=shuffled), T), start)
    # At the last step the first coefficient is 30; pooled it would be about 15.
    assert 20 < start[0, 0] < 31
    assert 8 < start_paths("lasso-all", data, T)[0, 0] < 20


def test_lasso_one_is_a_lasso_of_the_last_step_for_one_of_the_strengths(rng):
    data = start_data(rng)
    start = start_paths("lasso-one", data, T)[:, 0]
    last = data.codes == T - 1
    scale = np.sqrt((data.X**2).mean(axis=0))
    X, y = data.X[last] / scale, data.target[last]
    # The strength can be read off the gradient of the residuals at any active column.
    residual = y - X @ (start * scale)
    gradient = np.abs(X.T @ residual) / y.size
    lasso = Lasso(alpha=gradient.max(), fit_intercept=False, tol=1e-10).fit(X, y)
    assert_allclose(start * scale, lasso.coef_, rtol=0.02, atol=0.02)


def test_ridge_all_is_a_ridge_of_all_steps_for_one_of_the_strengths(rng):
    data = start_data(rng)
    start = start_paths("ridge-all", data, T)[:, 0]
    scale = np.sqrt((data.X**2).mean(axis=0))
    fits = [
        Ridge(alpha=5 * strength, fit_intercept=False).fit(data.X / scale, data.target).coef_
        for strength in RIDGE_GRID
    ]
    distance = np.abs(np.array(fits) - start * scale).max(axis=1)
    assert distance.min() < 1e-9 * np.abs(start * scale).max()


@ALL_KINDS
@CENTERED
def test_a_start_does_not_depend_on_units(kind, center, rng):
    data = start_data(rng, center=center)
    unit = np.array([1e-6, 3.0, 1e4, 0.7, 123.0])
    start = start_paths(kind, data, T)
    other = start_paths(kind, replaced(data, X=data.X * unit), T)
    assert_allclose(other * unit[:, None], start, rtol=1e-6, atol=1e-9 * np.abs(start).max())
    tripled = start_paths(kind, replaced(data, target=3 * data.target), T)
    assert_allclose(tripled, 3 * start, rtol=1e-6, atol=1e-9 * np.abs(start).max())


@ALL_KINDS
@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_beside_an_intercept_a_start_does_not_depend_on_origins(kind, store, rng):
    data = start_data(rng, center=True)
    start = start_paths(kind, replaced(data, X=store(data.X)), T)
    moved = replaced(data, X=store(data.X + np.array([0.0, 3.0, -40.0, 0.5, 100.0])))
    # scikit-learn's lasso stops at a gap of 1e-3.
    assert_allclose(start_paths(kind, moved, T), start, rtol=1e-3, atol=1e-3 * start.max())


@ALL_KINDS
@CENTERED
def test_sparse_and_dense_start_alike(kind, center, rng):
    data = start_data(rng, center=center)
    X = data.X * (rng.random(data.X.shape) < 0.6)
    dense = start_paths(kind, replaced(data, X=X), T)
    sparse = start_paths(kind, replaced(data, X=sp.csr_array(X)), T)
    # Ridge solves sparse systems by conjugate gradients, to 1e-6.
    assert_allclose(sparse, dense, rtol=1e-4, atol=1e-5 * np.abs(dense).max())


@ALL_KINDS
def test_there_is_no_chance_in_the_choice_of_the_strength(kind, rng):
    data = start_data(rng)
    np.random.seed(1)  # noqa: NPY002 (scikit-learn's folds would draw from here)
    first = start_paths(kind, data, T)
    np.random.seed(2)  # noqa: NPY002
    assert_array_equal(start_paths(kind, data, T), first)


@pytest.mark.parametrize("kind", ["lasso-all", "ridge-all"])
@CENTERED
def test_all_steps_starts_do_not_know_the_direction_of_time(kind, center, rng):
    data = start_data(rng, center=center)
    backwards = replaced(data, codes=T - 1 - data.codes)
    assert_allclose(
        start_paths(kind, backwards, T), start_paths(kind, data, T), rtol=1e-9, atol=1e-12
    )


@ALL_KINDS
def test_integer_weights_are_repeated_rows(kind, rng):
    data = start_data(rng)
    counts = rng.integers(1, 4, size=data.target.size)
    weighted = start_paths(kind, replaced(data, weights=counts.astype(float)), T)
    again = np.repeat(np.arange(counts.size), counts)
    repeated = StartData(
        data.X[again], data.target[again], data.codes[again], np.ones(again.size), False
    )
    assert_allclose(start_paths(kind, repeated, T), weighted, rtol=1e-6, atol=1e-9)


@ALL_KINDS
def test_one_step_needs_no_step_to_hold_out(kind, rng):
    data = start_data(rng, n_timesteps=1, rows_per_step=60)
    paths = start_paths(kind, data, 1)
    assert paths.shape == (5, 1)
    assert np.isfinite(paths).all()
    assert paths[2, 0] > 0.5


def test_one_step_uses_the_universal_threshold(rng):
    """Pure noise: the universal threshold keeps nothing in most samples."""
    n_nonzero = 0
    for _ in range(20):
        X = rng.normal(size=(100, 30))
        data = StartData(X, rng.normal(size=100), np.zeros(100, int), np.ones(100), False)
        n_nonzero += np.count_nonzero(start_paths("lasso-one", data, 1))
    # 600 coefficients; P(|z| > sqrt(2 log 30) = 2.6) = .009 each.
    assert n_nonzero <= 20


@ALL_KINDS
def test_steps_without_rows_do_not_matter(kind, rng):
    data = start_data(rng)
    stretched = replaced(data, codes=3 * data.codes)
    paths = start_paths(kind, stretched, 12)
    assert paths.shape == (5, 12)
    assert_allclose(paths[:, 0], start_paths(kind, data, T)[:, 0], rtol=1e-12)


@ALL_KINDS
@CENTERED
def test_columns_of_zeros_or_of_one_value_do_no_harm(kind, center, rng):
    data = start_data(rng, center=center)
    X = data.X.copy()
    X[:, 1], X[:, 3] = 0.0, 0.1
    paths = start_paths(kind, replaced(data, X=X), T)
    assert np.isfinite(paths).all()
    assert not paths[1].any()
    if center:
        assert_allclose(paths[3] * 0.1, 0.0, atol=1e-9)


@ALL_KINDS
def test_one_row_per_step(kind, rng):
    data = start_data(rng, rows_per_step=1, center=True)
    assert np.isfinite(start_paths(kind, data, T)).all()
