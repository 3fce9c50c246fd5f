"""The learned prior as a user meets it: the default of DriftRegressor."""

import copy
import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.exceptions import NotFittedError

from driftglm import DriftRegressor
from driftglm.exceptions import ConvergenceWarning, DataError, DataWarning, TimeError
from driftglm.fitting.fits import PosteriorFit
from driftglm.priors import Learned
from driftglm.simulate import simulate_panel

N_STEPS = 8
KINDS = ["zero", "static", "drifting", "sign-flip", "static", "zero"]
COLUMNS = [
    "feature",
    "inclusion_probability",
    "kind",
    "coef_first",
    "coef_last",
    "coef_next",
    "lower",
    "upper",
    "change",
    "autocorrelation",
]


class Rows:
    """Features of every kind; the truth is `paths` (T, 6)."""

    def __init__(self, seed=0, rows_per_step=60, n_steps=N_STEPS):
        rng = np.random.default_rng(seed)
        self.time = rng.permutation(np.repeat(2000 + np.arange(n_steps), rows_per_step))
        codes = self.time - 2000
        self.X = rng.normal(size=(codes.size, 6))
        steps = np.arange(n_steps)
        self.paths = np.zeros((n_steps, 6))
        self.paths[:, 1] = 1.0
        self.paths[:, 2] = 1.0 + 0.5 * np.sin(steps)
        self.paths[:, 3] = np.linspace(-1.0, 1.0, n_steps)
        self.paths[:, 4] = -0.3
        self.intercept = 2.0 + 0.3 * np.cos(steps)
        self.y = (self.X * self.paths[codes]).sum(axis=1) + self.intercept[codes]
        self.y += 0.3 * rng.normal(size=codes.size)


@pytest.fixture(scope="module")
def rows():
    return Rows()


@pytest.fixture(scope="module")
def fitted(rows):
    return DriftRegressor().fit(rows.X, rows.y, time=rows.time)


@pytest.fixture(scope="module")
def panel():
    return simulate_panel(
        n_timesteps=10, rows_per_step=60, n_features=30, n_active=5, random_state=1
    )


# ----------------------------------------------------------------------------------- the default


def test_the_learned_prior_is_the_default(fitted):
    assert DriftRegressor().prior == "learned"
    assert isinstance(fitted._fits[0], PosteriorFit)
    assert fitted.extrapolate_ == "forecast"
    assert fitted.converged_


def test_a_name_and_an_object_are_the_same_prior(fitted, rows):
    other = DriftRegressor(prior=Learned()).fit(rows.X, rows.y, time=rows.time)
    assert_array_equal(other.coef_path_, fitted.coef_path_)


def test_shapes_and_ranges_are_those_promised(fitted, rows):
    T, p = N_STEPS, rows.X.shape[1]  # noqa: N806
    assert fitted.coef_path_.shape == fitted.coef_std_path_.shape == (T, p)
    assert fitted.coef_.shape == fitted.inclusion_probability_.shape == (p,)
    assert fitted.autocorrelation_.shape == (p,)
    assert fitted.intercept_path_.shape == fitted.timesteps_.shape == (T,)
    assert isinstance(fitted.intercept_, float)
    assert (fitted.coef_std_path_ >= 0).all()
    assert ((fitted.inclusion_probability_ >= 0) & (fitted.inclusion_probability_ <= 1)).all()
    assert fitted.n_iter_ == fitted.objective_history_.size


def test_the_truth_is_found(fitted, rows):
    # 60 rows a step and noise .3: a standard error of .04 for a coefficient that is free to move
    assert_allclose(fitted.coef_path_, rows.paths, atol=5 * 0.04)
    assert_allclose(fitted.intercept_path_, rows.intercept, atol=5 * 0.04)
    assert_allclose(fitted.noise_variance_, 0.09, rtol=0.15)


def test_lbfgs_is_refused_with_the_reason(rows):
    with pytest.raises(DataError, match=r"solver='lbfgs'.*learned.*solver='block'"):
        DriftRegressor(solver="lbfgs").fit(rows.X, rows.y, time=rows.time)


def test_too_few_passes_are_a_warning_and_the_state_returned_is_the_one_recorded(rows):
    for max_iter in (1, 5, 10):
        model = DriftRegressor(max_iter=max_iter, tol=1e-12)
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            model.fit(rows.X, rows.y, time=rows.time)
        assert model.n_iter_ == max_iter
        assert not model.converged_
        assert np.isfinite(model.coef_path_).all()


def test_the_best_of_several_starts_is_kept():
    rng = np.random.default_rng(1)
    time = np.repeat(np.arange(4), 12)
    X = rng.normal(size=(48, 60)) + 1.5 * rng.normal(size=(48, 1))
    y = X[:, :8].sum(axis=1) + 0.5 * rng.normal(size=48)
    kinds = ["zero", "lasso-all", "ridge-all"]
    prior = Learned(n_directions=0)
    single = [DriftRegressor(prior=prior, init=kind).fit(X, y, time=time) for kind in kinds]
    values = [model.objective_history_[-1] for model in single]
    assert max(values) > values[0] + 1e-3, "the starts must differ, or the test says little"
    best = DriftRegressor(prior=prior, n_starts=3).fit(X, y, time=time)
    assert best.objective_history_[-1] == max(values)
    assert_array_equal(best.coef_path_, single[int(np.argmax(values))].coef_path_)


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


# ------------------------------------------------------------------------------------- intervals


def test_intervals_have_the_promised_shapes(fitted, rows):
    assert fitted.coef_interval().shape == (2, N_STEPS, 6)
    assert fitted.predict_interval(rows.X).shape == (rows.y.size, 2)
    assert fitted.predict_interval(rows.X[:3], time=[2000, 2007, 2030]).shape == (3, 2)


