"""The encoder of the command line in a pipeline."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from driftglm import DriftRegressor
from driftglm.evaluation import RollingOrigin
from driftglm.exceptions import DataError, DataWarning
from driftglm.tables import FrameEncoder


@pytest.fixture
def frame(rng):
    n = 120
    out = pd.DataFrame({"year": np.repeat(np.arange(2001, 2007), 20), "x": rng.normal(size=n)})
    out["kind"] = list("aaaaaaaaaaaabbbbcccd") * 6
    out.loc[::7, "x"] = np.nan
    return out


def test_gaps_have_the_mean_of_the_training_rows(frame):
    encoder = FrameEncoder(missing="indicator", keep=["year"]).fit(frame[:60])
    found = encoder.transform(frame)
    gaps = frame["x"].isna().to_numpy()
    assert_allclose(found["x"][gaps], frame["x"][:60].mean())
    assert_array_equal(found["x=(missing)"], gaps)
    assert_array_equal(found["year"], frame["year"])
    assert list(encoder.get_feature_names_out()) == list(found.columns)


def test_references_and_rare_levels(frame):
    full = frame.drop(columns=["x", "year"])
    encoder = FrameEncoder().fit(full)
    assert set(encoder.references_.values()) == {"a"}
    encoder = FrameEncoder(reference={"kind": "c"}).fit(full)
    assert encoder.references_ == {"kind=a": "c", "kind=b": "c", "kind=d": "c"}
    n_rare = int(full["kind"].isin(["c", "d"]).sum())
    rare = 1 + int((full["kind"] == "c").sum())
    encoder = FrameEncoder(rare=rare).fit(full)
    names = encoder.get_feature_names_out().tolist()
    assert names == ["kind=b", "kind=(rare)"]
    assert np.asarray(encoder.transform(full))[:, 1].sum() == n_rare
    # A level that comes later is as rare as those.
    assert np.asarray(encoder.transform(full.assign(kind="z")))[:, 1].all()
    for wrong in ({"missing": "drop"}, {"missing": "x"}, {"reference": {"kind": "q"}}):
        with pytest.raises(DataError):
            FrameEncoder(**wrong).fit(full)


def test_a_pipeline_carries_the_column_of_times(frame, rng):
    y = rng.normal(size=len(frame)) + (frame["kind"] == "b")
    pipe = make_pipeline(
        FrameEncoder(missing="mean", keep=["year"]), DriftRegressor(time="year", prior="fixed")
    )
    scores = cross_val_score(pipe, frame, y, cv=RollingOrigin(n_test=2, time="year"))
    assert np.isfinite(scores).all()
    assert_array_equal(pipe.fit(frame, y)[-1].timesteps_, np.arange(2001, 2007))


def test_numbers_with_marks_are_read_by_the_marks_of_training():
    n = 40
    x = np.linspace(-2.0, 2.0, n)
    frame = pd.DataFrame(
        {
            "comma": [f"{v:.2f}".replace(".", ",") for v in x],
            "both": [f"{1000 + v:,}".replace(",", ".") for v in range(n)],
            "share": [f"{v} %" for v in range(n)],
            "kind": list("ab") * (n // 2),
        }
    )
    with pytest.warns(DataWarning) as told:
        encoder = FrameEncoder().fit(frame)
    assert "'-2,00' is -2 (decimal=',' thousands='.')" in str(told[0].message)
    assert "without its sign '%'" in str(told[1].message)
    assert encoder.get_feature_names_out().tolist() == ["comma", "both", "share", "kind=b"]
    X = np.asarray(encoder.transform(frame))
    np.testing.assert_allclose(X[:, 0], x.round(2))
    np.testing.assert_array_equal(X[:, 1], 1000 + np.arange(n))
    np.testing.assert_array_equal(X[:, 2], np.arange(n))
    # One row alone tells nothing of marks.
    one = np.asarray(encoder.transform(frame[1:2].assign(both="1.500")))
    assert one[0, 1] == 1500.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        given = FrameEncoder(decimal=",", thousands=".").fit(frame.drop(columns="share"))
    np.testing.assert_array_equal(np.asarray(given.transform(frame))[:, :2], X[:, :2])


@pytest.mark.parametrize(
    ("values", "advice"),
    [
        ([f"K{k}" for k in range(240)], "(categorical=)"),
        (np.where(np.arange(40) > 30, np.nan, 1.0), "missing='mean'"),
        (pd.date_range("2001", periods=40), "drop="),
        ([f"{v:,}" for v in range(1000, 1040)], "decimal=',' or thousands=','"),
    ],
)
def test_advice_is_in_keywords_of_the_encoder(values, advice):
    with pytest.raises(DataError) as told:
        FrameEncoder().fit(pd.DataFrame({"z": values}))
    assert "--" not in str(told.value)
    assert advice in str(told.value)
