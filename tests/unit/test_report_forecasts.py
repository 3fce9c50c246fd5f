"""Forecasts against what came: a sample of rows, means of tenths."""

import base64

import numpy as np
import pytest

from driftglm import DriftClassifier
from driftglm.baselines import RidgeAll
from driftglm.evaluation import RollingOrigin, compare
from driftglm.report.forecasts import forecasts
from driftglm.simulate import simulate_panel


def rows(n_steps=4, n=30):
    panel = simulate_panel(n_timesteps=n_steps, rows_per_step=n, n_features=4, n_active=2)
    return panel.X, panel.y, panel.time


def decode(text, kind="<f4"):
    return np.frombuffer(base64.b64decode(text), dtype=kind)


def test_forecasts_of_two_classes_are_compared_with_the_share_of_the_second():
    X, y, time = rows(n_steps=5, n=40)
    labels = np.where(y > 0, "up", "down")
    found = compare({"drift": DriftClassifier()}, X, labels, time, RollingOrigin(n_test=2))
    shown = forecasts(found)
    assert shown["what"] == "share of up"
    total = sum(tenth[1] * tenth[4] for tenth in shown["bins"][0])
    assert total == pytest.approx((found.y == "up").sum())


def test_forecasts_of_three_classes_or_of_documents_are_no_values_to_plot():
    X, y, time = rows(n_steps=4, n=40)
    labels = np.array(["a", "b", "c"])[np.digitize(y, [-0.5, 0.5])]
    found = compare({"drift": DriftClassifier()}, X, labels, time, RollingOrigin(n_test=1))
    assert forecasts(found) is None


def test_many_forecasts_are_sampled_and_their_means_are_of_all_rows():
    X, y, time = rows(n_steps=3, n=3000)
    found = compare({"ridge": RidgeAll(strength=1.0)}, X, y, time, RollingOrigin(n_test=1))
    shown = forecasts(found)
    assert (shown["nPoints"], shown["nRows"]) == (2000, 3000)
    chosen = decode(shown["row"], "<i4")
    np.testing.assert_allclose(decode(shown["actual"]), y[chosen], rtol=1e-6)
    assert sum(tenth[4] for tenth in shown["bins"][0]) == 3000
