"""What a fit must not depend on, for problems hypothesis makes up.

Problems are small and drawn by numpy from a seed: hypothesis chooses shapes, settings and seeds,
not single numbers, so that the columns are never degenerate by construction. Fits stop at a
certificate of 1e-6; tolerances below leave room for that and for rounding, not for a wrong sign.
"""

import warnings
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from driftglm import DriftRegressor
from driftglm.exceptions import ConvergenceWarning, DataWarning
from driftglm.priors import Exact, Fixed, Variational

# ------------------------------------------------------------------------------- strategies


@dataclass
class Problem:
    """Rows of a panel with labels 2000, 2001, ... in no order."""

    X: np.ndarray
    y: np.ndarray
    time: np.ndarray
    weights: np.ndarray
    rng: np.random.Generator

    @property
    def n_features(self):
        return self.X.shape[1]


@st.composite
def problems(draw, max_features=5, min_steps=1):
    n_steps = draw(st.integers(min_steps, 5))
    n_features = draw(st.integers(1, max_features))
    rows_per_step = draw(st.integers(4, 12))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    codes = rng.permutation(np.repeat(np.arange(n_steps), rows_per_step))
    X = rng.normal(size=(codes.size, n_features)) * rng.uniform(0.2, 5, n_features)
    if draw(st.booleans()):
        X *= rng.random(X.shape) < 0.7
    X += draw(st.sampled_from([0.0, 1.0])) * rng.normal(size=n_features)
    truth = rng.normal(size=(n_steps, n_features)).cumsum(axis=0) * rng.integers(0, 3, n_features)
    noise = draw(st.sampled_from([0.1, 1.0]))
    intercept = rng.normal(size=n_steps).cumsum()
    y = (X * truth[codes]).sum(axis=1) + intercept[codes] + noise * rng.normal(size=codes.size)
    return Problem(X, y, 2000 + codes, rng.uniform(0.3, 3.0, codes.size), rng)


sparse_priors = st.sampled_from(
    [Exact(), Exact(boundary="stationary"), Exact(rate=-3.0), Variational(), Variational(rate=20.0)]
)
fixed_priors = st.sampled_from([Fixed(), Fixed(scale=0.2, boundary="stationary")])
any_priors = st.one_of(sparse_priors, sparse_priors, fixed_priors)
inits = st.sampled_from(["auto", "lasso-one", "lasso-all", "ridge-all", "zero"])
few = settings(max_examples=20)


def fit(problem, X=None, y=None, time=None, weights=None, **params):
    """A tight fit; a feature near the threshold may need more iterations than it is given."""
    params = {"prior": "exact", "tol": 1e-6, "max_iter": 3000, **params}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", DataWarning)
        return DriftRegressor(**params).fit(
            problem.X if X is None else X,
            problem.y if y is None else y,
            time=problem.time if time is None else time,
            sample_weight=weights,
        )


def assert_same_fit(other, model, *, rtol=1e-4, coef=1.0, intercept=0.0):
    """`other` is `model` with coefficients times `coef` and the intercept raised."""
    assert_array_equal(other.inclusion_probability_, model.inclusion_probability_)
    size = np.abs(model.coef_path_).max()
    assert_allclose(other.coef_path_ / coef, model.coef_path_, rtol=rtol, atol=rtol * size)
    assert_allclose(other.noise_variance_, model.noise_variance_, rtol=rtol)
    magnitude = np.abs(model.intercept_path_).max() + np.sqrt(model.noise_variance_)
    shifted = other.intercept_path_ - intercept
    assert_allclose(shifted, model.intercept_path_, rtol=rtol, atol=rtol * magnitude)


# ------------------------------------------------------------------------------- monotonicity


options = st.fixed_dictionaries(
    {
        "prior": any_priors,
        "init": inits,
        "solver": st.sampled_from(["block", "block", "lbfgs"]),
        "fit_intercept": st.booleans(),
        "noise": st.sampled_from(["constant", "constant", "paper", 0.3]),
    }
)


