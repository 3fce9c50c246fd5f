"""The fixed Gaussian chain against the dense multivariate normal."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

from driftglm.exceptions import DataError
from driftglm.priors import Fixed, PathPrior, PathStats

BOUNDARIES = pytest.mark.parametrize("boundary", ["pinned", "stationary"])


def covariance(n, scale, rho, boundary):
    if boundary == "stationary":
        steps = np.arange(n)
        return scale * rho ** np.abs(steps[:, None] - steps)
    alpha = -rho / (1 + rho**2)
    return scale * np.linalg.inv(np.eye(n) + alpha * (np.eye(n, k=1) + np.eye(n, k=-1)))


@BOUNDARIES
@pytest.mark.parametrize("n_timesteps", [1, 2, 7])
@pytest.mark.parametrize(("scale", "rho"), [(1.0, 0.9), (0.04, 0.5), (30.0, 0.0)])
def test_log_density_is_the_multivariate_normal(n_timesteps, scale, rho, boundary, rng):
    paths = np.sqrt(scale) * rng.normal(size=(5, n_timesteps))
    prior = Fixed(scale=scale, autocorrelation=rho, boundary=boundary)
    normal = multivariate_normal(cov=covariance(n_timesteps, scale, rho, boundary))
    found = prior.evaluate(PathStats.of(paths), n_timesteps).log_density
    # Condition numbers stay below 1e3.
    assert_allclose(found, np.atleast_1d(normal.logpdf(paths)), rtol=1e-11, atol=1e-12)


@BOUNDARIES
@pytest.mark.parametrize("n_timesteps", [1, 2, 7])
def test_entries_are_those_of_the_precision_matrix(n_timesteps, boundary):
    prior = Fixed(scale=0.5, autocorrelation=0.8, boundary=boundary)
    precision = np.linalg.inv(covariance(n_timesteps, 0.5, 0.8, boundary))
    inside, beside, end = prior.precision(n_timesteps)
    found = inside * np.eye(n_timesteps)
    found += beside * (np.eye(n_timesteps, k=1) + np.eye(n_timesteps, k=-1))
    # At T = 1 both ends are the one step; the correction is 0 there.
    found[0, 0] += end
    found[-1, -1] += end
    assert_allclose(found, precision, rtol=1e-12, atol=1e-12)


@BOUNDARIES
def test_tied_paths_are_independent_given_the_constants(boundary, rng):
    paths = rng.normal(size=(6, 4))
    prior, stats = Fixed(autocorrelation=0.6, boundary=boundary), PathStats.of(paths)
    alone = prior.evaluate(stats, 4).log_density
    tied = prior.evaluate(stats.summed(np.array([0, 0, 0, 1, 1, 1])), 4, n_tied=3).log_density
    assert_allclose(tied, [alone[:3].sum(), alone[3:].sum()], rtol=1e-13)


def test_penalty_reports_the_same_constants_for_every_path(rng):
    penalty = Fixed(scale=2.0, autocorrelation=0.5).evaluate(
        PathStats.of(rng.normal(size=(3, 4))), 4
    )
    for field, value in (
        ("omega", 0.5),
        ("omega_alpha", -0.2),
        ("omega_end", 0.0),
        ("mean_alpha", -0.4),
        ("mean_rho", 0.5),
    ):
        assert_allclose(getattr(penalty, field), np.full(3, value), rtol=1e-15, err_msg=field)


def test_without_autocorrelation_every_step_is_a_ridge_of_its_own():
    for boundary in ("pinned", "stationary"):
        prior = Fixed(scale=0.25, autocorrelation=0.0, boundary=boundary)
        assert_array_equal(prior.precision(6), (4.0, 0.0, 0.0))


def test_it_is_a_path_prior_that_never_drops_a_path():
    prior = Fixed()
    assert isinstance(prior, PathPrior)
    assert not prior.sparse
    assert prior.search_nodes(5) is None
    assert np.isfinite(prior.evaluate(PathStats.of(np.zeros((1, 3))), 3).log_density).all()


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, np.inf])
def test_bad_scale_is_refused(scale):
    with pytest.raises(DataError, match=r"scale=.*pass a positive variance"):
        Fixed(scale=scale)


@pytest.mark.parametrize("rho", [1.0, -0.1, np.nan])
def test_bad_autocorrelation_is_refused(rho):
    with pytest.raises(DataError, match=r"autocorrelation=.*pass a number in \[0, 1\)"):
        Fixed(autocorrelation=rho)


def test_unknown_boundary_is_refused():
    with pytest.raises(DataError, match="boundary='periodic' is not known"):
        Fixed(boundary="periodic")