def test_intervals_are_nested_in_their_level(fitted, rows):
    levels = (0.2, 0.5, 0.9, 0.99)
    for inner, outer in itertools.pairwise(levels):
        small, large = fitted.coef_interval(inner), fitted.coef_interval(outer)
        assert (large[0] <= small[0]).all()
        assert (large[1] >= small[1]).all()
        small = fitted.predict_interval(rows.X, level=inner)
        large = fitted.predict_interval(rows.X, level=outer)
        assert (large[:, 0] < small[:, 0]).all()
        assert (large[:, 1] > small[:, 1]).all()


def test_a_coefficients_interval_is_mean_and_deviations(fitted):
    lower, upper = fitted.coef_interval(0.8)
    assert_allclose((lower + upper) / 2, fitted.coef_path_, atol=1e-12)
    assert_allclose(upper - lower, 2 * norm.ppf(0.9) * fitted.coef_std_path_, rtol=1e-9)


@pytest.mark.parametrize("step", [0, 4, N_STEPS - 1, N_STEPS + 2])
def test_a_prediction_interval_adds_up_coefficients_level_and_noise(step, fitted, rows):
    X, time = rows.X[:20] * 3, np.full(20, 2000 + step)
    interval = fitted.predict_interval(X, time=time, level=0.9)
    assert_allclose(interval.mean(axis=1), fitted.predict(X, time=time), rtol=1e-9, atol=1e-12)
    at = fitted._fits[0].at(step)
    centered = X - at.center
    variance = centered**2 @ at.coef_variance + at.intercept_variance + fitted.noise_variance_
    assert_allclose(np.ptp(interval, axis=1), 2 * norm.ppf(0.95) * np.sqrt(variance), rtol=1e-9)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, 1.5, 90, np.nan])
def test_a_level_that_is_no_probability_is_refused(level, fitted, rows):
    with pytest.raises(DataError, match="level="):
        fitted.coef_interval(level)
    with pytest.raises(DataError, match="level="):
        fitted.predict_interval(rows.X, level=level)


def test_sparse_rows_have_the_same_intervals(fitted, rows):
    expected = fitted.predict_interval(rows.X)
    assert_allclose(fitted.predict_interval(sp.csr_array(rows.X)), expected, rtol=1e-9)


def test_intervals_of_a_mode_do_not_exist(rows):
    model = DriftRegressor(prior="exact").fit(rows.X, rows.y, time=rows.time)
    with pytest.raises(DataError, match="no intervals"):
        model.predict_interval(rows.X)
    with pytest.raises(AttributeError, match="no standard deviations"):
        model.coef_interval()


def test_intervals_cover_what_they_should():
    """Pooled over 20 panels drawn from the model; a 90 % interval, standard error about 1 %."""
    coef, intercept, new = [], [], []
    for seed in range(20):
        data = simulate_panel(
            n_timesteps=6, rows_per_step=100, n_features=12, n_active=4, random_state=seed
        )
        model = DriftRegressor().fit(data.X, data.y, time=data.time)
        lower, upper = model.coef_interval(0.9)
        active = data.coef_path.any(axis=0)
        truth = data.coef_path[:-1, active]
        coef.append((lower[:, active] <= truth) & (truth <= upper[:, active]))
        lower, upper = model.predict_interval(data.X_next).T
        new.append((lower <= data.y_next) & (data.y_next <= upper))
        fit = model._fits[0]
        truth = data.intercept_path[:-1] + (data.coef_path[:-1] * fit.columns.center).sum(axis=1)
        error = fit.intercepts.mean[0] + fit.columns.target_center - truth
        intercept.append(np.abs(error) <= norm.ppf(0.95) * np.sqrt(fit.intercepts.variance[0]))
    assert 0.80 <= np.mean(coef) <= 0.95
    assert 0.82 <= np.mean(intercept) <= 0.96
    assert 0.85 <= np.mean(new) <= 0.95


# ------------------------------------------------------------------------------------- forecasts


def kernel_matrix(static, dynamic, rho, n):
    steps = np.arange(n)
    chain = dynamic * rho ** np.abs(steps[:, None] - steps) if dynamic > 0 else np.zeros((n, n))
    return static + chain


def dense_forecast(fit, i, n_steps):
    """Mean and variance of path i after the last step: its posterior, extended by empty steps."""
    h = np.concatenate([fit.h[i], np.zeros(n_steps)])
    b = np.concatenate([fit.b[i], np.zeros(n_steps)])
    components, mean, square = fit.components, 0.0, 0.0
    for k in range(components.count):
        K = kernel_matrix(components.static[k], components.dynamic[k], components.rho[k], h.size)  # noqa: N806
        V = np.linalg.solve(np.eye(h.size) + K * h, K)  # noqa: N806
        m = V @ b
        mean += fit.phi[i, k] * m[-1]
        square += fit.phi[i, k] * (V[-1, -1] + m[-1] ** 2)
    return mean / fit.unit[i], (square - mean**2) / fit.unit[i] ** 2


@pytest.mark.parametrize("n_steps", [1, 2, 7])
def test_forecasts_are_the_posterior_extended_by_empty_steps(n_steps, fitted):
    fit = fitted._fits[0]
    ahead = fit.ahead(n_steps)
    for i in range(6):
        mean, variance = dense_forecast(fit, i, n_steps)
        assert_allclose(ahead.coef[i], mean, rtol=1e-8, atol=1e-12)
        assert_allclose(ahead.coef_variance[i], variance, rtol=1e-8, atol=1e-14)