@given(
    problem=problems(),
    params=options,
    always_in=st.integers(0, 2),
    static=st.integers(0, 2),
    weighted=st.booleans(),
    gap=st.booleans(),
)
@settings(max_examples=60)
def test_the_objective_never_falls(problem, params, always_in, static, weighted, gap):
    keep = problem.time != 2001 if gap else np.ones(problem.y.size, bool)
    model = fit(
        problem,
        problem.X[keep],
        problem.y[keep],
        problem.time[keep],
        problem.weights[keep] if weighted else None,
        always_in=list(range(min(always_in, problem.n_features))),
        static=list(range(max(problem.n_features - static, 0), problem.n_features)),
        max_iter=60,
        tol=1e-4,
        **params,
    )
    history = model.objective_history_
    assert np.isfinite(history).all()
    assert (np.diff(history) >= -1e-9 * np.abs(history).max()).all()
    for value in (model.coef_path_, model.intercept_path_, model.predict(problem.X)):
        assert np.isfinite(value).all()


# ------------------------------------------------------------------------------------- units


@given(problem=problems(), prior=sparse_priors, power=st.integers(-30, 30), init=inits)
@few
def test_a_power_of_two_changes_no_digit(problem, prior, power, init):
    column = problem.n_features - 1
    unit = np.ones(problem.n_features)
    unit[column] = 2.0**power
    model = fit(problem, prior=prior, init=init)
    other = fit(problem, problem.X * unit, prior=prior, init=init)
    assert_same_fit(other, model, rtol=1e-9, coef=1 / unit)
    assert other.n_iter_ == model.n_iter_


@given(
    problem=problems(),
    prior=sparse_priors,
    logs=st.lists(st.floats(-8, 8), min_size=5, max_size=5),
    intercept=st.booleans(),
)
@few
def test_rescaling_features_rescales_their_paths_and_nothing_else(problem, prior, logs, intercept):
    unit = 10.0 ** np.array(logs[: problem.n_features])
    model = fit(problem, prior=prior, fit_intercept=intercept)
    other = fit(problem, problem.X * unit, prior=prior, fit_intercept=intercept)
    assert_same_fit(other, model, coef=1 / unit)


@given(problem=problems(), prior=sparse_priors, log=st.floats(-8, 8))
@few
def test_the_unit_of_y_is_the_unit_of_everything(problem, prior, log):
    unit = 10.0**log
    model = fit(problem, prior=prior)
    other = fit(problem, y=unit * problem.y, prior=prior)
    assert_array_equal(other.inclusion_probability_, model.inclusion_probability_)
    size = np.abs(model.coef_path_).max()
    assert_allclose(other.coef_path_ / unit, model.coef_path_, rtol=1e-4, atol=1e-5 * size)
    assert_allclose(other.noise_variance_ / unit**2, model.noise_variance_, rtol=1e-4)
    assert_allclose(other.autocorrelation_, model.autocorrelation_, rtol=1e-4, atol=1e-5)


@given(problem=problems(), prior=any_priors, always_in=st.booleans())
@few
def test_flipping_y_flips_the_paths(problem, prior, always_in):
    chosen = [0] if always_in else None
    model = fit(problem, prior=prior, always_in=chosen)
    other = fit(problem, y=-problem.y, prior=prior, always_in=chosen)
    assert_allclose(other.coef_path_, -model.coef_path_, rtol=1e-9, atol=1e-12)
    assert_allclose(other.intercept_path_, -model.intercept_path_, rtol=1e-9, atol=1e-12)
    assert_allclose(other.objective_history_, model.objective_history_, rtol=1e-9)


@given(problem=problems(), prior=any_priors, constant=st.sampled_from([-1e6, -3.0, 40.0, 1e5]))
@few
def test_a_constant_in_y_goes_to_the_intercept_alone(problem, prior, constant):
    model = fit(problem, prior=prior)
    other = fit(problem, y=problem.y + constant, prior=prior)
    assert_same_fit(other, model, intercept=constant, rtol=1e-4)


