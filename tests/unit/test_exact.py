"""The exact prior against an independent integral, and what follows from its definition."""

from functools import cache

import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from driftglm.exceptions import DataError
from driftglm.priors import Exact, PathPrior, PathStats, Variational
from driftglm.priors import exact as module

BOUNDARIES = pytest.mark.parametrize("boundary", ["pinned", "stationary"])
FIELDS = ("log_density", "omega", "omega_alpha", "omega_end", "mean_alpha", "mean_rho")


@mp.workdps(25)
def integral(paths, tau, boundary):
    """The definition itself, in alpha, at 25 digits, for paths (m, T) that share lambda and alpha.

    The precision times lambda has `inside` on the diagonal, `corner` at its ends, `beside` next
    to it; the three sums of squares and products below are what multiplies each in Q.
    """
    m, n = paths.shape
    exactly = [[mp.mpf(float(x)) for x in path] for path in paths]
    at_corners = mp.fsum(b[t] ** 2 for b in exactly for t in {0, n - 1})
    at_inside = mp.fsum(b[t] ** 2 for b in exactly for t in range(1, n - 1))
    at_beside = 2 * mp.fsum(b[t] * b[t + 1] for b in exactly for t in range(n - 1))
    half, c, tau = mp.mpf(m * n) / 2, mp.mpf(1) / 2 - mp.mpf("1e-5"), mp.mpf(tau)

    @cache
    def at(alpha):
        rho = -2 * alpha / (1 + mp.sqrt(1 - 4 * alpha**2))
        inside, beside, corner, log_det = mp.mpf(1), alpha, mp.mpf(1), mp.mpf(0)
        if boundary == "pinned" or n == 1:
            # Determinants of the leading blocks: D_t = D_{t-1} - alpha^2 D_{t-2}.
            last, before = mp.mpf(1), mp.mpf(1)
            for _ in range(n - 1):
                last, before = last - alpha**2 * before, last
            log_det = mp.log(last)
        else:
            # The inverse of rho^|s - t| times 1 - rho^2: Jeffreys' prior ignores the factor.
            inside, beside, log_det = 1 + rho**2, -rho, mp.log(1 - rho**2)
        q = corner * at_corners + inside * at_inside + beside * at_beside
        log_weight = -tau * (alpha + c) + m * log_det / 2 - half * mp.log(q / 2)
        return log_weight, inside / q, beside / q, (corner - inside) / q, alpha, rho

    # Nodes crowd towards -C, where the integrands of smooth paths live.
    points = [-c] + [-c + mp.mpf(10) ** -k for k in (5, 4, 3, 2)] + [-0.35, -0.1, 0]
    # mpmath stops at an absolute error, so the integrand must be of size 1.
    top = max(at(point)[0] for point in points)
    total = mp.quad(lambda a: mp.exp(at(a)[0] - top), points)
    means = [
        mp.quad(lambda a, j=j: mp.exp(at(a)[0] - top) * at(a)[j], points) / total
        for j in range(1, 6)
    ]
    normalizer = c if tau == 0 else (1 - mp.exp(-tau * c)) / tau
    log_density = top + mp.log(total / normalizer) + mp.loggamma(half) - half * mp.log(2 * mp.pi)
    numbers = [log_density, *(2 * half * x for x in means[:3]), *means[3:]]
    return dict(zip(FIELDS, map(float, numbers), strict=True))


def half_sine(n):
    return np.sin(np.pi * np.arange(1, n + 1) / (n + 1))


HARD = {
    "constant-T10": np.ones((1, 10)),
    "half-sine-T50": half_sine(50)[None],
    "alternating-T12": (-1.0) ** np.arange(12)[None],
    "one-step-T6": np.eye(6)[2:3],
    "two-steps": np.array([[0.3, -1.2]]),
    "one-timestep": np.array([[-0.4]]),
    # More coefficients than common nodes serve: these paths get nodes of their own.
    "eight-tied-constant-T10": np.ones((8, 10)),
    "five-tied-half-sine-T15": np.outer([1.0, -2.0, 0.5, 3.0, 1.0], half_sine(15)),
    "three-tied": np.array([[1.0, 1.1, 0.9, 1.2], [-2.0, -2.1, -1.9, -2.3], [0.1, 0.3, 0.2, 0.0]]),
}


