"""A column of times goes with the rows wherever scikit-learn takes them."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from driftglm import DriftClassifier, DriftRegressor, DriftTextModel, load
from driftglm.baselines import LassoAll, RidgeAll, RidgeTS
from driftglm.evaluation import RollingOrigin
from driftglm.exceptions import DataError, DataWarning
from driftglm.simulate import simulate_panel, simulate_text

PANEL = simulate_panel(n_timesteps=6, rows_per_step=40, n_features=4, random_state=0)
YEARS = PANEL.time + 2001
FRAME = pd.DataFrame(PANEL.X, columns=list("abcd")).assign(year=YEARS)[["a", "b", "year", "c", "d"]]
PLAIN = FRAME.drop(columns="year")
FIXED = {"prior": "fixed"}


@pytest.mark.parametrize(
    "maker",
    [
        lambda **kw: DriftRegressor(**FIXED, **kw),
        lambda **kw: RidgeTS(1.0, 0.5, **kw),
        lambda **kw: LassoAll(1.0, **kw),
        lambda **kw: RidgeAll(1.0, window=2, **kw),
    ],
    ids=["drift", "ridge-ts", "lasso", "ridge"],
)
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.from_pandas], ids=["pandas", "polars"])
def test_a_column_is_an_array_of_times(maker, kind):
    by_array = maker().fit(PLAIN, PANEL.y, time=YEARS)
    by_column = maker(time="year").fit(kind(FRAME), PANEL.y)
    assert_array_equal(by_column.timesteps_, by_array.timesteps_)
    assert_allclose(by_column.coef_, by_array.coef_)
    assert "year" not in by_column.feature_names_in_
    expected = by_array.predict(PLAIN, time=YEARS)
    assert_allclose(by_column.predict(kind(FRAME)), expected)
    assert_allclose(
        by_column.score(kind(FRAME), PANEL.y), by_array.score(PLAIN, PANEL.y, time=YEARS)
    )
    # Rows of which nobody says when they are from are those of the next step.
    assert_allclose(by_column.predict(kind(PLAIN)), by_array.predict(PLAIN))


def test_intervals_updates_and_files_know_the_column(tmp_path):
    early = YEARS < 2006
    model = DriftRegressor(time="year", keep_data=True).fit(FRAME[early], PANEL.y[early])
    plain = DriftRegressor(keep_data=True).fit(PLAIN[early], PANEL.y[early], time=YEARS[early])
    expected = plain.predict_interval(PLAIN, time=YEARS)
    assert_allclose(model.predict_interval(FRAME), expected)
    model.save(tmp_path / "m.drift")
    assert_allclose(load(tmp_path / "m.drift").predict_interval(FRAME), expected)
    model.update(FRAME[~early], PANEL.y[~early], time=None)
    plain.update(PLAIN[~early], PANEL.y[~early], time=YEARS[~early])
    assert_allclose(model.coef_path_, plain.coef_path_)
    assert isinstance(model.diagnose(FRAME), pd.DataFrame)


def test_cross_validation_is_a_loop_by_hand():
    model = DriftRegressor(time="year", **FIXED)
    splitter = RollingOrigin(n_test=3, time="year")
    found = cross_val_score(model, FRAME, PANEL.y, cv=splitter)
    for k, year in enumerate((2004, 2005, 2006)):
        past, now = year > YEARS, year == YEARS
        by_hand = DriftRegressor(**FIXED).fit(PLAIN[past], PANEL.y[past], time=YEARS[past])
        expected = by_hand.score(PLAIN[now], PANEL.y[now], time=YEARS[now])
        assert_allclose(found[k], expected)
    # Also with folds that test steps of the past, where the wrong coefficients would be seen.
    folds = KFold(4, shuffle=True, random_state=0)
    found = cross_val_score(model, FRAME, PANEL.y, cv=folds)
    for k, (past, now) in enumerate(folds.split(FRAME)):
        by_hand = clone(model).fit(FRAME.iloc[past], PANEL.y[past])
        own = by_hand.predict(PLAIN.iloc[now], time=YEARS[now])
        error = np.mean((PANEL.y[now] - own) ** 2) / PANEL.y[now].var()
        assert_allclose(found[k], 1 - error)


def test_pipelines_and_searches_need_no_routing():
    scaler = StandardScaler().set_output(transform="pandas")

    all_but_year = ColumnTransformer(
        [("scale", StandardScaler(), list("abcd"))],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    pipe = make_pipeline(all_but_year, DriftRegressor(time="year", **FIXED))
    pipe.fit(FRAME, PANEL.y)
    scaled = scaler.fit_transform(PLAIN)
    by_hand = DriftRegressor(**FIXED).fit(scaled, PANEL.y, time=YEARS)
    assert_allclose(pipe.score(FRAME, PANEL.y), by_hand.score(scaled, PANEL.y, time=YEARS))
    grid = {"extrapolate": ["hold", "forecast"]}
    search = GridSearchCV(
        DriftRegressor(time="year", **FIXED), grid, cv=RollingOrigin(n_test=2, time="year")
    )
    search.fit(FRAME, PANEL.y)
    assert_array_equal(search.best_estimator_.timesteps_, np.arange(2001, 2007))
    with pytest.raises(DataError, match="must keep frames"):
        make_pipeline(StandardScaler(), DriftRegressor(time="year")).fit(FRAME, PANEL.y)


def test_a_score_cannot_silently_ignore_time():
    pipe = make_pipeline(StandardScaler(), DriftRegressor(**FIXED))
    pipe.fit(PLAIN, PANEL.y, driftregressor__time=YEARS)
    with pytest.warns(DataWarning, match="score was called without time"):
        pipe.score(PLAIN, PANEL.y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DriftRegressor(**FIXED).fit(PLAIN, PANEL.y).score(PLAIN, PANEL.y)
        model = DriftRegressor(time="year", **FIXED).fit(FRAME, PANEL.y)
        model.score(FRAME, PANEL.y)
    with pytest.raises(DataError, match="names a column that X does not have"):
        model.score(PLAIN, PANEL.y)
    with pytest.raises(DataError, match="names a column that X does not have"):
        DriftRegressor(time="years").fit(FRAME, PANEL.y)


def test_routing_works_with_the_rolling_origin():
    with config_context(enable_metadata_routing=True):
        model = DriftRegressor(**FIXED).set_fit_request(time=True).set_score_request(time=True)
        cv = RollingOrigin(n_test=3)
        found = cross_val_score(model, PLAIN, PANEL.y, cv=cv, params={"time": YEARS})
    column = DriftRegressor(time="year", **FIXED)
    expected = cross_val_score(column, FRAME, PANEL.y, cv=RollingOrigin(n_test=3, time="year"))
    assert_allclose(found, expected)


@pytest.mark.parametrize(
    ("labels", "first"),
    [
        ([f"200{k}Q1" for k in range(6)], "2000Q1"),
        ([f"Jan-200{k}" for k in range(6)], "2000-01"),
        ([20001 + k for k in range(6)], "20001"),
        ([200011, 200012, 200101, 200102, 200103, 200104], "2000-11"),
    ],
)
def test_texts_of_quarters_and_months_are_read(labels, first):
    frame = FRAME.assign(year=np.asarray(labels, dtype=object)[PANEL.time])
    if isinstance(labels[0], int):
        frame["year"] = frame["year"].astype(int)
    model = DriftRegressor(time="year", **FIXED)
    if first == "2000Q1":  # three of four quarters are empty: filled, and refused
        with pytest.raises(DataError, match="twice"):
            model.fit(frame, PANEL.y)
        return
    if first == "2000-01":
        with pytest.raises(DataError, match="twice"):
            model.fit(frame, PANEL.y)
        return
    model.fit(frame, PANEL.y)
    assert str(model.timesteps_[0]) == first
    assert len(model.timesteps_) == 6
    some = frame.iloc[-3:]
    assert_allclose(
        model.predict(some), model.predict(PLAIN.iloc[-3:], time=[model.timesteps_[-1]] * 3)
    )


def test_classes_and_documents_too():
    up = PANEL.y > np.median(PANEL.y)
    by_column = DriftClassifier(time="year", **FIXED).fit(FRAME, up)
    by_array = DriftClassifier(**FIXED).fit(PLAIN, up, time=YEARS)
    assert_allclose(by_column.predict_proba(FRAME), by_array.predict_proba(PLAIN, time=YEARS))
    text = simulate_text(n_words=20, n_effects=2, random_state=0)
    effects = pd.DataFrame(np.asarray(text.effects), columns=["u", "v"])
    plain = DriftTextModel(prior="fixed").fit(text.counts, effects, time=text.time)
    model = DriftTextModel(prior="fixed", time="when")
    model.fit(text.counts, effects.assign(when=text.time))
    found = model.score(text.counts, effects.assign(when=text.time))
    assert_allclose(found, plain.score(text.counts, effects, time=text.time))
    lasso = LassoAll(1.0, family="text", time="when").fit(
        text.counts, effects.assign(when=text.time)
    )
    assert_allclose(
        lasso.coef_, LassoAll(1.0, family="text").fit(text.counts, effects, time=text.time).coef_
    )
