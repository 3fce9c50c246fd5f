"""feature_groups=: every kind of feature has a hyperprior of its own."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import driftglm
from driftglm import DriftClassifier, DriftRegressor
from driftglm.exceptions import DataError
from driftglm.fitting.posteriors import infer_posterior
from driftglm.fitting.row_order import in_own_order
from driftglm.fitting.solver_runs import Runs

N_WORDS, N_MACRO, N_STEPS, N_ROWS = 80, 6, 6, 80
WORDS = {"words": "w_*"}


def panel(seed=0):
    """Rare words, one of which matters, and dense columns that all drift."""
    rng = np.random.default_rng(seed)
    time = np.repeat(np.arange(N_STEPS), N_ROWS)
    words = (rng.random((time.size, N_WORDS)) < 0.05).astype(float)
    macro = rng.normal(size=(time.size, N_MACRO))
    path = 0.3 * rng.normal(size=(N_STEPS, N_MACRO))
    y = 1.5 * words[:, 0] + np.einsum("ni,ni->n", macro, path[time]) + rng.normal(size=time.size)
    names = [f"w_{i}" for i in range(N_WORDS)] + [f"m{i}" for i in range(N_MACRO)]
    return pd.DataFrame(np.hstack([words, macro]), columns=names), y, time


X, Y, TIME = panel()


@pytest.fixture(scope="module")
def model():
    return DriftRegressor(feature_groups=WORDS, keep_data=True).fit(X, Y, time=TIME)


@pytest.mark.parametrize("extrapolate", ["forecast", "average"])
@pytest.mark.parametrize("static", [None, ["w_1", "m0"]])
def test_one_kind_of_all_columns_gives_the_numbers_of_none(extrapolate, static):
    common = {"extrapolate": extrapolate, "static": static, "always_in": "m1"}
    plain = DriftRegressor(**common).fit(X, Y, time=TIME)
    one = DriftRegressor(**common, feature_groups={"all": list(X)}).fit(X, Y, time=TIME)
    for name in ("coef_path_", "coef_", "inclusion_probability_", "objective_history_"):
        assert_array_equal(getattr(one, name), getattr(plain, name))
    assert one.kinds_summary()["kind"].tolist() == ["all"]


def test_kinds_have_weights_of_their_own(model):
    """The dense columns all matter and nearly no word does: a zero costs each what it is worth."""
    plain = DriftRegressor().fit(X, Y, time=TIME)
    fit = model._fits[0]
    zero = np.exp(fit.log_pi[:, fit.components.is_zero]).sum(axis=1)
    assert zero[0] > 0.8
    assert zero[1] < 0.5
    macro = slice(N_WORDS, None)
    assert model.inclusion_probability_[macro].mean() > plain.inclusion_probability_[macro].mean()
    assert model.inclusion_probability_[0] > 0.9
    history = model.objective_history_
    assert np.diff(history).min() >= -1e-9 * abs(history[-1])


def test_order_and_names_of_kinds_do_not_matter(model):
    groups = {
        "dense": np.arange(N_WORDS, N_WORDS + N_MACRO),
        "sparse": [f"w_{i}" for i in range(N_WORDS)],
    }
    other = DriftRegressor(feature_groups=groups).fit(X, Y, time=TIME)
    assert_allclose(other.coef_path_, model.coef_path_, rtol=1e-6, atol=1e-8)
    found, expected = other.kinds_summary(), model.kinds_summary()
    assert_allclose(found["rms"], expected["rms"][::-1], rtol=1e-6)


def test_the_summary_is_what_the_fit_says(model):
    """Size and share from X and the coefficient paths alone, an independent computation."""
    table = model.kinds_summary().set_index("kind")
    assert table.index.tolist() == ["words", "other"]
    words = np.arange(X.shape[1]) < N_WORDS
    inclusion = model.inclusion_probability_
    moving = model._fits[0].drift_probability()
    center = model._fits[0].columns.center
    deviations = (X.to_numpy() - center[TIME]) * model.coef_path_[TIME]
    level = model._fits[0].intercepts.mean[0][TIME]
    parts = {"words": deviations[:, words].sum(axis=1), "other": deviations[:, ~words].sum(axis=1)}
    eta = sum(parts.values()) + level
    assert_allclose(eta + model._fits[0].columns.target_center, model.predict(X, time=TIME))
    for name, members in (("words", words), ("other", ~words)):
        row = table.loc[name]
        assert row["n_features"] == members.sum()
        assert_allclose(row["expected_nonzero"], inclusion[members].sum())
        assert_allclose(row["expected_drifting"], np.nansum(moving[members]))
        assert row["zeros"] == (inclusion[members] < 0.5).sum()
        assert_allclose(row["rms"], parts[name].std())
        assert_allclose(row["share"], np.cov(parts[name], eta, ddof=0)[0, 1] / eta.var())
    assert_allclose(table["share"].sum() + np.cov(level, eta, ddof=0)[0, 1] / eta.var(), 1.0)
    kept = words & (inclusion >= 0.5)
    assert_allclose(table.loc["words", "typical_size"], np.median(model._fits[0].importance[kept]))


def test_always_in_and_static_features_have_kinds_too():
    fitted = DriftRegressor(
        extrapolate="forecast",
        feature_groups={"words": "w_*", "level": "m0"},
        always_in="m0",
        static=list(X)[:N_WORDS],
    ).fit(X, Y, time=TIME)
    table = fitted.kinds_summary().set_index("kind")
    assert table.loc["level", ["n_features", "expected_nonzero", "zeros"]].tolist() == [1, 1, 0]
    assert_allclose(table.loc["words", "expected_drifting"], 0.0, atol=1e-12)
    assert table.loc["level", "rms"] > 0


def test_a_kind_of_one_feature_is_fitted():
    found = DriftRegressor(feature_groups={"one": "m0"}, extrapolate="forecast")
    found.fit(X, Y, time=TIME)
    assert np.isfinite(found.coef_path_).all()


def test_every_class_has_its_table():
    y = np.digitize(Y, [-0.7, 0.7])
    found = DriftClassifier(feature_groups=WORDS, extrapolate="forecast").fit(X, y, time=TIME)
    found = found.kinds_summary()
    assert found["class"].tolist() == [0, 0, 1, 1, 2, 2]


def test_files_updates_and_clones_keep_the_kinds(model, tmp_path):
    model.save(tmp_path / "m.drift")
    again = driftglm.load(tmp_path / "m.drift")
    pd.testing.assert_frame_equal(again.kinds_summary(), model.kinds_summary())
    later, y, _ = panel(1)
    now = np.full(N_ROWS, N_STEPS)
    again.update(later[:N_ROWS], y[:N_ROWS], time=now)
    assert again.kinds_summary()["kind"].tolist() == ["words", "other"]
    whole = clone(model).fit(
        pd.concat([X, later[:N_ROWS]]), np.append(Y, y[:N_ROWS]), time=np.append(TIME, now)
    )
    assert_allclose(again.kinds_summary()["rms"], whole.kinds_summary()["rms"], rtol=0.05)


def test_a_cut_takes_its_kinds_along(model):
    """A fit to the rows before a step has the numbers of one that never saw the others."""
    early = TIME < 5
    alone = DriftRegressor(feature_groups=WORDS, extrapolate="forecast")
    alone.fit(X[early], Y[early], time=TIME[early])
    runs = Runs(model._plan().settings, None)
    whole = in_own_order(model._rows)[0]  # as a fit has them inside
    for rows, as_of in ((whole.before(5), False), (whole.shared().before(5), True)):
        found = infer_posterior(rows, runs.settings.prior, runs, None, as_of=as_of)
        fit = found.forecasters[0].fits[0]
        assert_allclose(fit.unit, alone._fits[0].unit, rtol=1e-12)
        assert fit.log_pi.shape[0] == 2
        if not as_of:  # which is a brief fit
            assert_allclose(fit.coef_path(), alone.coef_path_, rtol=1e-8, atol=1e-10)


def test_what_has_no_kinds_says_so():
    plain = DriftRegressor(extrapolate="forecast").fit(X, Y, time=TIME)
    with pytest.raises(DataError, match="fitted without feature_groups"):
        plain.kinds_summary()
    with pytest.raises(DataError, match="only the learned prior has"):
        DriftRegressor(prior="exact", feature_groups=WORDS).fit(X, Y, time=TIME)
    with pytest.raises(ValueError, match="'feature_groups' parameter"):
        DriftRegressor(feature_groups=["w_0"]).fit(X, Y, time=TIME)