@pytest.mark.parametrize("prior", [Learned(), Learned(shares=(0.5, 1.0), correlations=(0.7,))])
def test_forecasting_is_fitting_with_empty_steps_at_the_end(prior, rows):
    n_more = 4
    later = 2000 + N_STEPS + np.arange(n_more)
    X = np.vstack([rows.X, np.ones((n_more, 6))])
    weights = np.concatenate([np.ones(rows.y.size), np.zeros(n_more)])
    short = DriftRegressor(prior=prior, always_in=[2]).fit(rows.X, rows.y, time=rows.time)
    long = DriftRegressor(prior=prior, always_in=[2]).fit(
        X,
        np.concatenate([rows.y, np.zeros(n_more)]),
        time=np.concatenate([rows.time, later]),
        sample_weight=weights,
    )
    assert long.coef_path_.shape[0] == N_STEPS + n_more
    # Steps without rows change nothing but rounding in the fit itself.
    assert_array_equal(long._fits[0].components.dynamic, short._fits[0].components.dynamic)
    assert_allclose(long.coef_path_[:N_STEPS], short.coef_path_, rtol=1e-8, atol=1e-9)
    for n in range(1, n_more + 1):
        ahead = short._fits[0].ahead(n)
        assert_allclose(ahead.coef, long.coef_path_[N_STEPS - 1 + n], rtol=1e-6, atol=1e-7)
        std = long.coef_std_path_[N_STEPS - 1 + n]
        assert_allclose(np.sqrt(ahead.coef_variance), std, rtol=1e-5, atol=1e-6)
        # The intercept's forecast starts from the end of the fit, its path from its last update; and
        # it weighs the intercept at one fixed point against that at the steps' own centers.
        own = short._fits[0].intercepts.averaged_ahead(n, None)
        assert_allclose(own[0], long._fits[0].intercepts.mean[:, N_STEPS - 1 + n], rtol=1e-4)
        assert_allclose(own[1], long._fits[0].intercepts.variance[:, N_STEPS - 1 + n], rtol=1e-3)


def test_forecasts_shrink_to_the_static_part_and_grow_uncertain(fitted):
    horizons = [1, 2, 3, 5, 10, 30]
    fit = fitted._fits[0]
    limit = fit.ahead(2000)
    steps = [fit.at(N_STEPS - 1), *(fit.ahead(n) for n in horizons)]
    drifting = [2, 3]
    away = np.abs([step.coef[drifting] - limit.coef[drifting] for step in steps])
    assert (np.diff(away, axis=0) <= 1e-12).all()
    assert (away[-1] < 0.2 * away[0]).all()
    variances = np.array([step.coef_variance for step in steps])
    assert (np.diff(variances, axis=0) >= -1e-12).all()
    assert (variances[-1, drifting] > 10 * variances[0, drifting]).all()
    assert (np.diff([step.intercept_variance for step in steps]) >= -1e-12).all()
    # The path around zero loses everything, the one around 1 keeps part of its static share.
    assert abs(limit.coef[3]) < 0.1
    assert limit.coef[2] > 0.3
    assert_allclose(limit.coef[1], fitted.coef_path_[-1, 1], rtol=1e-3)


def test_predict_uses_the_step_of_every_row(fitted, rows):
    for label, step in [(2000, 0), (2007, 7), (2008, 8), (2011, 11)]:
        at = fitted._fits[0].at(step)
        expected = rows.X @ at.coef + at.intercept
        time = np.full(rows.y.size, label)
        assert_allclose(fitted.predict(rows.X, time=time), expected, rtol=1e-10)


def test_predict_without_time_is_the_next_step(fitted, rows):
    ahead = fitted._fits[0].ahead(1)
    assert_array_equal(fitted.coef_, ahead.coef)
    assert fitted.intercept_ == ahead.intercept
    next_step = np.full(rows.y.size, 2000 + N_STEPS)
    assert_allclose(fitted.predict(rows.X), fitted.predict(rows.X, time=next_step), rtol=1e-12)


def test_holding_keeps_the_last_step_for_ever(rows, fitted):
    held = DriftRegressor(extrapolate="hold").fit(rows.X, rows.y, time=rows.time)
    assert held.extrapolate_ == "hold"
    assert_array_equal(held.coef_path_, fitted.coef_path_)
    assert_array_equal(held.coef_, held.coef_path_[-1])
    assert_allclose(held.intercept_, held.intercept_path_[-1], rtol=1e-12)
    far = held.predict(rows.X, time=np.full(rows.y.size, 2050))
    assert_allclose(held.predict(rows.X), far, rtol=1e-12)
    assert np.abs(held.coef_ - fitted.coef_).max() > 0.01
    forecast = np.ptp(fitted.predict_interval(rows.X), axis=1)
    # The step to come is no more certain for being predicted with the last one's coefficients.
    assert (np.ptp(held.predict_interval(rows.X), axis=1) >= forecast - 1e-12).all()


@pytest.mark.parametrize(("world", "expected"), [("reverting", "forecast"), ("switch", "hold")])
def test_validation_chooses_what_predicts_better(world, expected):
    rng = np.random.default_rng(3)
    time = np.repeat(np.arange(9), 60)
    X = rng.normal(size=(time.size, 4))
    if world == "reverting":
        paths = 1.0 + 0.8 * rng.normal(size=(9, 4))
    else:  # a jump at step 4, then nothing moves: reverting to the mean would be wrong
        paths = np.where(np.arange(9)[:, None] < 4, -1.0, 1.0) * np.ones(4)
    y = (X * paths[time]).sum(axis=1) + 0.3 * rng.normal(size=time.size)
    model = DriftRegressor(extrapolate="validate").fit(X, y, time=time)
    assert model.extrapolate_ == expected
    other = DriftRegressor(extrapolate=expected).fit(X, y, time=time)
    assert_array_equal(model.coef_, other.coef_)
    assert model.intercept_ == other.intercept_


# --------------------------------------------------------------------------------------- summary


def test_summary_has_the_promised_columns_and_one_row_a_feature(fitted):
    table = fitted.summary()
    assert list(table.columns) == COLUMNS
    assert sorted(table["feature"]) == [f"x{i}" for i in range(6)]
    assert_array_equal(table.index, range(6))


def test_summary_tells_the_kinds_apart(fitted):
    kind = fitted.summary().set_index("feature")["kind"]
    assert [kind[f"x{i}"] for i in range(6)] == KINDS


