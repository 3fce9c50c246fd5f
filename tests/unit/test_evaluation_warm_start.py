"""Comparisons whose fits go on from step to step: the same as updates by hand, no look ahead."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from driftglm import DriftClassifier, DriftPoissonRegressor, DriftRegressor
from driftglm.baselines import LassoAll
from driftglm.evaluation import RollingOrigin, compare
from driftglm.evaluation import contestants as one_model

LAST = RollingOrigin(dev=2006, test=[2007, 2009, 2010])


@pytest.fixture
def panel(rng):
    time = np.repeat([*range(2000, 2008), 2009, 2010], 30)  # nothing in 2008
    X = rng.normal(size=(time.size, 4))
    y = np.sin(time) * X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=time.size)
    return X, y, time


def by_hand(model, X, y, time, ask, **weights):
    """Fitted to what is before the first test step, then updated."""
    model.set_params(keep_data=True)
    found, seen = [], np.zeros(time.size, dtype=bool)
    for year in LAST.test:
        now, new = time == year, (time < year) & ~seen
        extras = {name: each[new] for name, each in weights.items()}
        (model.update if seen.any() else model.fit)(X[new], y[new], time=time[new], **extras)
        found.append(getattr(model, ask)(X[now], time=time[now]))
        seen |= new
    return np.concatenate(found)


def test_predictions_are_those_of_updates_by_hand(panel, rng):
    X, y, time = panel
    weight = rng.uniform(0.5, 2.0, size=time.size)
    models = {"learned": DriftRegressor(), "lasso": LassoAll(5.0)}
    options = {"sample_weight": weight}
    result = compare(models, X, y, time, LAST, warm_start=True, **options)
    assert_array_equal(
        result.prediction["learned"],
        by_hand(DriftRegressor(), X, y, time, "predict", sample_weight=weight),
    )
    cold = compare(models, X, y, time, LAST, **options)
    assert_array_equal(result.prediction["lasso"], cold.prediction["lasso"])
    first = result.codes == result.codes.min()
    assert_array_equal(result.prediction["learned"][first], cold.prediction["learned"][first])
    loss = {name: each.loss["learned"].mean() for name, each in {"w": result, "c": cold}.items()}
    assert_allclose(loss["w"], loss["c"], rtol=0.05)
    assert list(result.table("frame").index) == ["2007", "2009", "2010", "overall"]


def test_later_rows_move_no_prediction(panel):
    X, y, time = panel
    models = {"learned": DriftRegressor()}
    before = compare(models, X, y, time, LAST, warm_start=True)
    after = compare(models, X, np.where(time >= 2009, -9 * y, y), time, LAST, warm_start=True)
    early = before.codes < before.codes.max()
    assert_array_equal(before.prediction["learned"][early], after.prediction["learned"][early])
    assert (before.prediction["learned"][~early] != after.prediction["learned"][~early]).all()


def test_a_run_that_is_done_is_read_and_not_taken_for_a_cold_one(panel, tmp_path):
    X, y, time = panel
    models = {"learned": DriftRegressor()}
    warm, again, cold = (
        compare(models, X, y, time, LAST, warm_start=start, cache_dir=tmp_path)
        for start in (True, True, False)
    )
    assert warm.seconds == again.seconds != cold.seconds
    assert_array_equal(warm.prediction["learned"], again.prediction["learned"])
    assert (warm.prediction["learned"] != cold.prediction["learned"]).any()


@pytest.mark.parametrize(
    ("model", "splitter"),
    [
        (DriftRegressor(prior="exact"), LAST),
        (make_pipeline(StandardScaler(), DriftRegressor()), LAST),
        (DriftRegressor(), RollingOrigin(dev=2006, test=[2007, 2009], window=4)),
    ],
    ids=["mode", "pipeline", "window"],
)
def test_what_cannot_go_on_is_fitted_anew(panel, model, splitter):
    X, y, time = panel
    warm, cold = (
        compare({"m": model}, X, y, time, splitter, warm_start=start) for start in (True, False)
    )
    assert_array_equal(warm.prediction["m"], cold.prediction["m"])


def test_a_class_that_was_not_there_before_makes_a_new_fit(panel):
    X, y, time = panel
    sides = np.where(y > 0, "up", "down")
    sides[np.flatnonzero(time == 2007)[:5]] = "none"
    models = {"m": DriftClassifier(extrapolate="forecast", tol=0.01)}
    warm, cold = (compare(models, X, sides, time, LAST, warm_start=w) for w in (True, False))
    # The fit before 2009 is one from scratch in both, and that before 2010 goes on from it.
    step = warm.codes == np.unique(warm.codes)[1]
    assert_array_equal(warm.loss["m"][step], cold.loss["m"][step])
    assert np.isfinite(warm.loss["m"]).all()


def test_distributions_are_scored_step_by_step(panel):
    X, y, time = panel
    counts = np.minimum(np.exp(y), 50).round()
    models = {"m": DriftPoissonRegressor(), "exact": DriftPoissonRegressor(prior="exact")}
    with pytest.warns(UserWarning, match="is left out of the comparison"):
        warm = compare(models, X, counts, time, LAST, warm_start=True, metric="crps")
    assert list(warm.models) == ["m"]
    assert warm.pit["m"].shape == warm.loss["m"].shape
    assert warm.width["m"].shape[0] == warm.codes.size
    hand = by_hand(DriftPoissonRegressor(), X, counts, time, "predict")
    assert_array_equal(warm.prediction["m"], hand)


def test_an_update_that_is_refused_leaves_a_model_fitted_to_all_rows(panel):
    X, y, time = panel
    axis = compare({"m": LassoAll(5.0)}, X, y, time, LAST).axis
    data = one_model.Data(X, y, time, axis, time - 2000, None, None)
    rows = np.arange(time.size)

    class Stubborn(DriftRegressor):
        def update(self, *_args, **_extras):
            raise one_model.DataError("no")

    trains = [rows[time < 2007], rows[time < 2009]]
    last = list(one_model.fitted_in_turn(Stubborn(extrapolate="forecast"), data, trains))[-1]
    fresh = DriftRegressor(extrapolate="forecast").fit(X[trains[1]], y[trains[1]], time=time[:240])
    assert_array_equal(last.coef_path_, fresh.coef_path_)
