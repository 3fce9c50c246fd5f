"""The column design against plain numpy on the full matrix, for every way X may be stored."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from driftglm.design import ColumnDesign

N_STEPS = 5


def matrix(rng, n_rows=40, n_features=6):
    """A third of the entries are zero, one column has none and one has nothing else."""
    X = rng.normal(size=(n_rows, n_features)) * (rng.random((n_rows, n_features)) < 2 / 3)
    X[:, 1] = rng.uniform(1, 2, n_rows)
    X[:, 4] = 0.0
    # Steps in no order; step 3 is empty.
    return X, rng.choice([0, 1, 2, 4], n_rows)


def as_stored(X, how):
    if how == "dense":
        return X
    if how == "fortran":
        return np.asfortranarray(X)
    csr = sp.csr_array(X)
    if how == "int64 indices":
        csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    elif how == "csr_matrix":
        csr = sp.csr_matrix(X)
    elif how == "float32 entries":
        csr = csr.astype(np.float32)
    elif how == "explicit zeros":
        csr = sp.csr_array((X.ravel(), np.tile(np.arange(X.shape[1]), len(X)), csr_rows(X)))
    elif how == "duplicates":
        coo = sp.coo_array(X)
        halves = np.concatenate([0.25 * coo.data, 0.75 * coo.data])
        places = (np.tile(coo.row, 2), np.tile(coo.col, 2))
        csr = sp.csr_array((np.ones(1), ([0], [0])), shape=X.shape)
        csr.indptr, csr.indices, csr.data = uncombined(halves, places, X.shape[0])
        csr.has_canonical_format = False
    elif how == "unsorted indices":
        for n in range(X.shape[0]):
            row = slice(csr.indptr[n], csr.indptr[n + 1])
            csr.indices[row], csr.data[row] = csr.indices[row][::-1], csr.data[row][::-1].copy()
        csr.has_canonical_format = False
    return csr


def csr_rows(X):
    return np.arange(0, X.size + 1, X.shape[1])


def uncombined(data, places, n_rows):
    """CSR arrays that still hold every entry twice (scipy's own conversion would add them)."""
    order = np.argsort(places[0], kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(places[0], minlength=n_rows))])
    return indptr.astype(np.int32), places[1][order].astype(np.int32), data[order]


STORED = pytest.mark.parametrize(
    "how",
    [
        "dense",
        "fortran",
        "csr",
        "csr_matrix",
        "int64 indices",
        "explicit zeros",
        "duplicates",
        "unsorted indices",
    ],
)


@STORED
@pytest.mark.parametrize("centered", [False, True])
def test_every_product_is_that_of_the_full_matrix(how, centered, rng):
    X, codes = matrix(rng)
    design, order = ColumnDesign.from_matrix(as_stored(X, how), codes, N_STEPS)
    weights = rng.uniform(0.5, 2, len(X))
    full, steps = X[order], codes[order]
    if centered:
        design = design.centered(weights)
        full = full - np.average(full, axis=0, weights=weights)
    beta = rng.normal(size=(X.shape[1], N_STEPS))
    score = rng.normal(size=len(X))
    indicator = steps == np.arange(N_STEPS)[:, None]
    assert_allclose(design.eta(beta), (full * beta[:, steps].T).sum(axis=1), rtol=1e-12, atol=1e-12)
    expected = np.einsum("ni,tn,n->it", full, indicator, score)
    assert_allclose(design.gradient(score), expected, rtol=1e-11, atol=1e-12)
    expected = np.einsum("ni,tn,n->it", full**2, indicator, weights)
    assert_allclose(design.squares(weights), expected, rtol=1e-11, atol=1e-12)
    assert_allclose(design.by_step(score), indicator @ score, rtol=1e-12, atol=1e-14)
    path = rng.normal(size=N_STEPS)
    assert_array_equal(design.to_rows(path), path[steps])


@STORED
def test_rows_are_sorted_by_step_and_ties_keep_their_order(how, rng):
    X, codes = matrix(rng)
    design, order = ColumnDesign.from_matrix(as_stored(X, how), codes, N_STEPS)
    assert_array_equal(order, np.argsort(codes, kind="stable"))
    assert (design.n_rows, design.n_features, design.n_timesteps) == (40, 6, N_STEPS)
    assert_array_equal(np.diff(design.step_offsets), np.bincount(codes, minlength=N_STEPS))


