"""Comparisons by scores of distributions: their values, who is left out, tuning, cache, files."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from driftglm import DriftClassifier, DriftPoissonRegressor, DriftRegressor
from driftglm.baselines import LassoAll, RidgeAll, WithNormalErrors
from driftglm.evaluation import Comparison, RollingOrigin, compare
from driftglm.exceptions import DataError, DataWarning
from driftglm.predictive import Normal, Poisson, crps, interval_score, log_score, quantile_score

YEARS = np.repeat(np.arange(2000, 2006), 40)
LAST = RollingOrigin(n_test=2)
FITS = {"count": 0}


class Wide(RegressorMixin, BaseEstimator):
    """Normal around zero, of a standard deviation that is its parameter."""

    def __init__(self, scale=1.0):
        self.scale = scale

    def fit(self, X, y):
        FITS["count"] += 1
        self.n_ = len(X) + 0 * len(y)
        return self

    def predict(self, X):
        return np.zeros(len(X))

    def predict_distribution(self, X):
        return Normal(np.zeros(len(X)), self.scale)


class Silent(Wide):
    """Has the method, and nothing to say."""

    def predict_distribution(self, X):
        raise DataError(f"nothing is known of {len(X)} rows.")


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(YEARS.size, 3))
    return X, X[:, 0] + 0.5 * rng.normal(size=YEARS.size), YEARS


@pytest.mark.parametrize(
    ("metric", "score"),
    [
        ("crps", crps),
        ("log-score", log_score),
        ("interval-score", interval_score),
        ("quantile", quantile_score),
    ],
)
def test_losses_are_the_scores_of_what_the_model_predicts(rows, metric, score):
    X, y, time = rows
    model = make_pipeline(StandardScaler(), DriftRegressor(max_iter=20))
    result = compare({"m": model}, X, y, time, LAST, metric=metric)
    known, last = time < 2005, time == 2005
    scaler = StandardScaler().fit(X[known])
    alone = DriftRegressor(max_iter=20).fit(scaler.transform(X[known]), y[known], time=time[known])
    forecast = alone.predict_distribution(scaler.transform(X[last]), time[last])
    here = result.codes == 5
    assert_allclose(result.loss["m"][here], score(forecast, y[last]), rtol=1e-6)
    assert_allclose(result.pit["m"][here], forecast.pit(y[last]), rtol=1e-6)
    assert_allclose(result.width["m"][here, 2], np.diff(forecast.interval(0.9))[:, 0], rtol=1e-6)
    assert result.metric == metric


def test_exposure_reaches_distributions_and_counts_have_a_ranked_probability(rng, rows):
    X, _, time = rows
    exposure = rng.uniform(1, 5, size=time.size)
    y = rng.poisson(exposure * np.exp(0.5 * X[:, 0])).astype(float)
    models = {"drift": DriftPoissonRegressor(max_iter=20)}
    options = {"metric": "ranked-probability"}
    told = compare(models, X, y, time, LAST, exposure=exposure, **options)
    blind = compare(models, X, y, time, LAST, **options)
    assert told.loss["drift"].mean() < 0.9 * blind.loss["drift"].mean()
    truth = Poisson((exposure * np.exp(0.5 * X[:, 0]))[told.rows])
    assert told.loss["drift"].mean() < 1.05 * truth.crps(told.y).mean()


def test_classes_are_numbered_as_the_model_counts_them(rows):
    X, y, time = rows
    labels = np.where(y > 0, "a", "b")  # the second class is the one of small y
    models = {"drift": DriftClassifier(max_iter=20), "logistic": LogisticRegression()}
    by_score = compare(models, X, labels, time, LAST, metric="log-score")
    by_loss = compare(models, X, labels, time, LAST, metric="log_loss")
    by_brier = compare(models, X, labels, time, LAST, metric="brier")
    for name in models:
        assert_allclose(by_score.loss[name], by_loss.loss[name], rtol=1e-9)
        expected = (by_loss.prediction[name] - (by_loss.y == "b")) ** 2
        assert_allclose(by_brier.loss[name], expected, rtol=1e-9)
    assert by_score.width == {}
    assert by_score.calibration()["width"].isna().all()


# -------------------------------------------------------------------- who is left out


def test_models_of_points_are_left_out_with_a_reason(rows):
    models = {
        "ridge": Ridge(),
        "lasso": LassoAll(),
        "exact": DriftRegressor(prior="exact"),
        "text": LassoAll(family="text"),
        "silent": make_pipeline(StandardScaler(), Silent()),
        "normal": WithNormalErrors(Ridge()),
    }
    FITS["count"] = 0
    with pytest.warns(DataWarning, match="is left out of the comparison by 'crps'") as said:
        result = compare(models, *rows, LAST, metric="crps")
    assert len(said) == 5
    assert result.models == ["normal"]
    assert list(result.params) == ["normal"]
    assert {name: why[:26] for name, why in result.left_out.items()} == {
        "ridge": "left out: Ridge predicts p",
        "lasso": "left out: LassoAll predict",
        "exact": "left out: a fit with prior",
        "text": "left out: documents are co",
        "silent": "left out: nothing is known",
    }
    assert "silent: left out: nothing is known of 40 rows." in result.table()
    assert "left out" not in result.table("markdown")
    assert result.significance().empty


def test_a_score_that_does_not_suit_a_distribution_leaves_it_out(rng, rows):
    X, _, time = rows
    y = rng.poisson(np.exp(0.5 * X[:, 0])).astype(float)
    models = {"counts": DriftPoissonRegressor(max_iter=5), "normal": WithNormalErrors(Ridge())}
    with pytest.warns(DataWarning, match="Normal is continuous"):
        result = compare(models, X, y, time, LAST, metric="ranked-probability")
    assert result.models == ["counts"]


def test_without_any_distribution_the_error_says_what_to_do(rows):
    with (
        pytest.warns(DataWarning, match="left out"),
        pytest.raises(DataError, match=r"no model is left.*WithNormalErrors.*'mse'"),
    ):
        compare({"a": Ridge(), "b": LassoAll()}, *rows, LAST, metric="crps")


def test_an_infinite_score_is_refused(rows):
    X, y, time = rows
    with pytest.raises(DataError, match="no finite loss under metric 'log-score'"):
        compare({"thin": Wide(1e-200)}, X, y, time, LAST, metric="log-score")


# -------------------------------------------------------------------- tuning, cache, workers


def test_tuning_uses_the_score(rows):
    """The mean squared errors of all candidates are the same, their distributions are not."""
    grids = {"wide": {"scale": [0.01, 1.1, 50.0]}}
    result = compare({"wide": Wide()}, *rows, LAST, grids=grids, metric="log-score")
    assert result.params["wide"] == [{"scale": 1.1}] * 2
    by_points = compare({"wide": Wide()}, *rows, LAST, grids=grids, metric="mse")
    assert by_points.params["wide"] == [{"scale": 0.01}] * 2  # the first of equal ones


def test_chains_of_classifiers_are_tuned_by_the_score(rows):
    X, y, time = rows
    labels = np.where(y > 0, "up", "down")
    by_score = compare(
        {"r": RidgeAll(family="binomial")}, X, labels, time, LAST, metric="log-score"
    )
    by_loss = compare({"r": RidgeAll(family="binomial")}, X, labels, time, LAST)
    assert by_score.params == by_loss.params
    assert_allclose(by_score.loss["r"], by_loss.loss["r"], rtol=1e-9)


def test_the_cache_tells_metrics_apart(rows, tmp_path):
    def n_fits(metric):
        FITS["count"] = 0
        compare({"wide": Wide()}, *rows, LAST, metric=metric, cache_dir=tmp_path)
        return FITS["count"]

    assert [n_fits(m) for m in ("mse", "crps", "crps", "log-score", "mse")] == [2, 2, 0, 2, 0]


def test_any_number_of_jobs_and_the_cache_give_the_same_digits(rng, rows, tmp_path):
    X, _, time = rows
    counts = rng.poisson(np.exp(0.5 * X[:, 0])).astype(float)
    models = {"drift": DriftPoissonRegressor(max_iter=5), "normal": WithNormalErrors(Ridge())}
    options = {"metric": "crps", "cache_dir": tmp_path}
    first = compare(models, X, counts, time, LAST, metric="crps", n_jobs=2)
    for again in (compare(models, X, counts, time, LAST, **options) for _ in range(2)):
        for name in models:
            assert (again.loss[name] == first.loss[name]).all()
            assert (again.pit[name] == first.pit[name]).all()


# -------------------------------------------------------------------- calibration, files


def test_calibration_by_hand(rows):
    X, y, time = rows
    weights = np.where(np.arange(time.size) % 2, 1.0, 3.0)
    result = compare({"wide": Wide(2.0)}, X, y, time, LAST, metric="crps", sample_weight=weights)
    frame = result.calibration(levels=[0.5, 0.7])
    assert frame.columns.tolist() == ["model", "step", "level", "n_rows", "coverage", "width"]
    assert frame["step"].tolist() == ["2004"] * 2 + ["2005"] * 2 + ["overall"] * 2
    reach = 2.0 * 0.6744897501960817
    last = time == 2005
    expected = np.average(np.abs(y[last]) <= reach, weights=weights[last])
    line = frame.iloc[2]
    assert_allclose([line["coverage"], line["width"], line["n_rows"]], [expected, 2 * reach, 40])
    assert frame["width"].isna().tolist() == [False, True] * 3
    assert frame["coverage"].iloc[4] > 0.6  # twice too wide


def test_good_distributions_are_calibrated(rng):
    time = np.repeat(np.arange(8), 150)
    X = rng.normal(size=(time.size, 3))
    y = rng.poisson(np.exp(1.0 + 0.5 * X[:, 0])).astype(float)
    splitter = RollingOrigin(n_test=4)
    result = compare({"m": DriftPoissonRegressor()}, X, y, time, splitter, metric="log-score")
    overall = result.calibration().query("step == 'overall'")
    assert_allclose(overall["coverage"], overall["level"], atol=0.07)


def test_distributions_survive_a_file_and_their_absence_too(rows, tmp_path):
    models = {"wide": Wide(), "ridge": Ridge()}
    with pytest.warns(DataWarning, match="left out"):
        result = compare(models, *rows, LAST, metric="crps")
    result.save(tmp_path / "scores.drift")
    again = Comparison.load(tmp_path / "scores.drift")
    assert again.calibration().equals(result.calibration())
    assert again.left_out == result.left_out
    assert again.table() == result.table()
    plain = compare(models, *rows, LAST)
    plain.save(tmp_path / "points.drift")
    with pytest.raises(DataError, match="no distributions are stored"):
        Comparison.load(tmp_path / "points.drift").calibration()


@pytest.mark.parametrize("metric", ["crps", "interval-score", "quantile"])
def test_scores_of_distances_are_refused_for_classes_whose_labels_have_none(metric, rows):
    X, y, time = rows
    with pytest.raises(DataError, match="predicts classes, which have none; use 'log-score'"):
        compare({"sides": DriftClassifier()}, X, y > 0, time, LAST, metric=metric)


def test_a_level_of_calibration_must_be_a_probability(rows):
    X, y, time = rows
    result = compare({"wide": Wide()}, X, y, time, LAST, metric="crps")
    assert set(result.calibration(0.5)["level"]) == {0.5}
    with pytest.raises(DataError, match="probabilities between 0 and 1"):
        result.calibration([90])