@given(
    problem=problems(),
    prior=any_priors,
    constants=st.lists(st.sampled_from([-300.0, 0.0, 2.0, 1e5]), min_size=5, max_size=5),
    always_in=st.booleans(),
)
@few
def test_the_origin_of_a_feature_goes_to_the_intercept_alone(problem, prior, constants, always_in):
    """x + c, with coefficient beta, is x and a constant c * beta less in the intercept."""
    shift = np.array(constants[: problem.n_features])
    chosen = [0] if always_in else None
    model = fit(problem, prior=prior, always_in=chosen)
    other = fit(problem, problem.X + shift, prior=prior, always_in=chosen)
    expected = -(model.coef_path_ @ shift)
    assert_array_equal(other.inclusion_probability_, model.inclusion_probability_)
    size = np.abs(model.coef_path_).max()
    assert_allclose(other.coef_path_, model.coef_path_, rtol=1e-4, atol=1e-4 * size)
    inside = problem.X.mean(axis=0)
    assert_allclose(
        other.intercept_path_ + other.coef_path_ @ (inside + shift),
        model.intercept_path_ + model.coef_path_ @ inside,
        rtol=1e-4,
        atol=1e-4 * np.abs(problem.y).max(),
    )
    drop = other.intercept_path_ - model.intercept_path_
    assert_allclose(drop, expected, rtol=1e-3, atol=1e-3 * (size * np.abs(shift).max() + 1))


# ------------------------------------------------------------------------------------- order


@given(problem=problems(), prior=any_priors, init=inits, static=st.booleans())
@few
def test_permuting_features_permutes_the_paths(problem, prior, init, static):
    order = problem.rng.permutation(problem.n_features)
    mask = np.arange(problem.n_features) == 0
    model = fit(problem, prior=prior, init=init, static=mask if static else None)
    other = fit(
        problem, problem.X[:, order], prior=prior, init=init, static=mask[order] if static else None
    )
    model.coef_path_ = model.coef_path_[:, order]
    model.inclusion_probability_ = model.inclusion_probability_[order]
    assert_same_fit(other, model)


@given(problem=problems(), prior=any_priors, init=inits, weighted=st.booleans())
@few
def test_permuting_rows_changes_nothing(problem, prior, init, weighted):
    order = problem.rng.permutation(problem.y.size)
    weights = problem.weights if weighted else None
    model = fit(problem, weights=weights, prior=prior, init=init)
    other = fit(
        problem,
        problem.X[order],
        problem.y[order],
        problem.time[order],
        weights[order] if weighted else None,
        prior=prior,
        init=init,
    )
    assert_same_fit(other, model)


@given(problem=problems(min_steps=2), prior=any_priors, weighted=st.booleans(), gap=st.booleans())
@few
def test_reversing_time_reverses_the_paths(problem, prior, weighted, gap):
    keep = np.ones(problem.y.size, bool)
    if gap and problem.time.max() > 2002:
        keep = problem.time != 2001
    rows = {
        "X": problem.X[keep],
        "y": problem.y[keep],
        "weights": problem.weights[keep] if weighted else None,
        "prior": prior,
        "init": "ridge-all",
        "fit_intercept": False,
    }
    model = fit(problem, time=problem.time[keep], **rows)
    other = fit(problem, time=5000 - problem.time[keep], **rows)
    model.coef_path_ = model.coef_path_[::-1]
    assert_same_fit(other, model)


@given(problem=problems(min_steps=2), prior=any_priors)
@few
def test_an_intercept_does_not_know_the_direction_of_time_either(problem, prior):
    model = fit(problem, prior=prior, init="ridge-all")
    other = fit(problem, time=-problem.time, prior=prior, init="ridge-all")
    model.coef_path_ = model.coef_path_[::-1]
    model.intercept_path_ = model.intercept_path_[::-1]
    # The intercept's dynamics are the best point of a grid climbed from both sides.
    assert_same_fit(other, model, rtol=1e-3)


# ----------------------------------------------------------------------------------- weights


@given(problem=problems(), prior=any_priors, init=inits, always_in=st.booleans())
@few
def test_integer_weights_are_repeated_rows(problem, prior, init, always_in):
    counts = problem.rng.integers(1, 4, problem.y.size)
    again = problem.rng.permutation(np.repeat(np.arange(counts.size), counts))
    options = {"prior": prior, "init": init, "always_in": [0] if always_in else None}
    weighted = fit(problem, weights=counts.astype(float), **options)
    repeated = fit(problem, problem.X[again], problem.y[again], problem.time[again], **options)
    assert_same_fit(repeated, weighted)
    assert_allclose(
        repeated.objective_history_[-1], weighted.objective_history_[-1], rtol=1e-6, atol=1e-4
    )


