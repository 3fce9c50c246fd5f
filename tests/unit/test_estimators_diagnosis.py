"""`diagnose`: what is wrong with a fit is found after any way of fitting, and nothing else."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import driftglm
from driftglm import DriftClassifier, DriftPoissonRegressor, DriftRegressor
from driftglm.estimators.diagnosis import cycle
from driftglm.exceptions import DataError, DataWarning
from driftglm.simulate import simulate_panel

COLUMNS = ["check", "finding", "advice", "statistic", "p_value", "severity"]


@pytest.fixture(scope="module")
def panel():
    return simulate_panel(n_features=4, n_active=2, n_timesteps=12, rows_per_step=60)


@pytest.fixture(scope="module")
def wild(panel):
    """y in another unit in step 7."""
    return np.where(panel.time == 7, 8 * panel.y, panel.y)


@pytest.mark.parametrize("prior", ["learned", "exact", "fixed"])
def test_nothing_is_found_where_nothing_is_wrong_and_a_wild_step_where_it_is(prior, panel, wild):
    model = DriftRegressor(prior=prior, noise="constant").fit(panel.X, panel.y, time=panel.time)
    frame = model.diagnose()
    assert list(frame) == COLUMNS
    assert len(frame) == 0
    found = model.fit(panel.X, wild, time=panel.time).diagnose().set_index("check")
    assert "the residuals of 7 (60 rows)" in found.loc["wild step", "finding"]
    assert found.loc["wild step", "severity"] == "major"
    assert found["p_value"].dtype == np.float64


def test_counts_that_scatter_more_than_the_family_allows(panel):
    rng = np.random.default_rng(0)
    rate = np.exp(1.0 + 0.5 * panel.X[:, 0])
    right = DriftPoissonRegressor(prior="fixed").fit(panel.X, rng.poisson(rate), time=panel.time)
    assert "tails" not in set(right.diagnose()["check"])
    scattered = rng.poisson(rate * rng.gamma(1.0, size=rate.size))
    wrong = DriftPoissonRegressor(prior="fixed").fit(panel.X, scattered, time=panel.time)
    assert "varies more than its family allows" in " ".join(wrong.diagnose()["advice"])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_that_follow_each_other_are_found(n_classes, panel):
    rng = np.random.default_rng(1)
    drawn = rng.integers(0, n_classes, panel.y.size)
    model = DriftClassifier().fit(panel.X, drawn, time=panel.time)
    assert len(model.diagnose()) == 0
    runs = np.repeat(drawn[::4], 4)
    checks = model.fit(panel.X, runs, time=panel.time).diagnose()["check"]
    assert checks.iloc[0] == "neighbours"


def test_fractions_among_counts_are_said_not_to_be_checked(panel):
    y = np.random.default_rng(2).poisson(3.0, panel.y.size) + np.where(panel.time < 6, 0.5, 0.0)
    found = DriftPoissonRegressor().fit(panel.X, y, time=panel.time).diagnose()
    text = found.set_index("check").loc["rows", "finding"]
    assert text.startswith("360 of 720 rows were not checked")


def test_a_season_of_months_is_found_though_the_intercept_follows_it():
    panel = simulate_panel(n_features=4, n_timesteps=60, rows_per_step=20)
    months = pd.period_range("2001-01", periods=60, freq="M")[panel.time]
    shape = np.random.default_rng(3).normal(size=12)
    y = panel.y + shape[panel.time % 12]
    model = DriftRegressor(seasonality=None).fit(panel.X, y, time=months)
    found = model.diagnose().set_index("check").loc["season"]
    assert "repeat every 12" in found["finding"]
    assert "seasonality=12" in found["advice"]
    seasonal = DriftRegressor().fit(panel.X, y, time=months)
    assert seasonal.seasonality_ == 12
    assert "season" not in set(seasonal.diagnose()["check"])
    high, low = np.argmax(shape), np.argmin(shape)
    assert f"-{high + 1:02d} and lowest in those such as" in found["finding"]
    assert found["finding"].endswith(f"-{low + 1:02d}")


def test_a_season_that_a_column_explains_is_no_finding():
    panel = simulate_panel(n_features=4, n_timesteps=60, rows_per_step=20)
    months = pd.period_range("2001-01", periods=60, freq="M")[panel.time]
    shape = 3 * np.random.default_rng(4).normal(size=12)[panel.time % 12]
    column = shape + 0.5 * np.random.default_rng(5).normal(size=shape.size)
    X = np.column_stack([panel.X, column])
    model = DriftRegressor().fit(X, panel.y + column, time=months)
    # The mean of y has a season in every year, and so has the mean of the column.
    assert "season" not in set(model.diagnose()["check"])


def test_intercepts_are_taken_where_the_rows_are():
    """Columns far from zero move the intercept at x = 0, and that is no shifted step."""
    rng = np.random.default_rng(6)
    time = np.repeat(np.arange(16), 60)
    X = 100.0 + rng.normal(size=(time.size, 2))
    slope = np.where(time == 8, 2.0, 1.0)
    y = (X[:, 0] - 100.0) * slope + 0.3 * rng.normal(size=time.size)
    model = DriftRegressor().fit(X, y, time=time)
    assert np.ptp(model.intercept_path_) > 50
    assert "shifted step" not in set(model.diagnose()["check"])


def test_an_update_and_a_file_are_diagnosed_as_a_fit_is(panel, wild, tmp_path):
    early = panel.time < 9
    model = DriftRegressor(keep_data=True, noise="constant")
    model.fit(panel.X[early], wild[early], time=panel.time[early])
    model.update(panel.X[~early], wild[~early], time=panel.time[~early])
    assert model.residuals_.shape == wild.shape
    assert "wild step" in set(model.diagnose()["check"])
    model.save(tmp_path / "model.drift")
    again = driftglm.load(tmp_path / "model.drift")
    assert_array_equal(again.residuals_, model.residuals_)
    pd.testing.assert_frame_equal(again.diagnose(), model.diagnose())


def test_new_rows_outside_the_training_range(panel):
    frame = pd.DataFrame(panel.X, columns=["rain", "wind", "sun", "snow"])
    model = DriftRegressor().fit(frame, panel.y, time=panel.time)
    assert len(model.diagnose(frame)) == 0
    (finding,) = model.diagnose(frame.assign(wind=frame["wind"] * 5))["finding"]
    assert finding.startswith("'wind' is outside its training range")
    with pytest.raises(ValueError, match="feature names"):
        model.diagnose(frame.rename(columns={"wind": "storm"}))


def test_few_rows_and_no_time_are_no_trouble():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(6, 2))
    model = DriftRegressor().fit(X, X[:, 0])
    assert model.residuals_.shape == (6,)
    assert len(model.diagnose()) == 0
    with pytest.warns(DataWarning, match="one value"):
        constant = DriftRegressor().fit(np.ones((30, 1)), np.full(30, 4.0), time=np.arange(30))
    assert_allclose(constant.residuals_, 0.0, atol=1e-6)


def test_a_model_of_an_earlier_version_says_what_to_do(panel):
    model = DriftRegressor().fit(panel.X, panel.y, time=panel.time)
    del model._checks
    with pytest.raises(DataError, match="fit it again"):
        model.diagnose()


@pytest.mark.parametrize(
    ("freq", "steps"),
    [
        *[("M", 12), ("Q-DEC", 4), ("W-SUN", 52), ("D", 7), ("3M", 4), ("5M", None)],
        *[("Y", None), ("12M", None), (1, None), (None, None)],
    ],
)
def test_periods_of_a_year_or_a_week(freq, steps):
    assert cycle(freq) == steps
