"""The encoder of the command line in a pipeline."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from driftglm import DriftRegressor
from driftglm.evaluation import RollingOrigin
from driftglm.exceptions import DataError
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
