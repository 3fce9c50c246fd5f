"""Sums over rows along directions, against numpy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from driftglm.design import ArrayScores
from driftglm.design.scores import RepeatedScores, scores_of, weighted_gram

OFFSETS = np.array([0, 40, 40, 100, 120])
TAKEN = np.array([[0.5, -1.0, 2.0], [0.0, 0.0, 0.0], [0.4, -1.1, 2.5], [0.6, 0.2, 2.0]])


def centred(rows):
    return rows - np.repeat(TAKEN, np.diff(OFFSETS), axis=0)


@pytest.fixture
def repeated(rng):
    """Rows of which seven are different."""
    return rng.normal(size=(7, 3))[rng.integers(0, 7, OFFSETS[-1])]


def test_scores_are_products_with_the_rows(rng):
    z, w, cov = rng.normal(size=(7, 2)), rng.uniform(size=7), np.array([[2.0, 0.3], [0.3, 1.0]])
    scores = ArrayScores(z, np.array([0, 3, 3, 7]))
    assert scores.count == 2
    assert_allclose(scores.dot(w), z.T @ w)
    assert_allclose(scores.times(cov[0]), z @ cov[0])
    assert_allclose(scores.variances(cov), np.diag(z @ cov @ z.T))
    grams = scores.step_grams(w)
    assert not grams[1].any()
    assert_allclose(grams.sum(axis=0), scores.gram(w))


@pytest.mark.parametrize("far", [0.0, 1e6])
def test_scores_of_rows_that_repeat_are_those_of_the_rows(rng, repeated, far):
    z, w, cov = centred(repeated), rng.uniform(size=120), np.cov(rng.normal(size=(3, 9)))
    found = scores_of(repeated + far, TAKEN + far, OFFSETS)
    assert isinstance(found, RepeatedScores)
    assert found.different.shape == (7, 3)
    plain = ArrayScores(z, OFFSETS)
    near = {"rtol": 1e-9 if far else 1e-12, "atol": 1e-8 if far else 1e-12}
    for name, argument in [
        ("dot", w), ("gram", w), ("step_grams", w), ("times", cov[0]), ("variances", cov)
    ]:  # fmt: skip
        assert_allclose(getattr(found, name)(argument), getattr(plain, name)(argument), **near)
    assert_allclose(found.not_centred(TAKEN + far), repeated + far)


def test_rows_that_differ_are_kept_one_by_one(rng):
    rows = rng.normal(size=(120, 3))
    found = scores_of(rows, TAKEN, OFFSETS)
    assert isinstance(found, ArrayScores)
    assert_allclose(found.values, centred(rows))
    assert_allclose(found.not_centred(TAKEN), rows)


def test_rows_of_equal_sums_are_not_taken_for_equal(repeated):
    along = np.random.default_rng(0).normal(size=3)
    hidden = repeated.copy()
    hidden[3] += 1e-9 * np.array([along[1], -along[0], 0.0])  # next to nothing, and not nothing
    found = scores_of(hidden, TAKEN, OFFSETS)
    assert_allclose(found.not_centred(TAKEN), hidden, rtol=0, atol=1e-15)


def test_sums_over_rows_are_those_of_numpy(rng):
    z, w, cov = rng.normal(size=(50, 4)), rng.uniform(size=50), np.cov(rng.normal(size=(4, 9)))
    assert_allclose(weighted_gram(z, w), z.T @ (w[:, None] * z), atol=1e-12)
    scores = ArrayScores(np.tile(z, (200, 1)), np.array([0, 10_000]))  # in several parts
    assert_allclose(scores.variances(cov), np.tile(np.diag(z @ cov @ z.T), 200), atol=1e-12)
    assert_allclose(scores.gram(np.tile(w, 200)), 200 * weighted_gram(z, w), rtol=1e-11)