def test_summary_says_what_the_attributes_say(fitted):
    table = fitted.summary().set_index("feature").loc[[f"x{i}" for i in range(6)]]
    ahead = fitted._fits[0].ahead(1)
    reach = norm.ppf(0.95) * np.sqrt(ahead.coef_variance)
    path = fitted.coef_path_
    assert_allclose(table["inclusion_probability"], fitted.inclusion_probability_, rtol=1e-12)
    assert_allclose(table["coef_first"], path[0], rtol=1e-12)
    assert_allclose(table["coef_last"], path[-1], rtol=1e-12)
    assert_allclose(table["coef_next"], fitted.coef_, rtol=1e-12)
    assert_allclose(table["lower"], fitted.coef_ - reach, rtol=1e-9)
    assert_allclose(table["upper"], fitted.coef_ + reach, rtol=1e-9)
    assert_allclose(table["change"], path[-1] - path[0], atol=1e-12)
    assert_allclose(table["autocorrelation"], fitted.autocorrelation_, rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_summary_is_sorted_by_the_size_of_what_a_feature_contributes(
    weighted, sparse, intercept, rows
):
    """RMS of x * beta over the training rows, x as the user gave it."""
    X = rows.X * [1.0, 0.01, 1.0, 2.0, 30.0, 1.0] + [0.0, 5.0, 0.0, 0.0, 0.0, 0.0]
    weights = np.random.default_rng(1).uniform(0.2, 3.0, rows.y.size) if weighted else None
    model = DriftRegressor(fit_intercept=intercept, always_in=[2], static=[1])
    model.fit(sp.csr_array(X) if sparse else X, rows.y, time=rows.time, sample_weight=weights)
    contribution = X * model.coef_path_[rows.time - 2000]
    expected = np.sqrt(np.average(contribution**2, axis=0, weights=weights))
    assert_allclose(model._fits[0].importance, expected, rtol=1e-8, atol=1e-10)
    order = [f"x{i}" for i in np.argsort(-expected, kind="stable")]
    assert list(model.summary()["feature"]) == order


def test_summary_takes_names_from_the_frame_or_the_argument(rows, fitted):
    names = ["a", "b", "c", "d", "e", "f"]
    model = DriftRegressor().fit(pd.DataFrame(rows.X, columns=names), rows.y, time=rows.time)
    assert sorted(model.summary()["feature"]) == names
    assert sorted(fitted.summary(feature_names=names)["feature"]) == names
    assert sorted(model.summary(feature_names=list("uvwxyz"))["feature"]) == list("uvwxyz")


@pytest.mark.parametrize("names", [["a"], list("abcdefg"), []])
def test_summary_refuses_names_that_do_not_fit(names, fitted):
    with pytest.raises(DataError, match=rf"{len(names)} names .* 6 features"):
        fitted.summary(feature_names=names)


def test_summary_of_one_step_calls_what_is_in_static(rows):
    model = DriftRegressor().fit(rows.X, rows.y)
    kind = model.summary().set_index("feature")["kind"]
    assert set(kind) <= {"zero", "static"}
    assert kind["x1"] == "static"


def test_a_drift_that_stays_on_one_side_is_no_sign_flip(rows):
    """The same path, moved above zero and mirrored below it."""
    codes = rows.time - 2000
    for sign in (1.0, -1.0):
        lifted = rows.y + 2.0 * sign * rows.X[:, 3]
        model = DriftRegressor().fit(rows.X, lifted, time=rows.time)
        kind = model.summary().set_index("feature")["kind"]
        assert kind["x3"] == "drifting"
        assert_allclose(model.coef_path_[:, 3], rows.paths[:, 3] + 2.0 * sign, atol=0.2)
    flipped = rows.y - 2 * (rows.X[:, 3] * rows.paths[codes, 3])
    model = DriftRegressor().fit(rows.X, flipped, time=rows.time)
    assert model.summary().set_index("feature")["kind"]["x3"] == "sign-flip"


# ---------------------------------------------------------------------------------------- update


def split(data, n_new):
    return data.time < data.time.max() + 1 - n_new


@pytest.mark.parametrize("n_new", [1, 2])
@pytest.mark.parametrize("seed", [0, 1, 3])
def test_an_update_is_as_good_as_a_cold_fit_in_a_third_of_the_passes(n_new, seed):
    data = simulate_panel(random_state=seed)
    old = split(data, n_new)
    cold = DriftRegressor().fit(data.X, data.y, time=data.time)
    model = DriftRegressor(keep_data=True).fit(data.X[old], data.y[old], time=data.time[old])
    model.update(data.X[~old], data.y[~old], time=data.time[~old])
    reached, wanted = model.objective_history_[-1], cold.objective_history_[-1]
    assert reached >= wanted - 1e-6 * abs(wanted)
    assert model.n_iter_ <= cold.n_iter_ / 3
    assert model.converged_
    history = model.objective_history_
    assert (np.diff(history) >= -1e-9 * np.abs(history).max()).all()
    size = np.abs(cold.coef_path_).max()
    assert_allclose(model.coef_path_, cold.coef_path_, atol=0.01 * size)
    assert_allclose(model.coef_std_path_, cold.coef_std_path_, atol=0.01 * size)
    assert_allclose(model.noise_variance_, cold.noise_variance_, rtol=1e-3)
    assert_array_equal(model.timesteps_, cold.timesteps_)


def test_updates_one_by_one_reach_the_same_end(panel):
    cold = DriftRegressor().fit(panel.X, panel.y, time=panel.time)
    first = split(panel, 3)
    model = DriftRegressor(keep_data=True).fit(
        panel.X[first], panel.y[first], time=panel.time[first]
    )
    for step in (7, 8, 9):
        new = panel.time == step
        model.update(panel.X[new], panel.y[new], time=panel.time[new])
        assert model.timesteps_[-1] == step
    wanted = cold.objective_history_[-1]
    assert model.objective_history_[-1] >= wanted - 1e-6 * abs(wanted)
    assert model.predict(panel.X_next).shape == panel.y_next.shape


def test_update_needs_the_data_and_says_so(fitted, rows):
    with pytest.raises(DataError, match="keep_data=True"):
        fitted.update(rows.X, rows.y, time=np.full(rows.y.size, 2008))
    with pytest.raises(NotFittedError):
        DriftRegressor(keep_data=True).update(rows.X, rows.y, time=rows.time)


@pytest.mark.parametrize("label", [2000, 2007])
def test_update_refuses_steps_the_model_has_seen(label, rows):
    model = DriftRegressor(keep_data=True).fit(rows.X, rows.y, time=rows.time)
    before = model.coef_path_.copy()
    with pytest.raises(TimeError, match="later steps only"):
        model.update(rows.X[:2], rows.y[:2], time=[2008, label])
    with pytest.raises(TimeError, match="before the first step"):
        model.update(rows.X[:1], rows.y[:1], time=[1999])
    assert_array_equal(model.coef_path_, before)
    assert_array_equal(model.timesteps_, 2000 + np.arange(N_STEPS))


def test_a_model_without_time_cannot_be_updated(rows):
    model = DriftRegressor(keep_data=True).fit(rows.X, rows.y)
    with pytest.raises(TimeError):
        model.update(rows.X, rows.y, time=rows.time)


@pytest.mark.parametrize("kind", ["integers", "periods", "dates", "categories"])
def test_updates_extend_every_kind_of_axis(kind, rows):
    codes = rows.time - 2000
    names = np.array([f"step {c}" for c in range(N_STEPS)])
    labels, freq = {
        "integers": (pd.Series(rows.time), None),
        "periods": (pd.Series(pd.PeriodIndex([f"{t}Q1" for t in rows.time], freq="Q")), "Y"),
        "dates": (pd.Series(pd.to_datetime([f"{t}-06-30" for t in rows.time])), "Y"),
        "categories": (
            pd.Series(pd.Categorical(names[codes], categories=list(names), ordered=True)),
            None,
        ),
    }[kind]
    old = codes < 6
    model = DriftRegressor(keep_data=True, freq=freq)
    model.fit(rows.X[old], rows.y[old], time=labels[old])
    assert len(model.timesteps_) == 6
    model.update(rows.X[~old], rows.y[~old], time=labels[~old])
    cold = DriftRegressor(freq=freq).fit(rows.X, rows.y, time=labels)
    assert list(model.timesteps_) == list(cold.timesteps_)
    assert len(model.timesteps_) == N_STEPS
    assert_allclose(model.coef_path_, cold.coef_path_, atol=0.02)
    assert_allclose(model.predict(rows.X, time=labels), cold.predict(rows.X, time=labels), atol=0.1)


def test_an_update_may_leave_steps_empty(rows):
    old = rows.time < 2006
    model = DriftRegressor(keep_data=True).fit(rows.X[old], rows.y[old], time=rows.time[old])
    new = rows.time == 2007
    model.update(rows.X[new], rows.y[new], time=rows.time[new])
    assert_array_equal(model.timesteps_, 2000 + np.arange(N_STEPS))
    keep = old | new
    cold = DriftRegressor().fit(rows.X[keep], rows.y[keep], time=rows.time[keep])
    assert_allclose(model.coef_path_, cold.coef_path_, atol=0.02)


def test_an_update_of_a_single_step_starts_to_drift(rows):
    first = rows.time == 2000
    model = DriftRegressor(keep_data=True).fit(rows.X[first], rows.y[first], time=rows.time[first])
    model.update(rows.X[~first], rows.y[~first], time=rows.time[~first])
    # So much is new that the earlier fit is a poor start: the bound may end a few nats below a
    # cold fit's, the paths within noise of it.
    cold = DriftRegressor().fit(rows.X, rows.y, time=rows.time)
    assert_allclose(model.coef_path_, cold.coef_path_, atol=0.1)
    assert np.ptp(model.coef_path_[:, 3]) > 1.0


@pytest.mark.parametrize("stores", [("csr", "csr"), ("csr", "dense"), ("dense", "csr")])
def test_updates_take_sparse_rows_and_weights(stores, rows):
    store = {"csr": sp.csr_array, "dense": np.asarray}
    weights = np.random.default_rng(2).uniform(0.5, 2.0, rows.y.size)
    weights[::17] = 0.0
    old = rows.time < 2007
    X_old, X_new = store[stores[0]](rows.X[old]), store[stores[1]](rows.X[~old])
    options = {"always_in": [1], "static": [4], "keep_data": True}
    model = DriftRegressor(**options)
    model.fit(X_old, rows.y[old], time=rows.time[old], sample_weight=weights[old])
    model.update(X_new, rows.y[~old], time=rows.time[~old], sample_weight=weights[~old])
    cold = DriftRegressor(**options).fit(rows.X, rows.y, time=rows.time, sample_weight=weights)
    wanted = cold.objective_history_[-1]
    assert model.objective_history_[-1] >= wanted - 1e-6 * abs(wanted)
    assert_allclose(model.coef_path_, cold.coef_path_, atol=0.02)
    assert_allclose(model.intercept_path_, cold.intercept_path_, atol=0.02)
    assert model.inclusion_probability_[1] == 1.0
    assert np.ptp(model.coef_path_[:, 4]) < 1e-9


def test_an_update_keeps_a_given_noise_and_given_weights(rows):
    count = Learned(n_scales=3).components(1.0, 480, N_STEPS).count
    prior = Learned(n_scales=3, weights=(1.0,) * count)
    old = rows.time < 2007
    model = DriftRegressor(keep_data=True, noise=0.2, prior=prior)
    model.fit(rows.X[old], rows.y[old], time=rows.time[old])
    model.update(rows.X[~old], rows.y[~old], time=rows.time[~old])
    assert model.noise_variance_ == 0.2
    assert_allclose(np.exp(model._fits[0].log_pi), 1 / count, rtol=1e-12)


def test_an_update_with_other_columns_is_refused(rows):
    model = DriftRegressor(keep_data=True).fit(rows.X, rows.y, time=rows.time)
    with pytest.raises(ValueError, match="features"):
        model.update(rows.X[:, :3], rows.y, time=np.full(rows.y.size, 2008))


def test_a_refused_update_changes_nothing(rows):
    model = DriftRegressor(keep_data=True).fit(rows.X, rows.y, time=rows.time)
    before = pickle.dumps(model)
    later = np.full(3, 2008)
    for y, weights in [
        ([1.0, np.nan, 2.0], None),
        ([1.0, 2.0, 3.0], [1.0, -1.0, 1.0]),
        ([1.0, 2.0, 3.0], [0.0, 0.0, 0.0]),
    ]:
        with pytest.raises(ValueError):  # noqa: PT011
            model.update(rows.X[:3], y, time=later, sample_weight=weights)
    assert pickle.dumps(model) == before


# --------------------------------------------------------------------------- static and always in


def test_static_features_do_not_move_and_are_certain_of_it(rows):
    model = DriftRegressor(static=[3, 1]).fit(rows.X, rows.y, time=rows.time)
    assert_allclose(np.ptp(model.coef_path_[:, [1, 3]], axis=0), 0.0, atol=1e-12)
    assert_allclose(np.ptp(model.coef_std_path_[:, [1, 3]], axis=0), 0.0, atol=1e-12)
    assert_allclose(model.coef_path_[0, 1], 1.0, atol=0.2)
    assert_allclose(model.autocorrelation_[1], 1.0, rtol=1e-14)
    ahead = model._fits[0].ahead(5)
    assert_allclose(ahead.coef[[1, 3]], model.coef_path_[-1, [1, 3]], rtol=1e-9, atol=1e-12)
    assert np.ptp(model.coef_path_[:, 2]) > 0.5


def test_static_features_may_all_be_so(rows):
    model = DriftRegressor(static=np.ones(6, bool)).fit(rows.X, rows.y, time=rows.time)
    assert_allclose(np.ptp(model.coef_path_, axis=0), 0.0, atol=1e-12)


def test_a_static_feature_that_truly_drifts_leaves_finite_numbers():
    """Its drifting components, which it may not have, fit better by more than exp can hold."""
    rng = np.random.default_rng(0)
    time = np.repeat(np.arange(6), 50)
    X = rng.normal(size=(300, 4))
    y = X[:, 0] * np.linspace(-5, 5, 6)[time] + 0.01 * rng.normal(size=300)
    model = DriftRegressor(static=[0], noise=1e-4).fit(X, y, time=time)
    assert np.isfinite(model.objective_history_).all()
    assert np.isfinite(model.coef_path_).all()


def test_static_features_need_a_constant_component_in_the_prior(rows):
    model = DriftRegressor(static=[0], prior=Learned(shares=(0.0, 0.5)))
    with pytest.raises(DataError, match="constant over time"):
        model.fit(rows.X, rows.y, time=rows.time)


def test_always_in_is_in_even_if_it_is_noise_and_is_not_shrunk(rows):
    """With an intercept and one always-in column nothing else: close to least squares by step."""
    model = DriftRegressor(always_in=[0]).fit(rows.X, rows.y, time=rows.time)
    assert model.inclusion_probability_[0] == 1.0
    free = DriftRegressor(always_in=[2]).fit(rows.X[:, [0, 1, 2]], rows.y, time=rows.time)
    assert free.inclusion_probability_[2] == 1.0
    assert_allclose(free.coef_path_[:, 2], rows.paths[:, 2], atol=0.5)


def test_always_in_may_be_static_too(rows):
    model = DriftRegressor(always_in=[3], static=[3]).fit(rows.X, rows.y, time=rows.time)
    assert model.inclusion_probability_[3] == 1.0
    assert model.autocorrelation_[3] == 1.0
    assert_allclose(np.ptp(model.coef_path_[:, 3]), 0.0, atol=1e-12)
    assert model.summary().set_index("feature")["kind"]["x3"] == "static"


def test_always_in_may_be_everything(rows):
    model = DriftRegressor(always_in=np.ones(6, bool)).fit(rows.X, rows.y, time=rows.time)
    assert_array_equal(model.inclusion_probability_, 1.0)
    assert_allclose(model.coef_path_, rows.paths, atol=0.25)
    assert model.summary().shape == (6, 10)
    assert np.isfinite(model.predict_interval(rows.X)).all()


def test_an_always_in_column_keeps_its_place_and_its_unit(rows):
    model = DriftRegressor(always_in=[3]).fit(rows.X, rows.y, time=rows.time)
    other = DriftRegressor(always_in=[3]).fit(
        rows.X * [1, 1, 1, 1e3, 1, 1] + [0, 0, 0, 50.0, 0, 0], rows.y, time=rows.time
    )
    unit = np.array([1, 1, 1, 1e3, 1, 1])
    assert_allclose(other.coef_path_ * unit, model.coef_path_, rtol=1e-5, atol=1e-6)
    assert_allclose(other.coef_std_path_ * unit, model.coef_std_path_, rtol=1e-5, atol=1e-7)


# --------------------------------------------------------------------------------------- corners


def assert_finite(model, X):
    for value in (
        model.coef_path_,
        model.coef_std_path_,
        model.coef_,
        model.intercept_path_,
        model.objective_history_,
        model.inclusion_probability_,
        model.predict(X),
        model.predict_interval(X),
        model._fits[0].ahead(3).coef_variance,
    ):
        assert np.isfinite(value).all()
    history = model.objective_history_
    assert (np.diff(history) >= -1e-9 * np.abs(history).max()).all()
    assert model.noise_variance_ > 0
    rho = model.autocorrelation_[~np.isnan(model.autocorrelation_)]
    assert ((rho >= 0) & (rho <= 1)).all()
    assert model.summary().shape == (X.shape[1], 10)


@pytest.mark.parametrize("intercept", [True, False])
def test_more_features_than_rows_and_no_noise_at_all(intercept):
    """An exactly linear y: the two features are found, the noise ends between floor and 1/N."""
    rng = np.random.default_rng(0)
    time = np.repeat(np.arange(3), 10)
    X = rng.normal(size=(30, 100))
    y = 2 * X[:, 0] - X[:, 1]
    model = DriftRegressor(fit_intercept=intercept).fit(X, y, time=time)
    assert_finite(model, X)
    assert_allclose(model.coef_[:2], [2.0, -1.0], atol=0.02)
    assert_array_equal(model.inclusion_probability_ > 0.5, np.arange(100) < 2)
    assert 1e-3 * y.var() <= model.noise_variance_ <= y.var() / 20


def test_features_that_are_all_zero_leave_the_intercept():
    rng = np.random.default_rng(0)
    time = np.repeat(np.arange(4), 20)
    X, y = np.zeros((80, 3)), rng.normal(size=80) + time
    with pytest.warns(DataWarning, match="3 of 3 columns are zero"):
        model = DriftRegressor().fit(X, y, time=time)
    assert_finite(model, X)
    assert_array_equal(model.coef_path_, 0.0)
    assert_allclose(model.intercept_path_, np.arange(4), atol=0.8)


def test_a_column_of_zeros_among_others_is_zero(rows):
    X = np.column_stack([rows.X, np.zeros(rows.y.size)])
    with pytest.warns(DataWarning, match="1 of 7 columns are zero"):
        model = DriftRegressor().fit(X, rows.y, time=rows.time)
    assert_finite(model, X)
    assert_array_equal(model.coef_path_[:, 6], 0.0)
    assert model.inclusion_probability_[6] < 1.0


@pytest.mark.parametrize("time", ["none", "one label"])
def test_one_step(time, rows):
    labels = None if time == "none" else np.full(rows.y.size, 7)
    model = DriftRegressor().fit(rows.X, rows.y, time=labels)
    assert_finite(model, rows.X)
    assert model.coef_path_.shape == (1, 6)
    assert_allclose(model.coef_path_[0, [1, 4]], [1.0, -0.3], atol=0.2)
    if time == "none":
        assert_array_equal(model.coef_, model.coef_path_[0])
        assert model.intercept_ == model.intercept_path_[0]
    # At T = 1 nothing can drift: a forecast is the same step, no less certain.
    ahead = model._fits[0].ahead(4)
    assert_allclose(ahead.coef, model.coef_path_[0], rtol=1e-9, atol=1e-12)
    assert_allclose(np.sqrt(ahead.coef_variance), model.coef_std_path_[0], rtol=1e-9, atol=1e-12)


def test_the_intercept_of_one_step_is_not_shrunk():
    rng = np.random.default_rng(0)
    X, y = np.zeros((40, 1)), 100.0 + rng.normal(size=40)
    with pytest.warns(DataWarning):
        model = DriftRegressor().fit(X, y)
    assert_allclose(model.intercept_, y.mean(), rtol=1e-12)


def test_two_steps(rows):
    keep = rows.time < 2002
    model = DriftRegressor().fit(rows.X[keep], rows.y[keep], time=rows.time[keep])
    assert_finite(model, rows.X)
    assert model.coef_path_.shape == (2, 6)


def test_one_feature(rows):
    y = 2.0 * rows.X[:, 0] + 0.1 * np.random.default_rng(0).normal(size=rows.y.size)
    model = DriftRegressor().fit(rows.X[:, :1], y, time=rows.time)
    assert_finite(model, rows.X[:, :1])
    assert_allclose(model.coef_path_[:, 0], 2.0, atol=0.05)
    assert model.inclusion_probability_[0] > 0.99
    noise = np.random.default_rng(1).normal(size=rows.y.size)
    model = DriftRegressor().fit(rows.X[:, :1], noise, time=rows.time)
    assert model.inclusion_probability_[0] < 0.5


def test_identical_columns_share_one_effect(rows):
    X = np.column_stack([rows.X[:, 1], rows.X[:, 1], rows.X[:, 0]])
    y = 1.5 * X[:, 0] + 0.3 * np.random.default_rng(77).normal(size=rows.y.size)
    model = DriftRegressor().fit(X, y, time=rows.time)
    assert_finite(model, X)
    assert_allclose(model.coef_path_[:, :2].sum(axis=1), 1.5, atol=0.1)
    # Documented: one of them takes it, which one is the first updated.
    assert model.inclusion_probability_[:2].max() > 0.99
    assert model.inclusion_probability_[:2].min() < 0.5


@pytest.mark.parametrize("value", [0.0, 3.3, -1e6])
@pytest.mark.parametrize("intercept", [True, False])
def test_a_constant_y_is_the_intercept(value, intercept, rows):
    y = np.full(rows.y.size, value)
    model = DriftRegressor(fit_intercept=intercept).fit(rows.X, y, time=rows.time)
    assert_finite(model, rows.X)
    if intercept:
        assert_allclose(model.coef_path_, 0.0, atol=1e-30)
        assert_allclose(model.intercept_path_, value, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n_rows", [2, 12, 30])
def test_a_single_row_a_step(n_rows):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_rows, 4))
    y = 3.0 * X[:, 0] + 0.1 * rng.normal(size=n_rows)
    model = DriftRegressor().fit(X, y, time=np.arange(n_rows))
    assert_finite(model, X)
    assert model.coef_path_.shape == (n_rows, 4)
    if n_rows >= 12:
        assert_allclose(model.coef_path_[:, 0], 3.0, atol=0.5)


