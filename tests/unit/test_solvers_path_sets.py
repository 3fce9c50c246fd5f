"""Averages over sets of paths, against a sum over every set there is."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from driftglm.solvers.path_sets import (
    Coordinates,
    _change_inplace,
    sweep_sets_inplace,
    weigh_inplace,
)

VARIANCES = np.array([0.05, 0.5])
ZERO, MOVING = 0, 3
N_ROWS = 60


@pytest.fixture(scope="module")
def paths():
    """Four columns of which the first is about the sum of two others; the last may move as well.

    The first explains y, and so do the other two together.
    """
    rng = np.random.default_rng(3)
    columns = rng.normal(size=(N_ROWS, 5))
    columns[:, 0] = columns[:, 1] + columns[:, 2] + 0.3 * columns[:, 0]
    y = 0.3 * columns[:, 0] + rng.normal(size=N_ROWS)
    log_prior = np.log(np.tile([0.6, 0.2, 0.1, 0.1], (4, 1)))
    log_prior[:3, MOVING] = -np.inf
    starts, moving = np.array([0, 1, 2, 3, 5]), np.array([1.0, 1.0, 1.0, 0.02, 0.3])
    return Coordinates(columns.T @ columns, columns.T @ y, starts, VARIANCES, moving, log_prior)


def variances_of(paths, options):
    """(Q,) of the coordinates of a set, zero where they are not used."""
    out = np.zeros(paths.linear.size)
    for i, option in enumerate(options):
        mine = slice(paths.starts[i], paths.starts[i + 1])
        if option == MOVING:
            out[mine] = paths.moving[mine]
        elif option:
            out[mine.start] = VARIANCES[option - 1]
    return out


def exact(paths):
    """Probabilities of options, and means of coordinates, by enumeration with dense algebra."""
    m, size = len(paths.log_prior), paths.linear.size
    logs, sets, means = [], [], []
    for options in itertools.product(range(4), repeat=m):
        prior = sum(paths.log_prior[i, k] for i, k in enumerate(options))
        if not np.isfinite(prior):
            continue
        covariance = np.diag(variances_of(paths, options))
        both = np.eye(size) + covariance @ paths.gram
        mean = np.linalg.solve(both, covariance @ paths.linear)
        logs.append(prior + 0.5 * (paths.linear @ mean - np.linalg.slogdet(both)[1]))
        sets.append(options)
        means.append(mean)
    weight = np.exp(np.array(logs) - max(logs))
    weight /= weight.sum()
    sets = np.array(sets)
    phi = np.array([[weight[sets[:, i] == k].sum() for k in range(4)] for i in range(m)])
    return phi, weight @ np.array(means)


def test_averages_are_those_of_all_sets(paths):
    phi, mean = exact(paths)
    assert 0.2 < phi[0, ZERO] < 0.8  # which of them it is cannot be told
    found, level = paths.averaged(np.zeros(4, dtype=np.int64))
    assert_allclose(found, phi, atol=0.05)
    assert_allclose(level, mean, atol=0.03)
    far = np.array([0, 2, 2, MOVING])
    assert_allclose(paths.averaged(far)[0], found, atol=0.06)


def test_long_walk_comes_as_close_as_one_likes(paths):
    phi, mean = exact(paths)
    sums, n_sweeps = (np.zeros(phi.shape), np.zeros(mean.size)), 20_000
    uniform = np.random.default_rng(1).random((n_sweeps, 4))
    sweep_sets_inplace(paths.data, np.zeros(4, dtype=np.int64), uniform, sums)
    assert_allclose(sums[0] / n_sweeps, phi, atol=0.01)
    assert_allclose(sums[1] / n_sweeps, mean, atol=0.005)


def test_nothing_depends_on_the_order_of_the_paths(paths):
    found, level = paths.averaged(np.zeros(4, dtype=np.int64))
    turned, back = paths.take(np.array([3, 2, 1, 0])).averaged(np.zeros(4, dtype=np.int64))
    assert_allclose(turned[::-1], found, rtol=1e-9)
    assert_allclose(back[[4, 3, 2, 0, 1]], level, rtol=1e-9)


def test_path_is_sure_if_nothing_else_can_stand_for_it(paths):
    assert not paths.settled(9.0, 0.0).any()
    # Much more is known of the second by itself, and it has an effect.
    gram, effect = paths.gram + np.diag([0.0, 2000.0, 0.0, 0.0, 0.0]), np.eye(5)[1]
    rest = paths.starts, paths.variances, paths.moving, paths.log_prior
    strong = Coordinates(gram, gram @ effect, *rest)
    assert_allclose(strong.settled(9.0, 0.0), [False, True, False, False])


def test_path_is_settled_if_others_have_next_to_no_part_in_it(paths):
    gram = paths.gram.copy()
    third = np.arange(5) == paths.starts[2]
    gram[third[:, None] != third] *= 1e-3
    rest = paths.starts, paths.variances, paths.moving, paths.log_prior
    apart = Coordinates(gram, np.zeros(5), *rest)
    assert_allclose(apart.settled(9.0, 0.05), [False, False, True, False])


def test_probabilities_of_one_path_are_those_of_its_evidences():
    known, score = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([2.0, -1.0])
    moving, log_prior = np.array([0.5, 0.2]), np.log([0.4, 0.3, 0.2, 0.1])
    phi, mean = np.empty(4), np.empty(2)
    weigh_inplace((known, score, VARIANCES, moving), log_prior, phi, mean)
    priors = [np.zeros((2, 2)), *(np.diag([s, 0.0]) for s in VARIANCES), np.diag(moving)]
    both = [np.eye(2) + prior @ known for prior in priors]
    means = [np.linalg.solve(b, prior @ score) for b, prior in zip(both, priors, strict=True)]
    size = [np.linalg.slogdet(b)[1] for b in both]
    log = log_prior + [0.5 * (m @ score - s) for m, s in zip(means, size, strict=True)]
    expected = np.exp(log) / np.exp(log).sum()
    assert_allclose(phi, expected, rtol=1e-12)
    assert_allclose(mean, expected @ np.array(means), rtol=1e-12)


def test_after_many_changes_the_state_is_that_of_the_coordinates_in_use(paths):
    rng, size = np.random.default_rng(5), paths.linear.size
    state, now = np.zeros((size + 1, size + 1)), np.zeros(size)
    state[:size, :size], state[size, :size] = paths.gram, paths.linear
    for _ in range(300):
        one, wanted = rng.integers(size), rng.choice([0.0, 1e-4, 0.2, 3.0])
        _change_inplace(state, one, (now[one], wanted), np.empty(size + 1))
        now[one] = wanted
        used = now > 0
        covariance = np.linalg.inv(paths.gram[np.ix_(used, used)] + np.diag(1.0 / now[used]))
        whole = np.tril(state) + np.tril(state, -1).T
        assert_allclose(whole[:size, :size][np.ix_(used, used)], -covariance, rtol=1e-8)
        taken = covariance @ paths.gram[np.ix_(used, ~used)]
        left = paths.gram[np.ix_(~used, ~used)] - paths.gram[np.ix_(~used, used)] @ taken
        assert_allclose(whole[:size, :size][np.ix_(~used, ~used)], left, rtol=1e-8, atol=1e-9)
        mean = covariance @ paths.linear[used]
        assert_allclose(whole[size, :size][used], mean, rtol=1e-8, atol=1e-12)
        score = paths.linear[~used] - paths.gram[np.ix_(~used, used)] @ mean
        assert_allclose(whole[size, :size][~used], score, rtol=1e-8, atol=1e-9)
