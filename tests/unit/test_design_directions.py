"""The leading directions of a design, against singular vectors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from driftglm.design import ColumnDesign, RowSample
from driftglm.design.directions import _orthonormal, direction_count

N_STEPS = 6


def panel(rng, n_rows=300, n_features=120, rank=4):
    """Columns that share a few factors."""
    X = rng.normal(size=(n_rows, rank)) @ rng.normal(size=(rank, n_features))
    return X + rng.normal(size=X.shape), np.arange(n_rows) * N_STEPS // n_rows


def test_directions_take_many_columns_and_rows_each():
    assert direction_count(50, 120, 300.0) == 6
    assert direction_count(50, 2000, 40.0 - 1e-12) == 4
    assert direction_count(3, 2000, 3000.0) == 3
    sample = RowSample(np.eye(4), np.zeros(4, int), np.ones(4))
    assert sample.directions(np.zeros((4, 1)), np.ones(4), 0).shape == (4, 0)


@pytest.mark.parametrize("sparse", [False, True])
def test_directions_are_the_singular_vectors_of_the_centred_columns(rng, sparse):
    X, codes = panel(rng)
    X = X * (rng.uniform(size=X.shape) < 0.5) * np.linspace(1, 3, 120) + codes[:, None] * 0.3
    unit = X.std(axis=0)
    center = np.array([X[codes == t].mean(axis=0) for t in range(N_STEPS)])
    scaled = (X - center[codes]) / unit
    given = csr_array(X) if sparse else X
    found, again = (
        RowSample(given, codes, np.ones(300), threads=threads).orthonormal(center.T, unit, 3)
        for threads in (1, 3)
    )
    assert_array_equal(again, found)
    exact = np.linalg.svd(scaled, full_matrices=False)[2][:3]
    assert_allclose(found.T @ found, np.eye(3), atol=1e-10)
    # The same plane: every principal angle is close to zero.
    assert np.linalg.svd(exact @ found)[1].min() > 0.99
    design, order = ColumnDesign.from_matrix(X, codes, N_STEPS)
    centered = design.centered(np.ones(300), np.ones(N_STEPS))
    expected = ((X - center[codes]) @ (found / unit[:, None]))[order]
    assert_allclose(centered.project(found / unit[:, None]), expected, atol=1e-9)


@pytest.mark.parametrize("n_features", [30, 90])
@pytest.mark.parametrize("sparse", [False, True])
def test_exact_directions_of_weighted_rows_on_either_side(rng, n_features, sparse):
    """Against the singular vectors, with more and with fewer columns than rows."""
    X = rng.normal(size=(60, n_features)) * (rng.uniform(size=(60, n_features)) < 0.5)
    codes, weights = np.repeat([0, 1], 30), rng.uniform(0.5, 2.0, size=60)
    center, unit = rng.normal(size=(n_features, 2)), rng.uniform(0.5, 2.0, size=n_features)
    scaled = np.sqrt(weights)[:, None] * (X - center.T[codes]) / unit
    given = csr_array(X) if sparse else X
    found = RowSample(given, codes, weights).orthonormal(center, unit, 4)
    exact = np.linalg.svd(scaled, full_matrices=False)[2][:4]
    assert_allclose(found @ found.T, exact.T @ exact, atol=1e-10)


def test_large_designs_are_iterated_to_nearly_the_same_directions(rng, monkeypatch):
    X, codes = panel(rng)
    sample, measured = RowSample(X, codes, np.ones(300)), (np.zeros((120, N_STEPS)), np.ones(120))
    exact = sample.orthonormal(*measured, 4)
    monkeypatch.setattr("driftglm.design.directions.MOST_PRODUCTS", 0)
    assert np.linalg.svd(exact.T @ sample.orthonormal(*measured, 4))[1].min() > 0.99


def test_directions_that_do_not_exist_are_not_invented(rng):
    X = np.outer(rng.normal(size=50), np.ones(40))
    for matrix, count in ((X, 1), (0 * X, 0)):
        sample = RowSample(matrix, np.zeros(50, int), np.ones(50))
        assert sample.orthonormal(np.zeros((40, 1)), np.ones(40), 4).shape == (40, count)


@pytest.mark.parametrize("condition", [1.0, 1e3, 1e7, 1e12, np.inf])
def test_columns_are_made_orthonormal_however_dependent_they_are(condition, rng):
    columns = rng.normal(size=(200, 6))
    columns[:, 3] = columns[:, 0] + columns[:, 3] / condition
    found = _orthonormal(columns)
    assert_allclose(found.T @ found, np.eye(6), atol=1e-12)
    # What they span is in what was found.
    rest = columns - found @ (found.T @ columns)
    assert_allclose(rest, 0.0, atol=1e-12)