@pytest.mark.parametrize("weight", [1e-6, 1e6, 1e10])
def test_weights_of_any_size(weight, rows):
    weights = np.full(rows.y.size, weight)
    model = DriftRegressor().fit(rows.X, rows.y, time=rows.time, sample_weight=weights)
    assert_finite(model, rows.X)
    if weight > 1:  # as many repetitions: all rows are believed
        assert model.coef_std_path_.max() < 1e-2


def test_columns_of_very_different_size(rows):
    unit = 10.0 ** np.array([-8.0, 8.0, -3.0, 5.0, -6.0, 0.0])
    model = DriftRegressor().fit(rows.X, rows.y, time=rows.time)
    other = DriftRegressor().fit(rows.X * unit, rows.y, time=rows.time)
    assert_finite(other, rows.X * unit)
    size = np.abs(model.coef_path_).max()
    assert_allclose(other.coef_path_ * unit, model.coef_path_, rtol=1e-6, atol=1e-7 * size)
    assert_allclose(other.coef_std_path_ * unit, model.coef_std_path_, rtol=1e-5, atol=1e-7 * size)


def test_pure_noise_includes_next_to_nothing():
    """Inclusion must not be read off components too small to be told from zero.

    Weights estimated from pure noise scatter, so single fits may include a few features weakly;
    with drifting components as small as constant ones 47 of 100 features were included here.
    """
    shapes = [(3, 500, 50), (8, 100, 100), (1, 200, 50), (5, 40, 200), (8, 300, 50), (3, 300, 50)]
    included, n_wrong, n_all = [], 0, 0
    for seed, (n_steps, rows_per_step, n_features) in enumerate(shapes * 2):
        rng = np.random.default_rng(seed)
        time = np.repeat(np.arange(n_steps), rows_per_step)
        X = rng.normal(size=(time.size, n_features))
        y = rng.normal(size=time.size) + 0.5 * time
        model = DriftRegressor().fit(X, y, time=time)
        included.append(model.inclusion_probability_.mean())
        n_wrong += int((model.inclusion_probability_ > 0.5).sum())
        n_all += n_features
    assert np.mean(included) < 0.1
    assert max(included) < 0.4
    assert n_wrong <= 0.015 * n_all


