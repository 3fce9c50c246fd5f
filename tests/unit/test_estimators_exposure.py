"""Exposure: what the mean is proportional to."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from driftglm import DriftPoissonRegressor
from driftglm.exceptions import DataError

PRIORS = pytest.mark.parametrize("prior", ["learned", "exact", "fixed"])


def counts(**params):
    return DriftPoissonRegressor(**params)


@PRIORS
def test_a_common_exposure_goes_to_the_intercept_alone(prior, count_rows):
    """One number for all rows is a change of unit, in whatever form it comes."""
    X, y, time = count_rows
    plain = counts(prior=prior).fit(X, y, time=time)
    for exposure in (12, np.float64(12), np.full(y.size, 12.0), [12] * y.size):
        model = counts(prior=prior).fit(X, y, time=time, exposure=exposure)
        assert_allclose(model.coef_path_, plain.coef_path_, rtol=1e-4, atol=1e-5)
        assert_allclose(
            model.intercept_path_ + np.log(12), plain.intercept_path_, rtol=1e-4, atol=1e-4
        )
        assert_allclose(
            model.predict(X, time=time, exposure=12), plain.predict(X, time=time), rtol=1e-3
        )


@PRIORS
def test_expected_counts_are_proportional_to_the_exposure(prior, count_rows, rng):
    X, y, time = count_rows
    hours = rng.uniform(0.2, 5, y.size)
    y = rng.poisson(hours * np.exp(0.8 * X[:, 0]))
    model = counts(prior=prior).fit(X, y, time=time, exposure=hours)
    assert_allclose(model.coef_path_[:, 0], 0.8, atol=0.2)
    assert_allclose(
        model.predict(X, time=time, exposure=hours),
        hours * model.predict(X, time=time),
        rtol=1e-9,
    )


@pytest.mark.parametrize(
    ("exposure", "message"),
    [
        (lambda n: np.r_[np.ones(n - 1), 0.0], "exposure is 0.0 at row 199; .*positive and finite"),
        (lambda n: np.r_[1.0, -2.0, np.ones(n - 2)], "exposure is -2.0 at row 1; .*Drop rows"),
        (lambda n: np.r_[np.ones(n - 1), np.nan], "exposure is nan at row 199"),
        (lambda n: np.r_[np.inf, np.ones(n - 1)], "exposure is inf at row 0"),
        (lambda n: np.ones(n - 1), r"exposure has shape \(199,\) but X has 200 rows; pass one"),
        (lambda n: np.ones((n, 1)), r"exposure has shape \(200, 1\) but X has 200 rows"),
        (lambda n: ["long"] * n, "exposure cannot be read as numbers .*pass one number per row"),
        (lambda _: 0, "exposure is 0.0 at row 0"),
    ],
)
def test_an_exposure_that_cannot_be_used_is_explained(exposure, message, count_rows):
    X, y, time = count_rows
    bad = exposure(y.size)
    with pytest.raises(DataError, match=message):
        counts(prior="fixed").fit(X, y, time=time, exposure=bad)
    model = counts(prior="fixed").fit(X, y, time=time)
    with pytest.raises(DataError, match=message):
        model.predict(X, time=time, exposure=bad)