@STORED
def test_zeros_are_not_stored(how, rng):
    X, codes = matrix(rng)
    design, _ = ColumnDesign.from_matrix(as_stored(X, how), codes, N_STEPS)
    assert_array_equal(design.segments[:, -1] - design.segments[:, 0], (X != 0).sum(axis=0))
    assert design.values.all()


@pytest.mark.parametrize("how", ["float32 entries", "float32 dense"])
def test_single_precision_is_kept_and_sums_are_in_double(how, rng):
    X, codes = matrix(rng)
    X = X.astype(np.float32).astype(np.float64)
    given = X.astype(np.float32) if how == "float32 dense" else as_stored(X, how)
    design, _ = ColumnDesign.from_matrix(given, codes, N_STEPS)
    assert design.values.dtype == np.float32
    expected, _ = ColumnDesign.from_matrix(X, codes, N_STEPS)
    score = rng.normal(size=len(X))
    assert_array_equal(design.gradient(score), expected.gradient(score))
    assert_array_equal(design.squares(score**2), expected.squares(score**2))


def indicators(rng, n_rows=300, n_features=1100):
    """More columns than are filled at once; one of ones, one of zeros."""
    X = (rng.random((n_rows, n_features)) < rng.random(n_features)).astype(np.float64)
    X[:, 3], X[:, 5] = 1.0, 0.0
    return X, rng.choice([0, 1, 2, 4], n_rows)


@pytest.mark.parametrize("how", ["dense", "csr", "explicit zeros", "unsorted indices"])
@pytest.mark.parametrize("share", [None, np.array([0.9, 0.8, 0.7, 0.0, 0.6])])
def test_ones_need_not_be_stored(how, share, rng):
    X, codes = indicators(rng)
    lean, _ = ColumnDesign.from_matrix(as_stored(X, how), codes, N_STEPS, compact=True)
    full, _ = ColumnDesign.from_matrix(X, codes, N_STEPS)
    assert lean.values.size == 0
    assert full.values.size == lean.rows.size == X.sum()
    assert_array_equal(lean.units(np.ones(len(X))), full.units(np.ones(len(X))))
    beta, score = rng.normal(size=(X.shape[1], N_STEPS)), rng.normal(size=len(X))
    for weights in (np.ones(len(X)), rng.uniform(0.5, 2, len(X))):
        one, other = lean.centered(weights, share), full.centered(weights, share)
        assert_allclose(one.mean, other.mean, rtol=1e-14)
        assert_allclose(one.eta(beta), other.eta(beta), rtol=1e-11, atol=1e-11)
        assert_allclose(one.gradient(score), other.gradient(score), rtol=1e-11, atol=1e-12)
        assert_allclose(one.squares(weights), other.squares(weights), rtol=1e-11, atol=1e-12)
        assert_allclose(one.movement(weights), other.movement(weights), rtol=1e-9)
        basis = rng.normal(size=(X.shape[1], 3))
        assert_allclose(one.project(basis), other.project(basis), rtol=1e-10, atol=1e-10)
        moments = np.zeros((2, 2, len(X)))
        for design, out in zip((one, other), moments, strict=True):
            design.add_moments_inplace(np.arange(X.shape[1]), beta, beta**2, out)
        assert_allclose(*moments, rtol=1e-9, atol=1e-9)


def test_other_constants_are_stored(rng):
    X, codes = indicators(rng)
    design, _ = ColumnDesign.from_matrix(2.0 * X, codes, N_STEPS, compact=True)
    assert (design.values == 2.0).all()
    assert design.values.size == X.sum()


@pytest.mark.parametrize("how", ["csr", "explicit zeros"])
def test_threads_change_no_bit_of_a_design(how, rng):
    X, codes = matrix(rng, 200, 40)
    weights, basis = rng.uniform(0.5, 2, len(X)), rng.normal(size=(X.shape[1], 3))
    found = []
    for threads in (1, 2, 7):
        design, _ = ColumnDesign.from_matrix(as_stored(X, how), codes, N_STEPS, threads=threads)
        parts = design.rows, design.values, design.segments, design.project(basis)
        found.append((*parts, design.sums(weights), design.squares(weights)))
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            assert_array_equal(one, two)