# ------------------------------------------------------------------------------- what is kept


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])  # noqa: S301
def test_a_copied_model_says_the_same(copied, fitted, rows):
    other = copied(fitted)
    assert_array_equal(other.predict(rows.X), fitted.predict(rows.X))
    time = np.full(rows.y.size, 2012)
    assert_array_equal(
        other.predict_interval(rows.X, time=time), fitted.predict_interval(rows.X, time=time)
    )
    pd.testing.assert_frame_equal(other.summary(), fitted.summary())


def test_an_updatable_model_survives_pickling(rows):
    old = rows.time < 2007
    model = DriftRegressor(keep_data=True).fit(rows.X[old], rows.y[old], time=rows.time[old])
    other = pickle.loads(pickle.dumps(model))  # noqa: S301
    for one in (model, other):
        one.update(rows.X[~old], rows.y[~old], time=rows.time[~old])
    assert_array_equal(other.coef_path_, model.coef_path_)


def test_a_model_holds_no_training_data_unless_asked_to():
    rng = np.random.default_rng(0)
    time = np.repeat(np.arange(4), 5000)
    X = rng.normal(size=(time.size, 5))
    y = X[:, 0] + rng.normal(size=time.size)
    small = len(pickle.dumps(DriftRegressor().fit(X, y, time=time)))
    large = len(pickle.dumps(DriftRegressor(keep_data=True).fit(X, y, time=time)))
    assert small < 50_000
    assert large > X.nbytes


