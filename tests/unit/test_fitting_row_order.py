"""Rows may come in any order: predictions are the same to the last digit."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from driftglm import DriftGLM
from driftglm.fitting import row_order

PASSES = 40
"""Digits are those of any pass, not of the last alone."""


def panel(family, rng, n=40):
    X = np.column_stack([rng.integers(0, 2, n), rng.normal(size=(n, 3))]).astype(np.float64)
    X[5] = X[6]
    time, eta = rng.integers(0, 5, n), X[:, 0] - X[:, 1]
    if family in {"gaussian", "student"}:
        y = eta + rng.standard_t(4, size=n)
    elif family == "binomial":
        y = (eta + rng.logistic(size=n) > 0).astype(int)
    elif family == "multinomial":
        y = np.argmax(np.column_stack([eta, 0 * eta, -eta]) + rng.gumbel(size=(n, 3)), axis=1)
    elif family == "beta-binomial":
        hits = rng.integers(0, 4, n)
        y = np.column_stack([hits, 4 - hits])
    else:
        y = rng.poisson(np.exp(0.4 * eta)) + (family == "gamma")
    return X, y, time


def fitted(family, given, **more):
    X, y, time, weights, groups = given
    more = {"sample_weight": weights, "groups": groups, **more}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return DriftGLM(family=family, max_iter=PASSES).fit(X, y, time=time, **more)


def answers(model, X, time):
    ask = model.predict_proba if model.family_.target == "classes" else model.predict
    return ask(X), ask(X, time=time)


@pytest.mark.parametrize("how", ["dense", "csr", "weights", "groups"])
@pytest.mark.parametrize(
    "family", ["gaussian", "student", "binomial", "multinomial", "beta-binomial", "poisson"]
)
def test_the_order_of_rows_changes_no_digit(family, how):
    if how == "groups" and family in {"student", "multinomial"}:
        pytest.skip("no groups")
    rng = np.random.default_rng(4)
    X, y, time = panel(family, rng)
    weights = 10.0 ** rng.uniform(-6, 6, len(X)) if how == "weights" else None
    groups = rng.integers(0, 9, len(X)) if how == "groups" else None
    order = rng.permutation(len(X))
    one = X, y, time, weights, groups
    other = [None if each is None else each[order] for each in one]
    if how == "csr":
        one, other = (sp.csr_array(X), *one[1:]), [sp.csr_array(other[0]), *other[1:]]
    first, second = fitted(family, one), fitted(family, other)
    for a, b in zip(answers(first, X, time), answers(second, X, time), strict=True):
        assert_array_equal(a, b)
    if family in {"gaussian", "student"}:  # those of counts are drawn
        assert_array_equal(first.residuals_[order], second.residuals_)
    assert_array_equal(first.objective_history_, second.objective_history_)


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_a_fit_is_what_it_is_without_an_order_of_its_own(family, monkeypatch):
    """The order inside changes last digits and nothing else; residuals are those of their rows."""
    X, y, time = panel(family, np.random.default_rng(5))
    given = X, y, time, None, None
    ordered = fitted(family, given)
    monkeypatch.setattr(row_order, "MOST", 0)
    plain = fitted(family, given)
    np.testing.assert_allclose(ordered.predict(X), plain.predict(X), rtol=0, atol=1e-9)
    np.testing.assert_allclose(ordered.residuals_, plain.residuals_, rtol=0, atol=1e-5)
