"""The joint posterior of paths, against the same numbers from dense matrices."""

import numpy as np
import pytest

from driftglm.solvers.joint import JointData, JointSolve, PathKernels
from driftglm.solvers.joint_paths import PathInformation, PathSolve


def by_paths(data, kernels):
    """The solve with as many unknowns as coefficients."""
    return PathSolve.of(PathInformation.of(data), kernels)


WAYS = pytest.mark.parametrize("solve", [JointSolve.of, by_paths])


def small(rows_of_steps=(2, 0, 3, 1, 4, 1), m=3, seed=0):
    """Three paths of different kinds over six steps, one of them empty."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rows_of_steps)])
    columns = rng.normal(size=(m, offsets[-1]))
    columns[1] = 0.9 * columns[0] + 0.1 * columns[1]
    variance = rng.uniform(0.5, 2.0, offsets[-1])
    data = JointData(columns, rng.normal(size=offsets[-1]), variance, offsets)
    kernels = PathKernels(
        np.array([2.0, 0.0, 0.7]),
        np.array([[0.0, 0.0], [0.5, 0.3], [0.0, 1.1]]),
        np.array([0, 0.9]),
    )
    return data, kernels


def stacked(data, kernels, n_more=0):
    """Mean (m, T) and covariance (m, T, m, T) of all coefficients stacked."""
    m, n_steps = len(data.columns), data.n_steps + n_more
    lag = np.abs(np.subtract.outer(np.arange(n_steps), np.arange(n_steps)))
    prior = np.zeros((m, n_steps, m, n_steps))
    for i in range(m):
        prior[i, :, i] = kernels.by_lag(n_steps)[i][lag]
    prior = prior.reshape(m * n_steps, -1)
    design = np.zeros((data.y.size, m, n_steps))
    design[np.arange(data.y.size), :, data.codes] = data.columns.T
    design = design.reshape(data.y.size, -1)
    gain = prior @ design.T @ np.linalg.inv(design @ prior @ design.T + np.diag(data.variance))
    covariance = prior - gain @ design @ prior
    return (gain @ data.y).reshape(m, -1), covariance.reshape(m, n_steps, m, n_steps)


@WAYS
def test_means_and_covariances_are_those_of_the_stacked_coefficients(solve):
    data, kernels = small()
    solved = solve(data, kernels)
    mean, covariance = stacked(data, kernels)
    np.testing.assert_allclose(solved.means(), mean, atol=1e-10)
    found, _ = solved.covariances(between=True)
    np.testing.assert_allclose(found, np.einsum("itjt->tij", covariance), atol=1e-10)
    alone, _ = solved.covariances(between=False)
    np.testing.assert_allclose(alone, np.einsum("tii->ti", found), atol=1e-12)


@WAYS
@pytest.mark.parametrize("n_ahead", [1, 3])
def test_forecasts_are_those_of_longer_paths(n_ahead, solve):
    data, kernels = small()
    sums, gram = solve(data, kernels).ahead()
    mean, covariance = stacked(data, kernels, n_ahead)
    terms = kernels.terms(n_ahead)
    np.testing.assert_allclose((terms * sums).sum(axis=1), mean[:, -1], atol=1e-10)
    m, count = terms.shape
    taken = np.einsum("ip,ipjq,jq->ij", terms, gram.reshape(m, count, m, count), terms)
    np.testing.assert_allclose(
        np.diag(kernels.variance) - taken, covariance[:, -1, :, -1], atol=1e-10
    )


@WAYS
def test_one_path_by_itself_has_the_curvature_of_its_rows(solve):
    data, kernels = small()
    alone = JointData(data.columns[2:], data.y, data.variance, data.step_offsets)
    solved = solve(alone, PathKernels(np.array([0.7]), np.array([[0.0, 1.1]]), kernels.rho))
    variance, own = solved.covariances(between=False)
    h, b = solved.local(variance.T, own)
    np.testing.assert_allclose(h[0], alone.by_step(alone.columns**2 / alone.variance)[0])
    np.testing.assert_allclose(b[0], alone.by_step(alone.columns * alone.y / alone.variance)[0])
    np.testing.assert_allclose(solved.common_precision(), h.sum(axis=1))


@WAYS
def test_a_neighbour_that_looks_alike_leaves_less_known_of_the_mean(solve):
    data, kernels = small()
    found = solve(data, kernels).common_precision()
    # By the definition: z'A^-1 z with A the covariance of y without the path.
    for i in range(3):
        others = np.arange(3) != i
        rest = PathKernels(kernels.static[others], kernels.dynamic[others], kernels.rho)
        without = JointData(data.columns[others], data.y, data.variance, data.step_offsets)
        z = data.columns[i]
        assert found[i] == pytest.approx(z @ JointSolve.of(without, rest).inverse @ z)
    assert found[0] < 0.7 * (data.columns[0] ** 2 / data.variance).sum()


def test_what_is_known_of_the_mean_under_a_flat_prior_keeps_its_digits():
    """Taking the prior off again would leave none of them: it is that of an intercept."""
    data, kernels = small()
    static = np.append(kernels.static[:2], 1e8)
    flat = PathKernels(static, kernels.dynamic, kernels.rho)
    found = JointSolve.of(data, flat).common_precision()[2]
    rest = PathKernels(kernels.static[:2], kernels.dynamic[:2], kernels.rho)
    without = JointData(data.columns[:2], data.y, data.variance, data.step_offsets)
    z = data.columns[2]
    assert found == pytest.approx(z @ JointSolve.of(without, rest).inverse @ z, rel=1e-9)


def test_parts_of_the_rows_give_the_same(monkeypatch):
    data, kernels = small()
    whole = JointSolve.of(data, kernels).covariances(between=True)
    monkeypatch.setattr("driftglm.solvers.joint.AT_ONCE", 3 * 6 * 8)
    parts = JointSolve.of(data, kernels).covariances(between=True)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-13)


@pytest.mark.parametrize("seed", range(3))
def test_both_solves_say_the_same_of_a_path_with_the_others_integrated_out(seed):
    """Static paths too, whose covariance has no inverse, and one that is zero for certain."""
    data, kernels = small((4, 0, 9, 5, 7, 3), m=4, seed=seed)
    static = np.array([2.0, 0.0, 0.7, 0.0])
    dynamic = np.vstack([kernels.dynamic, [0.0, 0.0]])
    kernels = PathKernels(static, dynamic, kernels.rho)
    found = []
    for solve in (JointSolve.of, by_paths):
        solved = solve(data, kernels)
        variance, own = solved.covariances(between=False)
        found.append((variance, own, solved.common_precision(), *solved.ahead()))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


def test_by_paths_a_step_says_what_its_rows_say_with_the_other_paths_integrated_out():
    """The diagonal of Z_i' S^-1 Z_i, S the covariance of y without the path."""
    data, kernels = small((4, 0, 9, 5, 7, 3))
    solved = by_paths(data, kernels)
    h, b = solved.local(*solved.covariances(between=False))
    for i in range(3):
        others = np.arange(3) != i
        rest = PathKernels(kernels.static[others], kernels.dynamic[others], kernels.rho)
        without = JointData(data.columns[others], data.y, data.variance, data.step_offsets)
        inverse = JointSolve.of(without, rest).inverse
        z = np.zeros((6, data.y.size))
        z[data.codes, np.arange(data.y.size)] = data.columns[i]
        precision = z @ inverse @ z.T
        np.testing.assert_allclose(h[i], np.diag(precision), rtol=1e-8, atol=1e-10)
        # Given the other steps' means, b is what is left of the whole linear term.
        off = precision - np.diag(np.diag(precision))
        expected = z @ inverse @ data.y - off @ solved.means()[i]
        np.testing.assert_allclose(b[i], expected, rtol=1e-7, atol=1e-9)
