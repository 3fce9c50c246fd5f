"""The Newton step of a lasso: it goes down, and ends what sweeps alone do not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from driftglm.baselines import LassoAll, lasso_quadratic
from driftglm.baselines.lasso_kernel import descend_inplace
from driftglm.baselines.lasso_newton import newton_inplace


def problem(rng, n_rows=60, n_columns=40, likeness=0.0):
    """Columns that share a walk; X'X, X'y and y'y."""
    walks = np.cumsum(rng.normal(size=(n_rows, n_columns)), axis=1) / np.sqrt(n_columns)
    X = likeness * walks + (1 - likeness) * rng.normal(size=(n_rows, n_columns))
    y = X @ rng.normal(size=n_columns) + rng.normal(size=n_rows)
    return X.T @ X, X.T @ y, float(y @ y)


def objective(products, right, beta, strength):
    return 0.5 * beta @ products @ beta - right @ beta + strength * np.abs(beta).sum()


@given(seed=st.integers(0, 10_000), strength=st.sampled_from([0.01, 1.0, 30.0]))
def test_it_never_goes_up_and_keeps_slope_and_zeros(seed, strength):
    rng = np.random.default_rng(seed)
    products, right, _ = problem(rng, likeness=rng.uniform(0, 1))
    beta = rng.normal(size=40) * (rng.random(40) < 0.7)
    slope = right - products @ beta
    before, zero = objective(products, right, beta, strength), beta == 0
    newton_inplace(products, beta, slope, strength)
    # Never up, but for rounding of sums of about the size of y'y.
    assert objective(products, right, beta, strength) <= before + 1e-9 * (1 + abs(before))
    assert (beta[zero] == 0).all()
    assert_allclose(slope, right - products @ beta, atol=1e-8 * np.abs(right).max())


def test_where_signs_are_right_one_step_is_the_minimum():
    rng = np.random.default_rng(0)
    products, _, _ = problem(rng)
    wanted = rng.normal(size=40)
    right = products @ wanted + 0.5 * np.sign(wanted)
    beta = 0.3 * wanted
    assert not newton_inplace(products, beta, right - products @ beta, 0.5)
    assert_allclose(beta, wanted, rtol=1e-6)


def test_the_best_place_on_the_way_is_found_beyond_changes_of_sign():
    rng = np.random.default_rng(3)
    products, right, _ = problem(rng, likeness=0.5)
    start = rng.normal(size=40)
    beta = start.copy()
    assert newton_inplace(products, beta, right - products @ beta, 20.0)
    assert (np.sign(beta) != np.sign(start)).any()
    way = beta - start
    around = [objective(products, right, start + s * way, 20.0) for s in np.linspace(0, 2, 2001)]
    assert np.argmin(around) == 1000


def test_copies_and_nothing_at_all_are_no_obstacle():
    products, right, _ = problem(np.random.default_rng(1), n_columns=3)
    products, right = np.tile(products, (2, 2)), np.tile(right, 2)
    beta = np.ones(6)
    slope, before = right - products @ beta, objective(products, right, beta, 0.1)
    newton_inplace(products, beta, slope, 0.1)
    assert objective(products, right, beta, 0.1) < before
    nothing = np.zeros(6)
    assert not newton_inplace(products, nothing, right.copy(), 0.1)
    assert not nothing.any()


def test_more_columns_may_have_room_than_have_joined():
    products, right, _ = problem(np.random.default_rng(2))
    few, slope = np.ones(5), right[:5] - products[:5, :5] @ np.ones(5)
    alone, alone_slope = few.copy(), slope.copy()
    newton_inplace(products, few, slope, 0.5)
    newton_inplace(products[:5, :5].copy(), alone, alone_slope, 0.5)
    assert_allclose(few, alone, rtol=1e-12)
    assert_allclose(slope, alone_slope, rtol=1e-9)


@pytest.mark.parametrize("strength", [0.02, 0.2, 2.0])
def test_a_lasso_that_sweeps_do_not_end_ends(strength):
    """As many columns as rows, all alike: what a weak penalty chosen on a dev year asks for."""
    rng = np.random.default_rng(5)
    n = 150
    X = np.cumsum(rng.normal(size=(n, n)), axis=1)
    y = X @ rng.normal(size=n) + rng.normal(size=n)
    X, y = X - X.mean(axis=0), y - y.mean()
    products, right, energy = X.T @ X, X.T @ y, float(y @ y)
    limits = energy, strength, 1e-8 * energy, 2_000
    alone, slope = np.zeros(n), right.copy()
    assert not descend_inplace(products, alone, slope, right, limits)

    sweeps = []

    def counted(products, beta, slope, right, limits):
        sweeps.append(limits[-1])
        return descend_inplace(products, beta, slope, right, limits)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lasso_quadratic, "descend_inplace", counted)
        model = LassoAll(strength=strength, standardize=False, tol=1e-8).fit(X, y)
    assert model.converged_
    assert sum(sweeps) < 2_000  # 2,580 to 5,360 with one Newton step at a time
    # No set of coefficients can be better by more than the distance to a feasible dual point.
    residual = y - X @ model.coef_
    dual = residual * min(1.0, strength / np.abs(X.T @ residual).max())
    value = 0.5 * residual @ residual + strength * np.abs(model.coef_).sum()
    assert value - 0.5 * (y @ y - (y - dual) @ (y - dual)) <= 1.1e-8 * energy
