"""What a model's record of its rows becomes on the page."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from driftglm.exceptions import DataError
from driftglm.report.checks import diagnosis, pit_histogram, step_scores


def recorded(residual=None):
    """A model with a record of three steps, the second without rows."""
    record = SimpleNamespace(
        deviance=np.array([2.0, 0.0, 9.0]),
        null_deviance=np.array([8.0, 0.0, 6.0]),
        rows=np.array([4, 0, 3]),
        residual=residual,
        codes=None if residual is None else np.arange(residual.size) % 3,
        sample=lambda: np.flatnonzero(np.isfinite(residual)),
    )
    return SimpleNamespace(_checks=record)


def test_models_without_a_record_have_no_scores_and_no_histogram():
    for model in (SimpleNamespace(), SimpleNamespace(_checks=None)):
        assert step_scores(model) is None
        assert pit_histogram(model) is None
        assert diagnosis(model) is None


def test_scores_are_deviances_a_row_and_shares_explained_by_step():
    first, empty, worse, overall = step_scores(recorded())
    assert first == {"rows": 4, "loss": 0.5, "explained": 0.75}
    assert empty == {"rows": 0, "loss": None, "explained": None}
    assert worse["explained"] == pytest.approx(-0.5)
    assert overall == {"rows": 7, "loss": 11 / 7, "explained": 1 - 11 / 14}


def test_rows_are_counted_where_the_record_has_their_steps_only():
    model = recorded()
    del model._checks.rows
    model._checks.codes = np.array([0, 0, 2, 0, 2, 2, 0])
    assert step_scores(model) == step_scores(recorded())


def test_bars_of_a_right_model_are_mostly_inside_the_band():
    outside = 0
    for seed in range(40):
        found = pit_histogram(recorded(np.random.default_rng(seed).normal(size=500)))
        assert sum(found["counts"]) == found["rows"] == 500
        outside += sum(not found["low"] <= n <= found["high"] for n in found["counts"])
    assert 0.02 < outside / 400 < 0.14  # one in ten, less what whole numbers leave


def test_the_band_is_wider_where_the_rows_of_a_step_lean_the_same_way():
    rng = np.random.default_rng(0)
    model = recorded(rng.normal(size=300))
    together = recorded(np.repeat(rng.normal(size=3), 100))
    together._checks.codes = np.repeat(np.arange(3), 100)
    narrow, wide = pit_histogram(model), pit_histogram(together)
    assert wide["high"] - wide["low"] > 3 * (narrow["high"] - narrow["low"])


def test_intervals_that_are_too_narrow_fill_the_outer_bars():
    spread = np.sort(2 * norm.ppf((np.arange(1000) + 0.5) / 1000))
    counts = pit_histogram(recorded(spread))["counts"]
    assert min(counts[0], counts[-1]) > 2 * max(counts[4], counts[5])
    low = pit_histogram(recorded(spread - 5))["counts"]
    assert low[0] > 900  # the lowest y are in the first bar


def test_few_rows_have_no_histogram_and_gaps_are_not_counted():
    assert pit_histogram(recorded(np.zeros(19))) is None
    values = np.append(np.zeros(30), [np.nan, np.inf])
    assert pit_histogram(recorded(values))["rows"] == 30


def test_findings_come_as_text_in_the_order_of_the_page():
    frame = pd.DataFrame(
        {"severity": ["major"], "p_value": [0.01], "advice": ["do"], "finding": ["so"]}
    ).assign(check="<b>tails")
    model = SimpleNamespace(diagnose=lambda: frame)
    assert diagnosis(model) == [["<b>tails", "so", "do", "major"]]
    assert diagnosis(SimpleNamespace(diagnose=lambda: frame.iloc[:0])) == []


def test_a_model_that_cannot_be_diagnosed_has_no_findings():
    def diagnose():
        raise DataError("no residuals")

    assert diagnosis(SimpleNamespace(diagnose=diagnose)) is None