@pytest.mark.parametrize("how", ["duplicates", "unsorted indices"])
def test_the_users_matrix_is_left_alone(how, rng):
    X, codes = matrix(rng)
    given = as_stored(X, how)
    data, indices = given.data.copy(), given.indices.copy()
    ColumnDesign.from_matrix(given, codes, N_STEPS)
    assert_array_equal(given.data, data)
    assert_array_equal(given.indices, indices)


def test_centering_keeps_sparse_columns_as_they_are(rng):
    X, codes = matrix(rng)
    design, order = ColumnDesign.from_matrix(X, codes, N_STEPS)
    weights = rng.uniform(0.5, 2, len(X))
    centered = design.centered(weights)
    means = np.average(X[order], axis=0, weights=weights)
    assert_allclose(centered.mean, np.tile(means[:, None], N_STEPS), rtol=1e-13)
    # Only the column without zeros is shifted; the other values are the very same numbers.
    assert_array_equal(np.flatnonzero(centered.shift), [1])
    for i in (0, 2, 3, 5):
        own = slice(design.segments[i, 0], design.segments[i, -1])
        assert_array_equal(centered.values[own], design.values[own])
    assert not design.mean.any(), "centering returns a new design"


def test_a_share_of_each_steps_own_mean_can_be_taken_off(rng):
    """A step without rows takes the mean of the step before it, or after it at the start."""
    X, _ = matrix(rng)
    codes = np.sort(rng.choice([1, 2, 4], len(X)))
    weights, share = rng.uniform(0.5, 2, len(X)), rng.uniform(size=6)
    design = ColumnDesign.from_matrix(X, codes, 6)[0]
    found = design.centered(weights, share)
    overall = np.average(X, axis=0, weights=weights)
    expected = {}
    for t in (1, 2, 4):
        rows = codes == t
        step = np.average(X[rows], axis=0, weights=weights[rows])
        expected[t] = share[t] * step + (1 - share[t]) * overall
    for t, like in enumerate((1, 1, 2, 2, 4, 4)):
        assert_allclose(found.mean[:, t], expected[like], rtol=1e-12, atol=1e-14)
    beta, variance = rng.normal(size=(2, X.shape[1], 6))
    deviations = X - found.mean.T[codes]
    assert_allclose(found.eta(beta), (deviations * beta.T[codes]).sum(axis=1), atol=1e-12)
    expected = (deviations**2 * (variance**2).T[codes]).sum(axis=1)
    moments = np.zeros((2, len(X)))
    found.add_moments_inplace(np.arange(X.shape[1]), beta, variance**2, moments)
    assert_allclose(moments[0], found.eta(beta), rtol=1e-9, atol=1e-12)
    assert_allclose(moments[1], expected, rtol=1e-9, atol=1e-12)
    squares = np.zeros((X.shape[1], 6))
    np.add.at(squares.T, codes, weights[:, None] * deviations**2)
    assert_allclose(found.squares(weights), squares, rtol=1e-9, atol=1e-12)
    score = rng.normal(size=len(X))
    gradient = np.zeros((X.shape[1], 6))
    np.add.at(gradient.T, codes, score[:, None] * deviations)
    assert_allclose(found.gradient(score), gradient, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("how", ["one moved", "far", "turned round", "csr", "float32"])
@pytest.mark.parametrize("seed", range(6))
def test_centred_columns_do_not_depend_on_where_zero_is(how, seed):
    rng = np.random.default_rng(seed)
    codes = np.sort(rng.integers(0, N_STEPS, 12))
    X = np.column_stack([rng.random(12) < share for share in (0.2, 0.5, 0.55, 0.8)])
    X = np.column_stack([X, rng.integers(-1, 3, (12, 3))]).astype(np.float64)
    weights, share = rng.uniform(0.5, 2, 12), rng.uniform(size=N_STEPS)
    sign = -1.0 if how == "turned round" else 1.0
    other = sign * X + {"far": 1e9, "turned round": 1.0}.get(how, 1.0)
    other = sp.csr_array(other) if how == "csr" else other
    other = other.astype(np.float32) if how == "float32" else other
    beta = rng.normal(size=(X.shape[1], N_STEPS))
    one = ColumnDesign.from_matrix(X, codes, N_STEPS)[0].centered(weights, share)
    two = ColumnDesign.from_matrix(other, codes, N_STEPS)[0].centered(weights, share)
    assert_allclose(two.eta(sign * beta), one.eta(beta), atol=3e-6 if how == "far" else 1e-13)


@pytest.mark.parametrize("stored", ["dense", "csr"])
def test_how_much_columns_move_does_not_depend_on_where_zero_is(stored, rng):
    codes = np.sort(rng.integers(0, N_STEPS, 60))
    X = np.column_stack([rng.normal(size=60) + 2.0 * codes, rng.normal(size=60), np.ones(60)])
    weights = rng.uniform(0.5, 2, 60)
    found = [
        ColumnDesign.from_matrix(as_stored(X + far, stored), codes, N_STEPS)[0].movement(weights)
        for far in (0.0, 10.0, 1e6, 1e9)
    ]
    assert found[0][0] > 10 * found[0][1]
    for other in found[1:]:
        assert_allclose(other, found[0], rtol=1e-6)


def test_nothing_is_left_where_a_whole_step_has_the_usual_value():
    codes = np.array([0, 0, 0, 1, 1, 2, 2])
    X = np.array([[3.0, 3.0, 3.0, 3.0, 8.0, 8.0, 8.0], [0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0]]).T
    X = np.column_stack([X, 5.0 - X[:, 0]])
    design = ColumnDesign.from_matrix(X, codes, 3)[0]
    value, throughout = design.usual(np.ones(7))
    assert_array_equal(value[[0, 2]], [3.0, 2.0])
    assert_array_equal(throughout, [[True, False, False], [False] * 3, [True, False, False]])
    heavier = np.where(codes == 2, 3.0, 1.0)
    assert_array_equal(design.usual(heavier)[0][[0, 2]], [8.0, -3.0])
    assert_array_equal(design.usual(heavier)[1][0], [False, False, True])
    half = np.array([1.0, 1.0, 1.0, 0.3, 0.3, 1.0, 2.0])
    assert not design.usual(half)[1].any(), "neither value has more than half"
    assert_array_equal(
        design.centered(np.ones(7)).center[0] + design.centered(np.ones(7)).shift[0],
        [3.0, 36 / 7, 36 / 7],
    )


@pytest.mark.parametrize("mean", [1e4, 3e6, 1e9])
def test_a_column_far_from_zero_keeps_its_digits(mean, rng):
    deviation = rng.normal(size=(50, 1))
    codes = np.sort(rng.integers(0, N_STEPS, 50))
    weights = np.ones(50)
    near, far = (
        ColumnDesign.from_matrix(deviation + offset, codes, N_STEPS)[0].centered(weights)
        for offset in (5.0, mean)
    )
    # x - mean is exact to 1e-16 * mean; sums of squares about the mean, formed from raw sums,
    # would be wrong in the first digit at 1e9.
    assert_allclose(far.squares(weights), near.squares(weights), rtol=1e-15 * mean * 20)
    score = rng.normal(size=50)
    assert_allclose(far.gradient(score), near.gradient(score), rtol=1e-5, atol=1e-15 * mean * 50)


@pytest.mark.parametrize("value", [0.1, -7.3, 1e9, 1e-9])
def test_a_constant_column_has_no_squares_once_centered(value, rng):
    X = np.column_stack([np.full(30, value), rng.normal(size=30)])
    codes = np.sort(rng.integers(0, N_STEPS, 30))
    for stored in (X, sp.csr_array(X)):
        design, _ = ColumnDesign.from_matrix(stored, codes, N_STEPS)
        squares = design.centered(rng.uniform(0.1, 3, 30)).squares(np.ones(30))
        assert not squares[0].any()
        assert squares[1].any()


def test_units_are_the_value_of_indicators_and_the_deviation_of_others(rng):
    codes = np.sort(rng.integers(0, N_STEPS, 60))
    indicator = 3.0 * (rng.random(60) < 0.3)
    number = 5.0 + 2.0 * rng.normal(size=60)
    X = np.column_stack([indicator, -indicator, number, np.zeros(60)])
    design, order = ColumnDesign.from_matrix(X, codes, N_STEPS)
    weights = rng.uniform(0.5, 2, 60)
    mean = np.average(number[order], weights=weights)
    deviation = np.sqrt(np.average((number[order] - mean) ** 2, weights=weights))
    expected = [3.0, 3.0, deviation, 1.0]
    assert_allclose(design.units(weights), expected, rtol=1e-12)
    assert_allclose(design.centered(weights).units(weights), expected, rtol=1e-12)
