"""A formula gives the features that formulaic makes of it."""

import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from driftglm import DriftRegressor
from driftglm.exceptions import DataError
from driftglm.tables import from_formula


@pytest.fixture
def frame(rng):
    n = 80
    out = pd.DataFrame({"year": np.repeat([2001, 2002, 2003, 2004], 20), "x1": rng.normal(size=n)})
    out["x2"], out["x3"] = rng.normal(size=n), rng.normal(size=n)
    out["state"] = rng.choice(["NY", "CA", "TX"], n)
    out["y"] = out["x1"] + (out["state"] == "NY") + out["x2"] * out["x3"]
    return out


def test_a_formula_is_the_columns_made_by_hand(frame):
    pytest.importorskip("formulaic")
    model = DriftRegressor(time="year", prior="fixed")
    found = from_formula("y ~ x1 + C(state) + x2:x3", frame, model)
    by_hand = pd.DataFrame({"x1": frame["x1"]})
    by_hand["NY"], by_hand["TX"] = (1.0 * (frame["state"] == s) for s in ("NY", "TX"))
    by_hand["x2:x3"] = frame["x2"] * frame["x3"]
    expected = DriftRegressor(prior="fixed").fit(by_hand, frame["y"], time=frame["year"])
    assert_allclose(found.predict(frame), expected.predict(by_hand, time=frame["year"]), atol=1e-6)
    # Few new rows need not have all categories.
    assert_allclose(found.predict(frame.iloc[:3]), found.predict(frame)[:3])
    later = frame.assign(year=2005)
    assert_allclose(found.predict(later), found.predict(frame.drop(columns="year")))


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("x1 + x2", "no left side"),
        ("y ~ nope", "cannot be used"),
        ("y ~ 1", "no feature"),
        ("y ~ x1 +", "cannot be used"),
        ("state ~ x1", "left side"),
    ],
)
def test_a_bad_formula_is_refused(formula, message, frame):
    pytest.importorskip("formulaic")
    with pytest.raises(DataError, match=message):
        from_formula(formula, frame)


def test_gaps_and_a_lacking_package_are_said(frame, monkeypatch):
    pytest.importorskip("formulaic")
    with pytest.raises(DataError, match="cannot be used"):
        from_formula("y ~ x1", frame.assign(x1=np.nan))
    monkeypatch.setitem(sys.modules, "formulaic", None)
    with pytest.raises(DataError, match="pip install formulaic"):
        from_formula("y ~ x1", frame)
