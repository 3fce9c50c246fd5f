"""Rows of classes that stand for several: what they leave behind is that of the single votes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import driftglm
from driftglm import DriftClassifier
from driftglm.fitting.residuals import RowChecks
from driftglm.report.checks import pit_histogram


@pytest.fixture(scope="module")
def cells():
    """Votes counted by cell, whose shares are what a logistic model says."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(600, 3))
    time = np.repeat(np.arange(6), 100)
    n = rng.integers(5, 40, size=600)
    yes = rng.binomial(n, 1 / (1 + np.exp(-1.5 - X[:, 0] - 0.2 * time * X[:, 1])))
    two = np.repeat(np.arange(600), 2)
    weights = np.column_stack([yes, n - yes]).ravel().astype(float)
    said = np.tile(["yes", "no"], 600)
    used = weights > 0
    return X[two][used], said[used], time[two][used], weights[used]


@pytest.fixture(scope="module")
def model(cells):
    X, said, time, weights = cells
    return DriftClassifier(extrapolate="forecast").fit(X, said, time=time, sample_weight=weights)


def test_a_right_model_of_counted_votes_has_nothing_against_it(model):
    assert not {"pit", "tails"} & set(model.diagnose()["check"])
    found = pit_histogram(model)
    assert found["rows"] == model._checks.sample().size
    outside = [not found["low"] <= n <= found["high"] for n in found["counts"]]
    assert sum(outside) <= 3


def test_rows_taken_for_one_vote_each_would_be_called_wrong(model):
    """What the weights are for: without them as many rows say no as yes."""
    alone = RowChecks(**{**vars(model._checks), "votes": None})
    model_alone = type("M", (), {"_checks": alone})()
    found = pit_histogram(model_alone)
    assert max(found["counts"]) > 1.5 * found["rows"] / 10


def test_chances_are_in_proportion_to_votes_and_the_same_every_time(model):
    votes = np.repeat([1.0, 4.0], 5000).astype(np.float32)
    parts = {**vars(model._checks), "residual": np.zeros(10000), "codes": np.zeros(10000, int)}
    checks = RowChecks(**{**parts, "votes": votes})
    kept = checks.sample()
    assert (kept >= 5000).sum() == 5000
    assert 0.22 < (kept < 5000).sum() / 5000 < 0.28
    assert_array_equal(kept, checks.sample())


def test_equal_weights_are_no_votes_and_files_keep_them(cells, model, tmp_path):
    X, said, time, weights = cells
    even = DriftClassifier(prior="fixed").fit(X, said, time=time, sample_weight=np.ones(time.size))
    assert even._checks.votes is None
    assert even._checks.sample().size == time.size
    assert_allclose(model._checks.votes, weights)
    model.save(tmp_path / "m.drift")
    again = driftglm.load(tmp_path / "m.drift")
    assert_array_equal(again._checks.votes, model._checks.votes)
    assert_array_equal(again._checks.sample(), model._checks.sample())
