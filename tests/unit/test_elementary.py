"""Exponentials, logarithms and sums of whole arrays against the library's and exact ones."""

import math

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from driftglm._elementary import LEAST, MOST, SMALLEST, exp_inplace, log_inplace, total

N_PLAIN = 300
ULP = np.finfo(float).eps


def both(function):
    return pytest.mark.parametrize("function", [function, function.py_func], ids=["jit", "plain"])


def applied(function, x):
    # Plain Python takes its time.
    x = np.array(x if hasattr(function, "py_func") else x[:: max(len(x) // N_PLAIN, 1)])
    found = x.copy()
    function(found, np.full(x.size, np.nan))
    return x, found


@both(exp_inplace)
def test_exp_is_that_of_the_library(function, rng):
    x = np.concatenate([rng.uniform(LEAST, MOST, 50_000), rng.uniform(-2.0, 2.0, 50_000), [0.0]])
    x, found = applied(function, x)
    assert_allclose(found, np.exp(x), rtol=3 * ULP)


@both(log_inplace)
def test_log_is_that_of_the_library(function, rng):
    x = np.concatenate([10 ** rng.uniform(-307, 308, 50_000), rng.uniform(0.5, 2.0, 50_000)])
    x, found = applied(function, x)
    assert_allclose(found, np.log(x), rtol=4 * ULP)


def test_digits_against_exact_values():
    x = np.array([-700.3, -37.9, -0.34657, -1e-9, 0.3466, 12.25])
    found = applied(exp_inplace, x)[1]
    assert_allclose(found, [float(mpmath.exp(float(each))) for each in x], rtol=3 * ULP)
    x = np.array([SMALLEST, 1e-200, 0.70710678, 0.7071068, 1 + 1e-12, 1.4142135, 1.4142136, 1e200])
    found = applied(log_inplace, x)[1]
    assert_allclose(found, [float(mpmath.log(float(each))) for each in x], rtol=4 * ULP)


@both(exp_inplace)
def test_exponents_out_of_range_go_to_the_border(function):
    found = applied(function, [-np.inf, -1e300, -708.5, 1e9])[1]
    assert_allclose(found, np.exp([LEAST, LEAST, LEAST, MOST]), rtol=3 * ULP)


def test_known_values_are_exact():
    assert_array_equal(applied(exp_inplace, [0.0])[1], [1.0])
    assert_array_equal(applied(log_inplace, [1.0])[1], [0.0])


@both(total)
@pytest.mark.parametrize("size", [0, 1, 3, 4, 7, 101])
def test_total_is_the_sum_of_all(function, size, rng):
    x = rng.normal(size=size)
    assert_allclose(function(x), math.fsum(x), rtol=1e-13, atol=1e-15)
