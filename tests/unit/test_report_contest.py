"""Who won a comparison, by how much, and whether that is more than chance."""

import numpy as np
import pytest

from driftglm import DriftRegressor
from driftglm.baselines import LassoAll, RidgeAll
from driftglm.cli.compare import verdict
from driftglm.evaluation import RollingOrigin, compare
from driftglm.report.contest import contest
from driftglm.report.encode import significant
from driftglm.simulate import simulate_panel


def rows(n_steps=4, n=30):
    panel = simulate_panel(n_timesteps=n_steps, rows_per_step=n, n_features=4, n_active=2)
    return panel.X, panel.y, panel.time


@pytest.fixture(scope="module")
def comparison():
    X, y, time = rows(n_steps=5)
    models = {
        "drift": DriftRegressor(),
        "ridge": RidgeAll(strength=1.0),
        "": LassoAll(strength=9.0),
    }
    return compare(models, X, y, time, RollingOrigin(n_test=2))


def test_the_headline_names_the_winner_its_lead_and_whether_it_is_chance(comparison):
    found = contest(comparison)
    overall = comparison.table("frame").iloc[-1].sort_values()
    best, second = overall.index[:2]
    headline = found["headline"]
    assert headline[0] == [best]
    assert [second] in headline
    text = "".join(part if isinstance(part, str) else part[0] for part in headline)
    lead = 100 * (overall[second] - overall[best]) / overall[second]
    assert f"{significant(lead, 2)} % below" in text
    tests = comparison.significance(baseline=best).set_index("model")["p_holm"]
    assert ("not significant" in text) == (tests[second] >= 0.05)
    p = dict(zip(found["models"], found["p"], strict=True))
    assert p == {best: None} | tests.to_dict()


def text_of(parts):
    return "".join(part if isinstance(part, str) else part[0] for part in parts)


def weighted(weights):
    """a is better on the first ten rows of each of six steps, b on the other ten."""
    X, y, time = rows(n_steps=8, n=20)
    models = {"a": RidgeAll(strength=1.0), "b": LassoAll(strength=1.0)}
    splitter = RollingOrigin(n_test=6)
    found = compare(models, X, y, time, splitter, sample_weight=np.tile(weights, 8))
    first = np.tile(np.arange(20) < 10, 6)
    found.loss["a"][:] = np.where(first, 1.0, 2.0) + 1e-3 * found.codes
    found.loss["b"][:] = np.where(first, 1.1, 1.0) + 1e-3 * found.codes**2
    return found


def test_where_rows_weigh_unequally_whole_steps_are_counted():
    found = weighted(np.repeat([1000.0, 1.0], 10))
    part = contest(found)
    assert part["whole"]
    assert part["headline"][0] == ["a"]  # the heavy rows
    p = found.significance("a", method="bootstrap")["p_holm"].iloc[0]
    assert part["p"] == [None, p]
    assert p < 0.05
    assert part["favours"][1] > 0
    text = text_of(part["headline"])
    assert "By whole test steps, this difference is significant" in text
    assert "more of the rows" not in text
    assert "bootstrap of whole test steps" in verdict(found)


def test_where_rows_weigh_alike_rows_are_counted():
    found = weighted(np.ones(20))
    part = contest(found)
    assert not part["whole"]
    assert part["headline"][0] == ["b"]
    assert part["p"][0] == found.significance("b")["p_holm"].iloc[0]
    assert "Row by row, this difference is significant" in text_of(part["headline"])
    assert "Wilcoxon" in verdict(found)


def test_a_mean_won_by_few_rows_is_told_from_one_won_by_most():
    X, y, time = rows(n_steps=3, n=60)
    found = compare(
        {"a": RidgeAll(strength=1.0), "b": LassoAll(strength=1.0)},
        X,
        y,
        time,
        RollingOrigin(n_test=1),
    )
    # b is a little better on all rows but one, where it is much worse.
    found.loss["a"][:] = 1.0 + 1e-3 * np.arange(60)
    found.loss["b"][:] = 0.9 + 1e-3 * np.arange(60)
    found.loss["b"][0] = 100.0
    part = contest(found)
    text = "".join(part if isinstance(part, str) else part[0] for part in part["headline"])
    assert part["headline"][0] == ["a"]
    assert "more of the rows favour b" in text
    assert part["favours"] == [0.0, -1.0]