@given(problem=problems(), prior=any_priors)
@few
def test_rows_of_weight_zero_are_not_there(problem, prior):
    nonsense = problem.rng.random(problem.y.size) < 0.2
    for label in np.unique(problem.time):  # the axis must stay as it is
        nonsense[np.flatnonzero(problem.time == label)[:3]] = False
    X, y = problem.X.copy(), problem.y.copy()
    X[nonsense], y[nonsense] = 1e3, -1e3
    model = fit(problem, X, y, weights=np.where(nonsense, 0.0, 1.0), prior=prior)
    keep = ~nonsense
    other = fit(problem, problem.X[keep], problem.y[keep], problem.time[keep], prior=prior)
    assert_same_fit(other, model, rtol=1e-9)


# ----------------------------------------------------------------------------------- storage


@given(
    problem=problems(),
    prior=any_priors,
    store=st.sampled_from([sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, sp.lil_array]),
    init=inits,
    intercept=st.booleans(),
    always_in=st.booleans(),
)
@few
def test_sparse_is_dense(problem, prior, store, init, intercept, always_in):
    options = {
        "prior": prior,
        "init": init,
        "fit_intercept": intercept,
        "always_in": [0] if always_in else None,
    }
    dense = fit(problem, **options)
    sparse = fit(problem, store(problem.X), **options)
    assert_same_fit(sparse, dense)
    assert_allclose(
        sparse.predict(store(problem.X), time=problem.time),
        dense.predict(problem.X, time=problem.time),
        rtol=1e-4,
        atol=1e-4 * np.abs(problem.y).max(),
    )


# ------------------------------------------------------------------------------- empty steps


def gap_problem(problem):
    """The same rows with the labels pulled apart, so that a step in the middle is empty."""
    time = np.where(problem.time > 2000, problem.time + 1, problem.time)
    return time, 1  # position of the empty step


@given(problem=problems(min_steps=2), prior=any_priors)
@few
def test_an_empty_step_is_what_the_prior_makes_of_its_neighbours(problem, prior):
    """There are no data, so the gradient of the prior vanishes there: (P beta)_t = 0."""
    time, empty = gap_problem(problem)
    model = fit(problem, time=time, prior=prior, fit_intercept=False, tol=1e-7)
    path = model.coef_path_
    assert np.isfinite(path).all()
    alive = model.inclusion_probability_ > 0
    assert_array_equal(path[empty] != 0, alive)
    path = path[:, alive]
    if isinstance(prior, Fixed):
        omega, beside, _ = prior.precision(path.shape[0])
    else:
        omega, beside, _ = prior.expectations(path.T)
    gradient = omega * path[empty] + beside * (path[empty - 1] + path[empty + 1])
    assert_allclose(gradient / (omega * np.abs(path).max(axis=0)), 0.0, atol=1e-4)


@given(problem=problems(min_steps=3), prior=any_priors)
@few
def test_the_intercept_of_an_empty_step_lies_among_the_others(problem, prior):
    time, empty = gap_problem(problem)
    model = fit(problem, time=time, prior=prior, tol=1e-5)
    intercept = model.intercept_path_ + model.coef_path_ @ problem.X.mean(axis=0)
    # Flat part + AR(1): the empty step is a mean of the flat part and of its neighbours.
    around = np.delete(intercept, empty)
    slack = 1e-6 * (np.ptp(around) + np.abs(around).max())
    assert around.min() - slack <= intercept[empty] <= around.max() + slack


@pytest.mark.parametrize("n_empty", [1, 3])
def test_a_trend_in_the_intercept_is_carried_over_a_gap(n_empty, rng):
    """A random walk with hardly any noise: the gap is bridged by a straight line."""
    intercept = np.linspace(0, 10, 9)
    codes = np.repeat(np.arange(9), 30)
    keep = (codes < 4) | (codes >= 4 + n_empty)
    X = rng.normal(size=(codes.size, 1))
    y = intercept[codes] + 0.01 * rng.normal(size=codes.size)
    model = DriftRegressor(prior="exact").fit(X[keep], y[keep], time=codes[keep])
    inside = slice(4, 4 + n_empty)
    assert_allclose(model.intercept_path_[inside], intercept[inside], atol=0.4)