@BOUNDARIES
@pytest.mark.parametrize(
    ("name", "rate"), [*((name, 1.0) for name in HARD), ("constant-T10", -20.0), ("two-steps", 0.0)]
)
def test_evaluation_matches_the_integral_at_25_digits(name, rate, boundary):
    paths = HARD[name]
    m, n = paths.shape
    stats = PathStats.of(paths).summed(np.zeros(m, dtype=np.int64))
    penalty = Exact(rate=rate, boundary=boundary).evaluate(stats, n, m)
    for field, expected in integral(paths, rate, boundary).items():
        # Required is 1e-9; 1e-11 is seen. omega_end is exactly 0 when pinned.
        assert_allclose(getattr(penalty, field), expected, rtol=1e-10, atol=1e-14, err_msg=field)


@BOUNDARIES
def test_kernel_without_the_compiler(boundary, rng):
    stats = PathStats.of(np.cumsum(rng.normal(size=(3, 5)), axis=1))
    relative, setting = (stats.R / stats.S, stats.E / stats.S), ((5, 1), 1.0, boundary != "pinned")
    jitted = module._integrate(relative, setting, module._legendre())
    plain = module._integrate.py_func(relative, setting, module._legendre())
    assert_allclose(plain, jitted, rtol=1e-12)
    table = module._common_nodes(setting)
    assert_allclose(module._integrate_at.py_func(relative, table, 2.5), jitted, rtol=1e-12)
    for i in range(3):
        problem = (relative[0][i], relative[1][i])
        ends = module._panels.py_func(problem, setting)
        assert_allclose(ends, module._panels(problem, setting), rtol=1e-12)
        assert (np.diff(ends) > 0).all()
        value = module._log_integrand.py_func(0.1, problem, setting)
        assert_allclose(value, module._log_integrand(0.1, problem, setting), rtol=1e-12)
        ratio = module._quadratic.py_func(0.7, problem, setting[2])
        assert_allclose(ratio, module._quadratic(0.7, problem, setting[2]), rtol=1e-14)


@BOUNDARIES
@pytest.mark.parametrize("tau", [-100.0, 0.0, 100.0])
@pytest.mark.parametrize("shape", [(1, 1), (2, 32), (16, 4), (64, 1)])
def test_common_nodes_are_as_good_as_nodes_of_a_paths_own(shape, tau, boundary, rng):
    """The most coefficients, hence the narrowest integrands, that one set of nodes must serve."""
    n, m = shape
    assert n * m in (1, module.SHORT)
    noise, stationary = rng.normal(size=(20, n)), boundary == "stationary" and n > 1
    smooth = [np.ones((1, n)), half_sine(n)[None], half_sine(n) + 0.01 * noise]
    stats = PathStats.of(np.vstack([noise, np.cumsum(noise, axis=1), *smooth]))
    relative = (stats.R / stats.S, stats.E / stats.S)
    setting = shape, tau, stationary
    own = module._integrate(relative, setting, module._legendre())
    common = module._integrate_at(relative, module._common_nodes(setting), 0.5 * n * m)
    # 1e-11 is seen; the specification is 1e-9.
    assert_allclose(common, own, rtol=2e-10, atol=2e-10)


@BOUNDARIES
@pytest.mark.parametrize("n_timesteps", [1, 2, 8, 60])
@pytest.mark.parametrize("n_tied", [1, 7])
def test_the_quadratic_at_the_path_itself_is_the_number_of_coefficients(
    n_timesteps, n_tied, boundary, rng
):
    paths = np.cumsum(rng.normal(size=(20 * n_tied, n_timesteps)), axis=1)
    stats = PathStats.of(paths).summed(np.repeat(np.arange(20), n_tied))
    p = Exact(rate=2.0, boundary=boundary).evaluate(stats, n_timesteps, n_tied)
    quadratic = p.omega * stats.S + 2 * p.omega_alpha * stats.R + p.omega_end * stats.E
    assert_allclose(quadratic, n_timesteps * n_tied, rtol=1e-11)


