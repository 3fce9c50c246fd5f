"""The inner loops over columns against dense algebra, with values stored and without."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from driftglm.design import column_kernels as kernels

STEPS = np.array([0, 4, 4, 11])  # step 1 is empty


def stored(X, *, ones):
    """Entries of a dense matrix whose rows are sorted by step."""
    values, rows, segments = [], [], np.zeros((X.shape[1], 4), dtype=np.int64)
    for i, t in np.ndindex(X.shape[1], 3):
        inside = np.flatnonzero(X[STEPS[t] : STEPS[t + 1], i]) + STEPS[t]
        segments[i, t] = len(rows)
        rows.extend(inside)
        values.extend(X[inside, i])
        segments[i, t + 1] = len(rows)
    found = np.empty(0) if ones else np.array(values)
    return found, np.array(rows, dtype=np.int32), segments


@pytest.fixture(params=[True, False], ids=["ones", "values"])
def matrix(request, rng):
    X = (rng.random((11, 5)) < 0.7).astype(float)
    X = X if request.param else X * rng.normal(size=X.shape)
    return X, stored(X, ones=request.param)


def test_sums_and_squares_by_step_are_those_of_the_matrix(matrix, rng):
    X, entries = matrix
    w = rng.normal(size=11)
    sums, squares, again = (np.zeros((5, 3)) for _ in range(3))
    kernels.sums_inplace(entries, 0, 5, w, sums)
    kernels.weigh_inplace(entries, np.arange(5), w, (squares, again))
    inside = [slice(*STEPS[t : t + 2]) for t in range(3)]
    expected = np.array([w[part] @ X[part] for part in inside]).T
    assert_allclose(sums, expected, atol=1e-14)
    assert_allclose(again, expected, atol=1e-14)
    assert_allclose(squares, np.array([w[p] @ X[p] ** 2 for p in inside]).T, atol=1e-14)
    assert_allclose(kernels.by_step(w, STEPS), [w[p].sum() for p in inside], atol=1e-14)


def test_eta_and_projections_are_products_with_the_matrix(matrix, rng):
    X, entries = matrix
    beta, basis, out = rng.normal(size=(5, 3)), rng.normal(size=(5, 2)), np.zeros((11, 2))
    codes = np.repeat(np.arange(3), np.diff(STEPS))
    assert_allclose(kernels.eta(entries, beta, 11), (X * beta[:, codes].T).sum(axis=1), atol=1e-14)
    kernels.project_inplace(entries, 0, 3, basis, out)
    assert_allclose(out, X @ basis, atol=1e-14)


def test_moments_are_those_of_columns_measured_from_their_center(matrix, rng):
    X, entries = matrix
    beta, variance, center = rng.normal(size=(5, 3)), rng.random((5, 3)), rng.normal(size=(5, 3))
    codes, found = np.repeat(np.arange(3), np.diff(STEPS)), np.zeros((2, 11))
    kernels.add_moments_inplace(entries, np.arange(5), center, (beta, variance), found)
    c, v = center[:, codes].T, variance[:, codes].T
    assert_allclose(found[0], (X * beta[:, codes].T).sum(axis=1), atol=1e-14)
    assert_allclose(found[1], (((X - c) ** 2 - c**2) * v).sum(axis=1), atol=1e-13)


def test_a_constant_that_is_taken_off_leaves_exact_zeros():
    segments = np.array([[0, 3], [3, 6]])
    values = np.array([0.1, 0.1, 0.1, 1.0, -2.0, 3.0])
    assert_allclose(kernels.single_value(values, segments), [0.1, 0.0])
    kernels.shift_values_inplace(values, segments, np.arange(2), np.array([0.1 + 1e-17, 1.0]))
    assert values.tolist() == [0.0, 0.0, 0.0, 0.0, -3.0, 2.0]
