"""The parameters of the learned prior, and the components it makes of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from driftglm import DriftRegressor
from driftglm.exceptions import DataError
from driftglm.priors import Learned

N_STEPS = 8


# ----------------------------------------------------------------------------------- the prior


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"shares": ()}, "shares"),
        ({"shares": (0.5, 1.5)}, "shares"),
        ({"shares": (np.nan,)}, "shares"),
        ({"shares": "ab"}, "shares"),
        ({"correlations": (-0.1,)}, "correlations"),
        ({"correlations": (0.5, 1.0)}, r"rho < 1"),
        ({"correlations": 0.5}, "correlations"),
        ({"n_scales": 0}, "n_scales=0"),
        ({"n_scales": 2.5}, r"n_scales=2\.5"),
        ({"zero_weight": 0.0}, r"zero_weight=0\.0"),
        ({"zero_weight": 1.0}, r"zero_weight=1\.0"),
        ({"boundary": "open"}, "boundary"),
    ],
)
def test_arguments_that_make_no_prior_are_refused(arguments, message):
    with pytest.raises(DataError, match=message):
        Learned(**arguments)


@pytest.mark.parametrize(
    "weights", [(1.0, 2.0), (np.nan,) * 10, (-1.0,) + (1.0,) * 9, (0.0,) * 10, (np.inf,) * 10]
)
def test_weights_that_do_not_fit_the_grid_are_refused(weights):
    with pytest.raises(DataError, match="needs 10 weights"):
        Learned(weights=weights).start_weights(10)


def test_zero_comes_first_and_components_of_a_chain_side_by_side():
    components = Learned().components(2.0, 400.0, 8)
    assert_array_equal(np.flatnonzero(components.is_zero), [0])
    chains = components.tables()[0]
    assert (np.diff(chains) >= 0).all()
    assert (components.static + components.dynamic).max() <= 2 * 2.0 * (1 + 1e-12)


def test_no_component_is_so_small_that_it_cannot_be_told_from_zero():
    """Variance times curvature: 1 in all for a constant component, 1 a step for one that drifts."""
    n_rows, n_steps, largest = 400.0, 8, 2.0
    components = Learned().components(largest, n_rows, n_steps)
    total = (
        (components.static + components.dynamic)[1:] * n_rows / largest
    )  # v * sum of h at noise = var(y)
    assert total[components.is_static[1:]].min() >= 1.0 - 1e-9
    assert total[~components.is_static[1:]].min() >= n_steps * (1.0 - 1e-6)


@pytest.mark.parametrize("rows_per_step", [1, 2, 5])
def test_components_that_drift_remain_however_few_rows_a_step_has(rows_per_step):
    components = Learned().components(1.0, 20.0 * rows_per_step, 20)
    assert (~components.is_static).sum() > 10


def test_at_one_step_only_scales_are_left():
    components = Learned(shares=(0.0, 0.5)).components(1.0, 100.0, 1)
    assert components.is_static.all()
    assert components.count == 13


def test_start_weights_give_zero_its_share():
    weights = Learned(zero_weight=0.7).start_weights(4)
    assert_allclose(weights, [0.7, 0.1, 0.1, 0.1], rtol=1e-12)
    assert_allclose(Learned(weights=(1, 1, 2)).start_weights(3), [0.25, 0.25, 0.5], rtol=1e-12)


def test_fixed_weights_are_used_as_given(rows):
    count = Learned(n_scales=3).components(1.0, rows.y.size, N_STEPS).count
    weights = np.arange(1.0, count + 1)
    prior = Learned(n_scales=3, weights=tuple(weights))
    model = DriftRegressor(prior=prior).fit(rows.X, rows.y, time=rows.time)
    assert_allclose(np.exp(model._fits[0].log_pi[0]), weights / weights.sum(), rtol=1e-12)
    # All but the first weight on zero: nothing but strong evidence is believed.
    sceptic = np.full(count, 1e-12)
    sceptic[0] = 1.0
    prior = Learned(n_scales=3, weights=tuple(sceptic))
    other = DriftRegressor(prior=prior).fit(rows.X, rows.y, time=rows.time)
    assert (other.inclusion_probability_ <= model.inclusion_probability_ + 1e-9).all()
    assert (other.inclusion_probability_[[0, 5]] < 1e-9).all()


def test_the_pinned_boundary_works_and_pulls_the_ends_to_zero():
    rng = np.random.default_rng(0)
    time = np.repeat(np.arange(6), 15)
    X = rng.normal(size=(90, 2))
    y = 1.0 * X[:, 0] + 0.7 * rng.normal(size=90)
    paths = {}
    for boundary in ("stationary", "pinned"):
        prior = Learned(boundary=boundary, shares=(0.0,), correlations=(0.9,))
        model = DriftRegressor(prior=prior, fit_intercept=False).fit(X, y, time=time)
        history = model.objective_history_
        assert (np.diff(history) >= -1e-9 * np.abs(history).max()).all()
        paths[boundary] = model.coef_path_[:, 0] / model.coef_path_[2:4, 0].mean()
    assert paths["pinned"][-1] < paths["stationary"][-1]
    assert paths["pinned"][0] < paths["stationary"][0]