def gradient(penalty, paths):
    """-(precision matrix of the bound) times the path."""
    inside, beside, end = penalty.omega, penalty.omega_alpha, penalty.omega_end
    out = inside[:, None] * paths
    out[:, 1:] += beside[:, None] * paths[:, :-1]
    out[:, :-1] += beside[:, None] * paths[:, 1:]
    out[:, 0] += end * paths[:, 0]
    out[:, -1] += end * paths[:, -1]
    return -out


@BOUNDARIES
@pytest.mark.parametrize("n_timesteps", [2, 3, 9])
def test_gradient_matches_finite_differences(n_timesteps, boundary, rng):
    paths = 1.0 + np.cumsum(rng.normal(size=(1, n_timesteps)), axis=1)
    prior = Exact(rate=1.0, boundary=boundary)
    penalty = prior.evaluate(PathStats.of(paths), n_timesteps)
    step = 1e-3
    # Five-point rule: an error of step^4 f^(5)/30, about 1e-12, and 1e-15/step from rounding.
    shifts = np.array([-2, -1, 1, 2]) * step
    weights = np.array([1, -8, 8, -1]) / (12 * step)
    differences = [
        weights @ prior.log_density(paths + shifts[:, None] * np.eye(n_timesteps)[t])
        for t in range(n_timesteps)
    ]
    assert_allclose(gradient(penalty, paths)[0], differences, rtol=1e-8, atol=1e-8)


@BOUNDARIES
@pytest.mark.parametrize("c", [-3.0, 1e-100, 1e80])
def test_scaling_paths_shifts_the_log_density(c, boundary, rng):
    paths = np.cumsum(rng.normal(size=(10, 6)), axis=1)
    prior = Exact(rate=0.3, boundary=boundary)
    expected = prior.log_density(paths) - 6 * np.log(abs(c))
    assert_allclose(prior.log_density(c * paths), expected, rtol=1e-12)


def test_one_timestep_is_one_over_the_coefficient():
    beta = np.array([[-3.0], [0.01], [1e5]])
    for boundary in ("pinned", "stationary"):
        prior = Exact(rate=7.0, boundary=boundary)
        assert_allclose(prior.log_density(beta), -np.log(np.abs(beta[:, 0])), atol=1e-13)


PRIORS = {
    "pinned": Exact(rate=1.0),
    "stationary": Exact(rate=1.0, boundary="stationary"),
    "pinned-negative-rate": Exact(rate=-20.0),
    "paper": Variational(rate=1.0, bound="paper"),
    "elbo": Variational(rate=1.0, bound="elbo"),
}


@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize("n_timesteps", [1, 4, 15])
def test_the_quadratic_bound_holds_between_any_two_paths(name, n_timesteps, rng):
    """Majorise-minimise rests on it: log m(b) >= log m(a) - (quad_a(b) - quad_a(a)) / 2."""
    steps = rng.normal(size=(2, 300, n_timesteps)) * np.exp(rng.normal(size=(2, 300, 1)))
    # Walks against noise: pairs far from each other in S, in R/S and in E/S.
    a, b = np.cumsum(steps[0], axis=1), steps[1] + rng.normal(size=(300, 1))
    at_a, at_b = (PRIORS[name].evaluate(PathStats.of(x), n_timesteps) for x in (a, b))
    stats = PathStats.of(b)
    moved = at_a.omega * stats.S + 2 * at_a.omega_alpha * stats.R + at_a.omega_end * stats.E
    gap = at_b.log_density - (at_a.log_density - (moved - n_timesteps) / 2)
    assert (gap >= -1e-10 * (1 + np.abs(moved))).all()
    # Not trivially: the bound is tight to first order, so near pairs leave next to nothing.
    near = a * (1 + 1e-4 * rng.normal(size=a.shape))
    stats, at_near = PathStats.of(near), PRIORS[name].evaluate(PathStats.of(near), n_timesteps)
    moved = at_a.omega * stats.S + 2 * at_a.omega_alpha * stats.R + at_a.omega_end * stats.E
    gap = at_near.log_density - (at_a.log_density - (moved - n_timesteps) / 2)
    assert (gap >= -1e-10 * (1 + np.abs(moved))).all()
    assert np.median(gap) < 1e-6


