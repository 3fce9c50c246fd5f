"""Columns that cannot be told from something else are found, named, and do not head the ranking."""

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from driftglm import DriftClassifier, DriftRegressor, Sampling, load
from driftglm.evaluation import RollingOrigin, compare
from driftglm.exceptions import ConvergenceWarning, DataWarning
from driftglm.fitting.inflation import MOST, too_narrow


def frame(seed=0, n_steps=8, n_rows=50):
    rng = np.random.default_rng(seed)
    time = np.repeat(np.arange(n_steps), n_rows)
    table = pd.DataFrame({"a": rng.normal(size=time.size), "b": rng.normal(size=time.size)})
    y = table["a"].to_numpy() + 0.5 * rng.normal(size=time.size)
    return table, y, time, rng


def noted(table, y, time, match):
    with pytest.warns(DataWarning, match=match):
        model = DriftRegressor(extrapolate="forecast").fit(table, y, time=time)
    return model, model.summary().set_index("feature")


def test_ordinary_columns_have_no_note():
    table, y, time, _ = frame()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = DriftRegressor().fit(table, y, time=time)
    assert (model.summary()["note"] == "").all()
    assert model.columns_said() is None


def test_a_function_of_time_cannot_be_told_from_the_intercept():
    table, y, time, rng = frame()
    rate = rng.normal(size=8)
    table["rate"] = 100.0 * rate[time]
    y = y + 5.0 * rate[time]
    _, found = noted(table, y, time, r"1 hardly varies within steps \('rate'\).*drop the")
    assert "cannot be told from the intercept" in found.loc["rate", "note"]
    assert found.loc["rate", "kind"] in {"zero", "undecided"}
    assert found.index[0] == "a"


def test_one_value_in_most_steps_is_said():
    table, y, time, rng = frame()
    table["age"] = np.where(time < 3, rng.integers(18, 21, time.size), 21.0)
    _, found = noted(table, y, time, r"one value in most steps \('age'\).*static=")
    assert found.loc["age", "note"] == "has one value within 62% of the steps"


@pytest.mark.parametrize("kind", [pd.DataFrame, sp.csr_array])
def test_copies_and_columns_that_look_alike_are_named(kind):
    table, y, time, rng = frame()
    table["like"] = table["b"] + 0.1 * rng.normal(size=time.size)
    table["copy"] = table["a"]
    model, _ = noted(kind(table), y, time, "2 are copies .*2 have a correlation above 0.95")
    note = model.summary(feature_names=list(table)).set_index("feature")["note"]
    assert note["copy"] == "a copy of 'a'"
    assert note["a"] == "a copy of 'copy'"
    assert note["like"].startswith("correlation 0.99 with 'b'") or "1.00" in note["like"]


def test_copies_among_many_sparse_columns_are_found_without_all_correlations():
    _, y, time, rng = frame()
    X = sp.random_array((time.size, 700), density=0.05, rng=rng, format="csc")
    X = sp.csr_array(sp.hstack([X, X[:, [3]]]))
    with pytest.warns(DataWarning, match=r"2 are copies of others \('x3', 'x700'\)"):
        model = DriftRegressor(extrapolate="forecast").fit(X, y, time=time)
    assert model._notes.twin[[3, 700]].tolist() == [700, 3]


def test_ids_are_told_from_counts_and_from_numbers():
    table, y, time, rng = frame()
    table["row"] = np.arange(time.size) + 1000.0
    table["people"] = rng.integers(10**5, 10**7, time.size)
    table["age"] = rng.integers(20, 60, time.size)
    _, found = noted(table, y, time, r"1 looks like an id \('row'\): drop")
    assert found["note"][lambda note: note != ""].index.tolist() == ["row"]


def test_notes_survive_a_file(tmp_path):
    table, y, time, _ = frame()
    table["copy"] = table["a"]
    model, found = noted(table, y, time, "copies")
    model.save(tmp_path / "model.drift")
    pd.testing.assert_frame_equal(load(tmp_path / "model.drift").summary(), model.summary())
    assert found.index[0] == "b"  # which has no effect, but can be told from the others


def test_ranking_does_not_depend_on_where_columns_have_their_zero():
    table, y, time, _ = frame()
    near = DriftRegressor(extrapolate="forecast").fit(table, y, time=time)
    far = DriftRegressor(extrapolate="forecast").fit(
        table.assign(b=table["b"] + 1000.0), y, time=time
    )
    for one, other in zip(near._fits[0].importance, far._fits[0].importance, strict=True):
        assert other == pytest.approx(one, rel=1e-6, abs=1e-9)


