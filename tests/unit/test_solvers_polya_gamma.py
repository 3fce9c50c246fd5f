"""Polya-Gamma draws against their moments, their Laplace transform and another program."""

import numpy as np
import pytest

from driftglm.solvers.polya_gamma import draw_inplace

N = 100_000


def drawn(b, c, n=N, seed=0):
    out = np.empty(n)
    draw_inplace(np.full(n, b), np.full(n, c), np.random.default_rng(seed), out)
    return out


@pytest.mark.parametrize("b", [1.0, 3.0, 0.5, 2.7, 40.0])
@pytest.mark.parametrize("c", [0.0, 0.4, -2.5, 12.0])
def test_mean_and_laplace_transform(b, c):
    """E exp(-s w) = (cosh(c / 2) / cosh(sqrt(c^2 / 2 + s) / sqrt 2))^b, up to 4.5 errors."""
    draws = drawn(b, c, N if b in {1.0, 3.0} else 20_000)
    size = abs(c)
    mean = b / 4 if size == 0 else b / (2 * size) * np.tanh(size / 2)
    assert abs(draws.mean() - mean) < 4.5 * draws.std() / np.sqrt(draws.size)
    for s in (0.5, 3.0):
        expected = (np.cosh(c / 2) / np.cosh(np.sqrt(c**2 / 4 + s / 2))) ** b
        values = np.exp(-s * draws)
        assert abs(values.mean() - expected) < 4.5 * values.std() / np.sqrt(draws.size)


@pytest.mark.parametrize(("b", "c"), [(1.0, 0.0), (1.0, 3.0), (2.0, -1.0), (0.5, 0.0)])
def test_the_distribution_is_that_of_another_program(b, c):
    polyagamma = pytest.importorskip("polyagamma")
    from scipy.stats import ks_2samp

    other = polyagamma.random_polyagamma(b, c, size=N // 4, random_state=1)
    assert ks_2samp(drawn(b, c, N // 4, seed=2), other).pvalue > 1e-3