def test_a_second_fit_forgets_the_first(rows, fitted):
    model = DriftRegressor(keep_data=True).fit(rows.X[:, :2], rows.y * 5, time=rows.time)
    model.set_params(keep_data=False).fit(rows.X, rows.y, time=rows.time)
    assert_array_equal(model.coef_path_, fitted.coef_path_)
    with pytest.raises(DataError, match="keep_data"):
        model.update(rows.X, rows.y, time=rows.time + 100)


def test_the_same_fit_twice_is_the_same_to_the_last_bit(rows, fitted):
    other = DriftRegressor().fit(rows.X, rows.y, time=rows.time)
    assert_array_equal(other.coef_path_, fitted.coef_path_)
    assert_array_equal(other.objective_history_, fitted.objective_history_)
    assert_array_equal(other.coef_std_path_, fitted.coef_std_path_)


@pytest.mark.parametrize("slope", [0.0, 0.5, 2.0])
def test_a_trend_in_a_columns_mean_is_not_taken_for_drift(slope):
    """The intercept moves; a column that moves along must not be set against it."""
    rng = np.random.default_rng(3)
    time = np.repeat(np.arange(9), 100)
    X = rng.normal(size=(900, 8))
    X[:, 0] += slope * time
    y = X[:, 0] + 0.5 * X[:, 1] + 0.4 * rng.normal(size=9)[time] + 0.5 * rng.normal(size=900)
    past = time < 8
    model = DriftRegressor().fit(X[past], y[past], time=time[past])
    kinds = model.summary().set_index("feature")["kind"]
    assert kinds["x0"] == "static"
    assert_allclose(model.coef_path_[:, 0], 1.0, atol=0.08)


