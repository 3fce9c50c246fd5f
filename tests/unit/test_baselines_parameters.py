"""Parameters of the baselines that cannot be used."""

import pytest

from driftglm.baselines import (
    LassoAll,
    RidgeAll,
    RidgeTS,
)


@pytest.mark.parametrize(
    ("maker", "settings", "message"),
    [
        (LassoAll, {"always_in": [9]}, "positions run from 0 to 4"),
        (RidgeAll, {"strength": -1.0}, "strength"),
        (RidgeTS, {"autocorrelation": 1.0}, "autocorrelation"),
        (LassoAll, {"window": 0}, "window"),
    ],
)
def test_wrong_settings_are_refused(baseline_rows, rng, maker, settings, message):
    X, y, time, _ = baseline_rows(rng, "gaussian")
    with pytest.raises(ValueError, match=message):
        maker(**settings).fit(X, y, time=time)