def test_zero_paths():
    paths = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    density = Exact().log_density(paths)
    omega, omega_alpha, mean_alpha = Exact().expectations(paths)
    assert density[0] == np.inf
    assert omega[0] == np.inf
    assert omega_alpha[0] == -np.inf
    assert np.isnan(mean_alpha[0])
    assert np.isfinite([density[1], omega[1], omega_alpha[1], mean_alpha[1]]).all()
    assert_array_equal(Exact().log_density(np.zeros((2, 1))), np.inf)


@BOUNDARIES
def test_tied_paths_in_groups_of_unequal_sizes(boundary, rng):
    paths = np.cumsum(rng.normal(size=(6, 4)), axis=1)
    paths[5] = 0.0
    labels = np.array(["b", "a", "b", "c", "b", "zero"])
    prior = Exact(rate=1.0, boundary=boundary)
    found = prior.log_density(paths, groups=labels)
    assert found.shape == (4,)
    # Labels come out sorted: a, b, c, zero.
    alone = prior.log_density(paths)
    assert_allclose(found[[0, 2]], alone[[1, 3]], rtol=1e-13)
    expected = integral(paths[[0, 2, 4]], 1.0, boundary)
    assert_allclose(found[1], expected["log_density"], rtol=1e-11)
    assert found[3] == np.inf
    means = prior.expectations(paths, groups=labels)
    for mean, field in zip(means, ("omega", "omega_alpha", "mean_alpha"), strict=True):
        assert_allclose(mean[1], expected[field], rtol=1e-11)


def test_a_zero_path_in_a_group_counts_as_a_path():
    path, nothing = np.array([[1.0, 2.0]]), np.zeros((1, 2))
    found = Exact().log_density(np.vstack([path, nothing]), groups=np.array([0, 0]))
    expected = integral(np.vstack([path, nothing]), 1.0, "pinned")["log_density"]
    assert_allclose(found, expected, rtol=1e-11)


def test_stationary_boundary_needs_the_two_ends():
    """Both paths have S = 5 and R = 2, but only one of them starts large."""
    paths = np.array([[2.0, 1.0, 0.0, 0.0], [1.0, 2.0, 0.0, 0.0]])
    pinned = Exact(rate=1.0).log_density(paths)
    stationary = Exact(rate=1.0, boundary="stationary").log_density(paths)
    assert_allclose(pinned, [-5.169, -5.169], atol=5e-4)
    assert_allclose(stationary, [-4.999, -5.299], atol=5e-4)


def test_unknown_boundary_is_refused():
    with pytest.raises(DataError, match=r"boundary='free' is not known; choose 'pinned'"):
        Exact(boundary="free")


def test_it_is_a_sparse_path_prior():
    assert isinstance(Exact(), PathPrior)
    assert Exact().sparse


def mixture(nodes, paths):
    """Log of the sum of exp(weight) Q^(-T/2) over the nodes."""
    stats = PathStats.of(paths)
    q = np.column_stack([stats.S, stats.R, stats.E]) @ nodes[:, :3].T
    return logsumexp(nodes[:, 3] - paths.shape[1] / 2 * np.log(q), axis=1)


@BOUNDARIES
@pytest.mark.parametrize("n_timesteps", [1, 2, 8, 30])
def test_search_nodes_stand_in_for_the_integral(n_timesteps, boundary, rng):
    noise = rng.normal(size=(40, n_timesteps))
    paths = np.vstack([noise, np.cumsum(noise, axis=1), 1 + 0.1 * noise])
    prior = Exact(rate=1.0, boundary=boundary)
    gap = mixture(prior.search_nodes(n_timesteps), paths) - prior.log_density(paths)
    # Up to one constant; 0.12 nats are seen, and differences of whole nats decide a search.
    assert np.ptp(gap) < 0.25
    assert_array_equal(
        Variational(rate=1.0).search_nodes(n_timesteps), Exact(rate=1.0).search_nodes(n_timesteps)
    )