def test_intercepts_that_do_not_move_leave_columns_at_their_overall_mean(rng):
    time = np.repeat(np.arange(6), 40)
    X = rng.normal(size=(240, 3)) + 0.3 * time[:, None]
    model = DriftRegressor().fit(X, X[:, 0] - 0.3 * time + rng.normal(size=240), time=time)
    center = model._fits[0].columns.center
    own = np.array([X[time == t].mean(axis=0) for t in range(6)])
    share = (center - X.mean(axis=0)) / (own - X.mean(axis=0))
    assert (share < 0.75).all()
    moving = DriftRegressor().fit(X, X[:, 0] + 3 * rng.normal(size=6)[time], time=time)
    share = (moving._fits[0].columns.center - X.mean(axis=0)) / (own - X.mean(axis=0))
    assert (share > 0.9).all()
    single = DriftRegressor().fit(X[::40], rng.normal(size=6), time=np.arange(6))
    assert_allclose(single._fits[0].columns.center, np.tile(X[::40].mean(axis=0), (6, 1)))


@pytest.mark.filterwarnings("ignore::driftglm.exceptions.DataWarning")
def test_a_column_that_says_nothing_is_not_included():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    X[:, 2], X[:, 3] = 0.0, 5.0
    y = X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=200)
    model = DriftRegressor().fit(X, y, time=np.repeat(np.arange(4), 50))
    assert_array_equal(model.inclusion_probability_[2:], 0.0)
    assert_array_equal(model.coef_path_[:, 2:], 0.0)
    assert model.inclusion_probability_[:2].min() > 0.9
    assert list(model.summary().set_index("feature")["kind"][["x2", "x3"]]) == ["zero", "zero"]
