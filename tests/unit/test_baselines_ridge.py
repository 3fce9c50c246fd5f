"""Ridge."""

import pytest
from numpy.testing import assert_allclose

from driftglm.baselines import (
    RidgeAll,
)


@pytest.mark.parametrize("n_features", [5, 200], ids=["tall", "wide"])
def test_one_factorisation_serves_every_strength(rng, n_features):
    X = rng.normal(size=(80, n_features))
    y = X[:, 0] + rng.normal(size=80)
    new = rng.normal(size=(7, n_features))
    (chain,) = RidgeAll(always_in=[1]).tuning_chains(X, y, new)
    for params, prediction in list(chain)[::9]:
        alone = RidgeAll(**params, always_in=[1]).fit(X, y)
        assert_allclose(prediction, alone.predict(new), rtol=1e-6, atol=1e-8)
