"""The lasso: where it begins, and along which columns it goes."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone

from driftglm.baselines import LassoAll, lasso_quadratic

FAMILIES = ["gaussian", "binomial", "poisson"]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("always_in", [None, [2]], ids=["penalised", "always-in"])
@pytest.mark.parametrize("strength", [0.5, 6.0, 1e4])
def test_a_lasso_along_some_columns_is_the_lasso_along_all(
    baseline_rows, rng, family, sparse, always_in, strength, monkeypatch
):
    X, y, _, weights = baseline_rows(rng, family, n_rows=80)
    X = np.hstack([X, X + 0.3 * rng.normal(size=X.shape), rng.normal(size=(80, 60))])
    X = sp.csr_array(np.where(np.abs(X) > 0.7, X, 0.0)) if sparse else X
    model = LassoAll(strength=strength, family=family, always_in=always_in, tol=1e-10)
    along_all = clone(model).fit(X, y, sample_weight=weights)
    monkeypatch.setattr(lasso_quadratic, "SMALL", 1)
    monkeypatch.setattr(lasso_quadratic, "FEWEST_NEW", 3)
    # Along sparse columns to the end, or by products after two sweeps.
    monkeypatch.setattr(lasso_quadratic, "FEWEST_SWEEPS", 2)
    monkeypatch.setattr(lasso_quadratic, "PRODUCT_COST", 0.0)
    for stored in (10**6, 5):
        monkeypatch.setattr(lasso_quadratic, "MOST_STORED", stored)
        along_some = clone(model).fit(X, y, sample_weight=weights)
        assert_allclose(along_some.coef_, along_all.coef_, atol=1e-5)
        assert_allclose(along_some.intercept_, along_all.intercept_, atol=1e-5)
        assert along_some.converged_
