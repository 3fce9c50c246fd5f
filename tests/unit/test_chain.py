"""Algebra of the chain against eigenvalues at 50 digits and against dense matrices."""

from functools import partial

import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from driftglm.priors.chain import (
    ALPHA_BOUND,
    S_MIN,
    alpha_of_rho,
    logdet_pinned,
    logdet_slope,
    logdet_unit_tridiagonal,
    solve_tridiagonal_inplace,
)


def jitted_and_plain(kernel):
    forms = [pytest.param(kernel, id="jitted"), pytest.param(kernel.py_func, id="plain")]
    return pytest.mark.parametrize("function", forms)


def eigenvalue_logdet(alpha, n):
    eigenvalues = [1 + 2 * alpha * mp.cos(mp.pi * k / (n + 1)) for k in range(1, n + 1)]
    return mp.fsum(map(mp.log, eigenvalues))


def chain(alpha, n):
    return np.eye(n) + alpha * (np.eye(n, k=1) + np.eye(n, k=-1))


@jitted_and_plain(logdet_unit_tridiagonal)
@pytest.mark.parametrize("n", [1, 2, 3, 10, 50])
@pytest.mark.parametrize("alpha", [-0.5, -ALPHA_BOUND, -0.3, -1e-12, 0.0, 0.3])
def test_logdet_matches_eigenvalue_sum_at_50_digits(function, alpha, n):
    with mp.workdps(50):
        expected = float(eigenvalue_logdet(mp.mpf(alpha), n))
    # Worst case seen is 5e-16; the atol is for alpha = -1e-12, where log det is -1e-24 n.
    assert_allclose(function(alpha, n), expected, rtol=1e-14, atol=1e-20)


@jitted_and_plain(logdet_pinned)
@pytest.mark.parametrize("n", [1, 2, 3, 10, 200])
@pytest.mark.parametrize("s", [S_MIN, 0.01, 0.1, 1.0, 5.0, 40.0])
def test_closed_form_in_s_matches_eigenvalue_sum(function, s, n):
    with mp.workdps(50):
        alpha = -1 / (2 * mp.cosh(mp.mpf(s)))
        expected = float(eigenvalue_logdet(alpha, n))
    # n logarithms of numbers near 1 or 2: the rounding of n log(1 + e^-2s) is all that is lost.
    assert_allclose(function(s, n), expected, rtol=1e-13, atol=2e-15 * n)


@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_closed_form_in_s_matches_the_recursion(n):
    for s in np.geomspace(S_MIN, 30.0, 40):
        recursion = logdet_unit_tridiagonal(-0.5 / np.cosh(s), n)
        # Near s = 0 rounding alpha = -1/(2 cosh s) alone changes log det by 1e-16 times its slope.
        atol = 1e-15 * n + 1e-16 * logdet_slope(-0.5 / np.cosh(s), n)
        assert_allclose(logdet_pinned(s, n), recursion, rtol=1e-12, atol=atol)


@jitted_and_plain(logdet_slope)
@pytest.mark.parametrize("n", [1, 2, 3, 10, 50])
@pytest.mark.parametrize("alpha", [-ALPHA_BOUND, -0.3, -1e-3, -1e-9, 0.0])
def test_slope_matches_the_derivative_of_the_eigenvalue_sum(function, alpha, n):
    with mp.workdps(50):
        logdet = partial(eigenvalue_logdet, n=n)
        expected = float(mp.diff(logdet, mp.mpf(alpha)))
    # Terms of one sign: no cancellation. atol: the numerical derivative of 0 is 1e-25 or so.
    assert_allclose(function(alpha, n), expected, rtol=1e-11, atol=1e-20)


@pytest.mark.parametrize("alpha", [-0.4, -0.01])
def test_slope_is_positive_below_zero_and_odd(alpha):
    assert logdet_slope(alpha, 6) > 0
    assert logdet_slope(-alpha, 6) == -logdet_slope(alpha, 6)


@jitted_and_plain(solve_tridiagonal_inplace)
@pytest.mark.parametrize("n", [1, 2, 3, 20])
def test_tridiagonal_solver_matches_dense_solve(function, n, rng):
    beside = rng.normal(size=n)
    diagonal = rng.uniform(0.1, 1.0, n) + np.abs(beside) + np.abs(np.roll(beside, 1))
    matrix = np.diag(diagonal) + np.diag(beside[:-1], 1) + np.diag(beside[:-1], -1)
    answer = rng.normal(size=n)
    rhs = matrix @ answer
    function(diagonal, beside, rhs)
    # Diagonally dominant with a margin of 0.1: condition numbers below 1e3.
    assert_allclose(rhs, answer, rtol=1e-11, atol=1e-12)


def test_tridiagonal_solver_does_not_read_the_last_coupling():
    diagonal, beside, rhs = np.full(3, 2.0), np.array([-0.5, -0.5, np.nan]), np.ones(3)
    solve_tridiagonal_inplace(diagonal, beside, rhs)
    assert_allclose(rhs, np.linalg.solve(2.0 * chain(-0.25, 3), np.ones(3)), rtol=1e-14)


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.9, 0.9937])
def test_alpha_of_rho_is_the_inside_of_the_stationary_precision(rho):
    n = 5
    covariance = rho ** np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    precision = np.linalg.inv(covariance)
    assert_allclose(alpha_of_rho(rho), precision[2, 3] / precision[2, 2], atol=1e-12)


def test_the_bounds_of_alpha_and_of_s_are_the_same_point():
    # arccosh next to 1 magnifies the rounding of its argument by 1/(2e-5).
    expected = mp.acosh(1 / (1 - 2 * mp.mpf("1e-5")))
    assert_allclose(S_MIN, float(expected), rtol=1e-11)
    assert_allclose(-0.5 / np.cosh(S_MIN), -ALPHA_BOUND, rtol=1e-15)