def test_an_indicator_is_the_same_whatever_it_is_coded_as():
    table, y, time, rng = frame()
    table["flag"] = (rng.random(time.size) < 0.2).astype(float)
    y = y + 0.4 * table["flag"]
    found = []
    for shift, scale in ((0.0, 1.0), (-0.2, 1.0), (1.0, -3.0)):
        coded = table.assign(flag=scale * table["flag"] + shift)
        model = DriftRegressor(extrapolate="forecast").fit(coded, y, time=time)
        found.append([*model.inclusion_probability_, *model.drift_probability_])
    np.testing.assert_allclose(found[1], found[0], atol=1e-6)
    np.testing.assert_allclose(found[2], found[0], atol=1e-6)


# ------------------------------------------------------------- intervals that are too narrow


def equicorrelated(seed=0, correlation=0.8, n_features=6, n_steps=5, n_rows=120):
    """Columns that go together, and classes that depend on them."""
    rng = np.random.default_rng(seed)
    time = np.repeat(np.arange(n_steps), n_rows)
    common = np.sqrt(correlation) * rng.normal(size=(time.size, 1))
    X = common + np.sqrt(1.0 - correlation) * rng.normal(size=(time.size, n_features))
    return X, X @ np.linspace(0.8, 1.2, n_features), time, rng


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_how_much_too_narrow_is_the_ratio_of_two_least_squares_errors(kind):
    X, _, time, _ = equicorrelated()
    X = X + time[:, None]  # the same in every step, which the intercepts take
    rows = SimpleNamespace(X=kind(X), codes=time, intercept=True)
    included = np.array([True] * 5 + [False])
    steps = (time[:, None] == np.arange(5)).astype(float)
    design = np.hstack([X[:, :5], steps])
    unknown = np.diag(np.linalg.inv(design.T @ design))[:5]
    alone = [
        np.linalg.inv(z.T @ z)[0, 0] for z in (design[:, [i, *range(5, 10)]] for i in range(5))
    ]
    found = too_narrow(rows, included)
    assert_allclose(found[:5], np.sqrt(unknown / alone), rtol=1e-10)
    assert found[5] == 1.0
    assert 1.7 < found[0] < 2.3


def test_how_much_too_narrow_is_bounded_for_copies_and_unknown_of_few_rows():
    X, _, time, _ = equicorrelated()
    everything = np.ones(6, dtype=bool)
    X[:, 1] = X[:, 0]
    found = too_narrow(SimpleNamespace(X=X, codes=time, intercept=True), everything)
    assert_allclose(found[:2], MOST / np.sqrt(2), rtol=0.1)
    few = SimpleNamespace(X=X[:20], codes=time[:20], intercept=True)
    assert_array_equal(too_narrow(few, everything), 1.0)
    far = SimpleNamespace(X=None, codes=time, intercept=True)
    assert_array_equal(too_narrow(far, everything), 1.0)


def test_intervals_of_correlated_columns_judged_one_by_one_are_said_to_be_too_narrow(tmp_path):
    X, eta, time, rng = equicorrelated()
    y = rng.random(time.size) < 1 / (1 + np.exp(-eta))
    said = r"intervals are too narrow for \d columns .*factor.*inference='sampling'"
    with pytest.warns(DataWarning, match=said) as caught:
        model = DriftClassifier(extrapolate="forecast").fit(X, y, time=time)
    assert len(caught) == 1
    table = model.summary()
    noted = table["note"].str.contains("times too narrow")
    assert noted.any()
    assert noted.equals(table["inclusion_probability"] >= 0.5)
    model.save(tmp_path / "model.drift")
    assert load(tmp_path / "model.drift").columns_said() == model.columns_said()


def test_nothing_is_said_of_intervals_that_are_joint():
    X, eta, time, rng = equicorrelated()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = DriftRegressor(extrapolate="forecast").fit(X, eta + rng.normal(size=600), time=time)
        assert model.columns_said() is None
        y = rng.random(time.size) < 1 / (1 + np.exp(-eta))
        sampling = Sampling(draws=20, warmup=10, chains=1)
        sampled = DriftClassifier(extrapolate="forecast", inference=sampling)
        warnings.simplefilter("ignore", ConvergenceWarning)  # so few draws say little else
        assert sampled.fit(X, y, time=time).columns_said() is None


def test_a_comparison_says_once_what_all_of_its_fits_would_say():
    table, y, time, _ = frame()
    table["copy"] = table["a"]
    models = {"one": DriftRegressor(extrapolate="forecast"), "two": DriftRegressor(time=None)}
    models["two"].set_params(extrapolate="hold")
    found = compare(models, table, y, time, RollingOrigin(test=[6, 7]))
    said = [text for texts in found.warnings.values() for text in texts]
    assert sum("cannot be told from something else" in text for text in said) == 1
    assert found.warnings["one"][0].startswith("step 6: DataWarning: some columns")
