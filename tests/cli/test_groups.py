"""--groups: ids of a column reach the fit, the predictions and the comparison."""

import numpy as np
import pandas as pd
import pytest

import driftglm
from driftglm import DriftRegressor

FIT = ("--target", "y", "--time", "year", "--groups", "firm")
pytestmark = pytest.mark.filterwarnings("ignore::driftglm.exceptions.ConvergenceWarning")


@pytest.fixture
def panel(run):
    """Ids that are numbers with leading zeros: 007 is not 7."""
    del run  # has gone to a folder of its own
    rng = np.random.default_rng(0)
    firm = np.tile(np.arange(20), 8)
    frame = pd.DataFrame({"year": np.repeat(np.arange(2001, 2005), 40), "x": rng.normal(size=160)})
    frame["firm"] = [f"{k:03d}" for k in firm]
    frame["y"] = frame["x"] + rng.normal(size=20)[firm] + 0.2 * rng.normal(size=160)
    frame.to_csv("panel.csv", index=False)
    return frame


def test_a_fit_has_the_groups_of_the_column(run, panel):
    facts = run("fit", "panel.csv", *FIT, "-o", "m.drift", "--json").json
    assert facts["n_features"] == 1  # the ids are no feature
    model = driftglm.load("m.drift").estimator
    assert model.group_effects_["group"].tolist() == sorted(set(panel["firm"]))
    other = DriftRegressor().fit(
        panel[["x"]].to_numpy(), panel["y"], time=panel["year"], groups=panel["firm"]
    )
    np.testing.assert_allclose(model.group_effects_["effect"], other.group_effects_["effect"])


def test_predictions_use_ids_where_the_table_has_them(run, panel):
    run("fit", "panel.csv", *FIT, "-o", "m.drift")
    ran = run("predict", "m.drift", "panel.csv", "-o", "with.csv", "--interval", 0.9)
    assert "firm" not in ran.err
    panel.drop(columns="firm").to_csv("bare.csv", index=False)
    ran = run("predict", "m.drift", "bare.csv", "-o", "without.csv", "--interval", 0.9)
    assert "no column 'firm': every row is taken for one of a group not seen before." in ran.err
    panel.assign(firm="other").to_csv("other.csv", index=False)
    run("predict", "m.drift", "other.csv", "-o", "unseen.csv", "--interval", 0.9)
    known, none, unseen = (pd.read_csv(f"{name}.csv") for name in ("with", "without", "unseen"))
    pd.testing.assert_frame_equal(none, unseen)
    error = [np.mean((each["prediction"] - panel["y"]) ** 2) for each in (known, none)]
    assert error[0] < 0.2 * error[1]
    assert (none["upper"] - none["lower"] > 2 * (known["upper"] - known["lower"])).all()


def test_a_comparison_hands_ids_to_models_that_take_them(run, panel):
    words = ("--n-test", 1, "--models", "learned,ridge-all", "--json")
    with_ids = run("compare", "panel.csv", *FIT, *words, "-o", "a").json["table"][-1]
    without = ("--target", "y", "--time", "year", "--drop", "firm")
    blind = run("compare", "panel.csv", *without, *words, "-o", "b").json["table"][-1]
    assert with_ids["learned"] < 0.3 * blind["learned"]
    assert with_ids["ridge-all"] == pytest.approx(blind["ridge-all"])
    assert len(panel) == 160


def test_ids_that_cannot_be_used_are_refused(run, panel):
    panel.assign(firm=panel["firm"].mask(panel.index == 3)).to_csv("gap.csv", index=False)
    said = run.fails("fit", "gap.csv", *FIT, "-o", "m.drift")
    assert "column 'firm' has no value in 1 of 160 rows, first in row 3" in said
    said = run.fails("fit", "panel.csv", *FIT[:-1], "frim", "-o", "m.drift")
    assert "has no column 'frim' (groups); did you mean 'firm'?" in said
    said = run.fails("fit", "panel.csv", *FIT, "--prior", "exact", "-o", "m.drift")
    assert "groups= is for the learned prior" in said
    said = run.fails("fit", "panel.csv", *FIT[:-1], "year", "-o", "m.drift")
    assert "named as time and as groups" in said
