"""What a fit with the learned prior must not depend on, for problems hypothesis makes up.

Hypothesis chooses shapes, settings and seeds; numpy draws the numbers. Two fits of the same
problem in other words follow the same path up to rounding, so they may differ by what the
stopping rule leaves open and no more.
"""

import hashlib
import os
import subprocess
import sys
import warnings
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from driftglm import DriftRegressor
from driftglm.exceptions import ConvergenceWarning, DataWarning
from driftglm.priors import Learned

few = settings(max_examples=15)
boundaries = st.sampled_from(["stationary", "pinned"])
PLAIN, COLLINEAR, BAD_SCALES, DUPLICATES, NEAR_DUPLICATES, BINARY, FAR, ROW_SCALES = range(8)


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
    """Well-posed problems, columns on different scales."""
    n_steps = draw(st.integers(min_steps, 5))
    n_features = draw(st.integers(1, max_features))
    rows_per_step = draw(st.integers(5, 15))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    codes = rng.permutation(np.repeat(np.arange(n_steps), rows_per_step))
    X = rng.normal(size=(codes.size, n_features)) * rng.uniform(0.2, 5, n_features)
    if draw(st.booleans()):
        X *= rng.random(X.shape) < 0.7
    X += draw(st.sampled_from([0.0, 1.0])) * rng.normal(size=n_features)
    truth = rng.normal(size=(n_steps, n_features)).cumsum(axis=0) * rng.integers(0, 3, n_features)
    noise = draw(st.sampled_from([0.3, 1.0]))
    intercept = rng.normal(size=n_steps).cumsum()
    y = (X * truth[codes]).sum(axis=1) + intercept[codes] + noise * rng.normal(size=codes.size)
    return Problem(X, y, 2000 + codes, rng.uniform(0.3, 3.0, codes.size), rng)


@st.composite
def hard_problems(draw):
    """Collinear, badly scaled, duplicate columns, p > n, noise from none to all there is."""
    n_steps = draw(st.integers(1, 6))
    n_features = draw(st.integers(1, 12))
    rows_per_step = draw(st.integers(2, 12))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    codes = rng.permutation(np.repeat(np.arange(n_steps), rows_per_step))
    X = rng.normal(size=(codes.size, n_features))
    kind = draw(st.integers(0, 7))
    truth = rng.normal(size=(n_steps, n_features)).cumsum(axis=0) * rng.integers(0, 2, n_features)
    noise = draw(st.sampled_from([0.0, 1e-3, 1.0, 10.0]))
    y = (X * truth[codes]).sum(axis=1) + noise * rng.normal(size=codes.size)
    y += draw(st.sampled_from([0.0, 1.0, 1e4])) * rng.normal()
    y *= draw(st.sampled_from([1.0, 1.0, 1e-6, 1e6]))
    if kind == COLLINEAR:
        X += 5 * rng.normal(size=(codes.size, 1))
    elif kind == BAD_SCALES:
        X *= 10.0 ** rng.uniform(-8, 8, n_features)
    elif kind == DUPLICATES:
        X[:, -1] = X[:, 0]
    elif kind == NEAR_DUPLICATES:
        X[:, -1] = X[:, 0] + 1e-6 * X[:, -1]
    elif kind == BINARY:
        X = (X > 0.5).astype(float)
    elif kind == FAR:
        X[:, 0] += 1e6
    elif kind == ROW_SCALES:
        X *= 10.0 ** rng.uniform(-4, 4, (codes.size, 1))
    return Problem(X, y, 2000 + codes, 10.0 ** rng.uniform(-2, 2, codes.size), rng)


def fit(problem, X=None, y=None, time=None, weights=None, **params):
    """A tight fit: what is left open does not show in the comparisons below."""
    params = {"tol": 1e-6, "max_iter": 150, **params}
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
    assert_allclose(other.inclusion_probability_, model.inclusion_probability_, atol=rtol)
    size = np.abs(model.coef_path_).max() + model.coef_std_path_.max()
    assert_allclose(other.coef_path_ / coef, model.coef_path_, rtol=rtol, atol=rtol * size)
    assert_allclose(other.coef_std_path_ / coef, model.coef_std_path_, rtol=rtol, atol=rtol * size)
    assert_allclose(other.coef_ / coef, model.coef_, rtol=rtol, atol=rtol * size)
    assert_allclose(other.noise_variance_, model.noise_variance_, rtol=rtol)
    magnitude = np.abs(model.intercept_path_).max() + np.sqrt(model.noise_variance_)
    shifted = other.intercept_path_ - intercept
    assert_allclose(shifted, model.intercept_path_, rtol=rtol, atol=rtol * magnitude)
    lower, upper = other.coef_interval(0.8) / coef
    assert_allclose(lower, model.coef_interval(0.8)[0], rtol=rtol, atol=3 * rtol * size)
    assert_allclose(upper, model.coef_interval(0.8)[1], rtol=rtol, atol=3 * rtol * size)


# ------------------------------------------------------------------------------- monotonicity


settings_of_fits = st.fixed_dictionaries(
    {
        "boundary": boundaries,
        "init": st.sampled_from(["auto", "auto", "lasso-one", "lasso-all", "ridge-all"]),
        "intercept": st.booleans(),
        "noise": st.sampled_from(["drift", "drift", "constant", 0.01, 1.0]),
        "errors": st.sampled_from(["normal", "normal", "student"]),
        "weighted": st.booleans(),
        "gap": st.booleans(),
        "always_in": st.integers(0, 2),
        "static": st.integers(0, 2),
    }
)


@given(problem=hard_problems(), how=settings_of_fits)
@settings(max_examples=60)
def test_the_elbo_never_falls_and_everything_stays_in_range(problem, how):
    keep = problem.time != 2001 if how["gap"] else np.ones(problem.y.size, bool)
    p = problem.n_features
    # A given noise is a share of var(y): beyond 1e4 the terms of the ELBO cancel to rounding.
    noise = how["noise"]
    if how["weighted"] and how["errors"] == "student":  # less than one row is refused
        assume(problem.weights[keep].sum() >= 1.0)
    model = fit(
        problem,
        problem.X[keep],
        problem.y[keep],
        problem.time[keep],
        problem.weights[keep] if how["weighted"] else None,
        prior=Learned(boundary=how["boundary"]),
        init=how["init"],
        fit_intercept=how["intercept"],
        errors=how["errors"],
        noise=noise if isinstance(noise, str) else noise * float(np.mean(problem.y**2)) + 1e-30,
        always_in=list(range(min(how["always_in"], p))),
        static=list(range(max(p - how["static"], 0), p)),
        max_iter=60,
        tol=1e-12,
    )
    history = model.objective_history_
    assert np.isfinite(history).all()
    assert (np.diff(history) >= -1e-9 * np.abs(history).max()).all()
    ahead = model._fits[0].ahead(3)
    for value in (
        model.coef_path_,
        model.coef_std_path_,
        model.intercept_path_,
        model.predict_interval(problem.X),
        ahead.coef,
        ahead.coef_variance,
    ):
        assert np.isfinite(value).all()
    assert ((model.inclusion_probability_ >= 0) & (model.inclusion_probability_ <= 1)).all()
    rho = model.autocorrelation_
    assert (np.isnan(rho) | ((rho >= 0) & (rho <= 1))).all()
    assert (np.isnan(rho) <= (model.inclusion_probability_ < 1e-6)).all()
    assert (model.coef_std_path_ >= 0).all()
    assert (ahead.coef_variance >= 0).all()


@given(problem=problems(min_steps=2), boundary=boundaries, weighted=st.booleans())
@few
def test_the_elbo_of_an_update_never_falls(problem, boundary, weighted):
    old = problem.time < problem.time.max()
    weights = problem.weights if weighted else np.ones(problem.y.size)
    model = fit(
        problem,
        problem.X[old],
        problem.y[old],
        problem.time[old],
        weights[old],
        prior=Learned(boundary=boundary),
        keep_data=True,
        tol=1e-4,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.update(
            problem.X[~old], problem.y[~old], time=problem.time[~old], sample_weight=weights[~old]
        )
    history = model.objective_history_
    assert (np.diff(history) >= -1e-9 * np.abs(history).max()).all()
    assert model.coef_path_.shape == (np.unique(problem.time).size, problem.n_features)


# ------------------------------------------------------------------------------------- units


@given(problem=problems(), boundary=boundaries, power=st.integers(-30, 30))
@few
def test_a_power_of_two_changes_no_digit(problem, boundary, power):
    unit = np.ones(problem.n_features)
    unit[-1] = 2.0**power
    prior = Learned(boundary=boundary)
    model = fit(problem, prior=prior, tol=1e-4)
    other = fit(problem, problem.X * unit, prior=prior, tol=1e-4)
    assert_same_fit(other, model, rtol=1e-9, coef=1 / unit)
    assert other.n_iter_ == model.n_iter_


@given(
    problem=problems(),
    logs=st.lists(st.floats(-8, 8), min_size=5, max_size=5),
    intercept=st.booleans(),
    always_in=st.booleans(),
)
@few
def test_rescaling_columns_rescales_paths_and_intervals_and_nothing_else(
    problem, logs, intercept, always_in
):
    unit = 10.0 ** np.array(logs[: problem.n_features])
    options = {"fit_intercept": intercept, "always_in": [0] if always_in else None}
    model = fit(problem, **options)
    other = fit(problem, problem.X * unit, **options)
    assert_same_fit(other, model, coef=1 / unit)
    assert_allclose(other.autocorrelation_, model.autocorrelation_, rtol=1e-4, atol=1e-4)
    assert_allclose(
        other.predict_interval(problem.X * unit, time=problem.time),
        model.predict_interval(problem.X, time=problem.time),
        rtol=1e-4,
        atol=1e-4 * np.abs(problem.y).max(),
    )


@given(problem=problems(), log=st.floats(-8, 8))
@few
def test_the_unit_of_y_is_the_unit_of_everything(problem, log):
    unit = 10.0**log
    model = fit(problem)
    other = fit(problem, y=unit * problem.y)
    assert_allclose(other.inclusion_probability_, model.inclusion_probability_, atol=1e-4)
    size = np.abs(model.coef_path_).max() + model.coef_std_path_.max()
    assert_allclose(other.coef_path_ / unit, model.coef_path_, rtol=1e-4, atol=1e-4 * size)
    assert_allclose(other.coef_std_path_ / unit, model.coef_std_path_, rtol=1e-4, atol=1e-4 * size)
    assert_allclose(other.noise_variance_ / unit**2, model.noise_variance_, rtol=1e-4)


@given(problem=problems(), boundary=boundaries, always_in=st.booleans())
@few
def test_flipping_y_flips_the_paths(problem, boundary, always_in):
    options = {"prior": Learned(boundary=boundary), "always_in": [0] if always_in else None}
    model = fit(problem, tol=1e-4, **options)
    other = fit(problem, y=-problem.y, tol=1e-4, **options)
    size = np.abs(model.coef_path_).max()
    assert_allclose(other.coef_path_, -model.coef_path_, rtol=1e-9, atol=1e-12 * size)
    assert_allclose(other.intercept_path_, -model.intercept_path_, rtol=1e-9, atol=1e-11)
    assert_allclose(other.coef_std_path_, model.coef_std_path_, rtol=1e-9)
    assert_allclose(other.objective_history_, model.objective_history_, rtol=1e-9)
    assert_allclose(other.predict(problem.X), -model.predict(problem.X), rtol=1e-8, atol=1e-9)


@given(problem=problems(), constant=st.sampled_from([-1e6, -3.0, 40.0, 1e5]))
@few
def test_a_constant_in_y_goes_to_the_intercept_alone(problem, constant):
    model = fit(problem)
    other = fit(problem, y=problem.y + constant)
    assert_same_fit(other, model, intercept=constant)
    assert_allclose(
        other.predict_interval(problem.X) - constant,
        model.predict_interval(problem.X),
        rtol=1e-4,
        atol=1e-4 * np.abs(problem.y).max(),
    )


@given(
    problem=problems(),
    constants=st.lists(st.sampled_from([-300.0, 0.0, 2.0, 1e5]), min_size=5, max_size=5),
    always_in=st.booleans(),
)
@few
def test_the_origin_of_a_feature_goes_to_the_intercept_alone(problem, constants, always_in):
    """x + c, with coefficient beta, is x and a constant c * beta less in the intercept."""
    # Columns without zeros and a single value apart: their unit is then the deviation both times.
    X = problem.X + 0.1
    shift = np.array(constants[: problem.n_features])
    options = {"always_in": [0] if always_in else None}
    model = fit(problem, X, **options)
    other = fit(problem, X + shift, **options)
    size = np.abs(model.coef_path_).max() + model.coef_std_path_.max()
    assert_allclose(other.inclusion_probability_, model.inclusion_probability_, atol=1e-4)
    assert_allclose(other.coef_path_, model.coef_path_, rtol=1e-4, atol=1e-4 * size)
    assert_allclose(other.coef_std_path_, model.coef_std_path_, rtol=1e-4, atol=1e-4 * size)
    assert_allclose(
        other.predict_interval(X + shift),
        model.predict_interval(X),
        rtol=1e-4,
        atol=1e-3 * np.abs(problem.y).max(),
    )


# ------------------------------------------------------------------------------------- order


@given(problem=problems(), boundary=boundaries, weighted=st.booleans(), always_in=st.booleans())
@few
def test_permuting_rows_changes_nothing(problem, boundary, weighted, always_in):
    order = problem.rng.permutation(problem.y.size)
    weights = problem.weights if weighted else None
    options = {"prior": Learned(boundary=boundary), "always_in": [0] if always_in else None}
    model = fit(problem, weights=weights, **options)
    other = fit(
        problem,
        problem.X[order],
        problem.y[order],
        problem.time[order],
        weights[order] if weighted else None,
        **options,
    )
    assert_same_fit(other, model)


@given(problem=problems(), static=st.booleans())
@few
def test_permuting_features_permutes_the_paths(problem, static):
    order = problem.rng.permutation(problem.n_features)
    mask = np.arange(problem.n_features) == 0
    model = fit(problem, static=mask if static else None)
    other = fit(problem, problem.X[:, order], static=mask[order] if static else None)
    size = np.abs(model.coef_path_).max()
    assert_allclose(other.inclusion_probability_, model.inclusion_probability_[order], atol=1e-4)
    assert_allclose(other.coef_path_, model.coef_path_[:, order], rtol=1e-4, atol=1e-4 * size)


@given(problem=problems(min_steps=2), boundary=boundaries, weighted=st.booleans())
@few
def test_reversing_time_reverses_the_paths(problem, boundary, weighted):
    options = {
        "weights": problem.weights if weighted else None,
        "prior": Learned(boundary=boundary),
    }
    model = fit(problem, **options)
    other = fit(problem, time=-problem.time, **options)
    size = np.abs(model.coef_path_).max() + model.coef_std_path_.max()
    assert_allclose(other.coef_path_[::-1], model.coef_path_, rtol=1e-4, atol=1e-4 * size)
    assert_allclose(other.coef_std_path_[::-1], model.coef_std_path_, rtol=1e-4, atol=1e-4 * size)
    assert_allclose(other.autocorrelation_, model.autocorrelation_, rtol=1e-4, atol=1e-4)


# ----------------------------------------------------------------------------------- weights


@given(problem=problems(), boundary=boundaries, always_in=st.booleans())
@few
def test_integer_weights_are_repeated_rows(problem, boundary, always_in):
    counts = problem.rng.integers(1, 4, problem.y.size)
    again = problem.rng.permutation(np.repeat(np.arange(counts.size), counts))
    options = {"prior": Learned(boundary=boundary), "always_in": [0] if always_in else None}
    weighted = fit(problem, weights=counts.astype(float), **options)
    repeated = fit(problem, problem.X[again], problem.y[again], problem.time[again], **options)
    assert_same_fit(repeated, weighted)
    assert_allclose(
        repeated.objective_history_[-1], weighted.objective_history_[-1], rtol=1e-6, atol=1e-5
    )


@given(problem=problems())
@few
def test_rows_of_weight_zero_are_not_there(problem):
    nonsense = problem.rng.random(problem.y.size) < 0.2
    for label in np.unique(problem.time):  # the axis must stay as it is
        nonsense[np.flatnonzero(problem.time == label)[:3]] = False
    X, y = problem.X.copy(), problem.y.copy()
    X[nonsense], y[nonsense] = 1e3, -1e3
    model = fit(problem, X, y, weights=np.where(nonsense, 0.0, 1.0))
    keep = ~nonsense
    other = fit(problem, problem.X[keep], problem.y[keep], problem.time[keep])
    assert_same_fit(other, model, rtol=1e-9)


# ----------------------------------------------------------------------------------- storage


@given(
    problem=problems(),
    store=st.sampled_from([sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix]),
    intercept=st.booleans(),
    always_in=st.booleans(),
    boundary=boundaries,
)
@few
def test_sparse_is_dense(problem, store, intercept, always_in, boundary):
    options = {
        "fit_intercept": intercept,
        "always_in": [0] if always_in else None,
        "prior": Learned(boundary=boundary),
    }
    dense = fit(problem, **options)
    sparse = fit(problem, store(problem.X), **options)
    assert_same_fit(sparse, dense)
    assert_allclose(
        sparse.predict_interval(store(problem.X), time=problem.time),
        dense.predict_interval(problem.X, time=problem.time),
        rtol=1e-4,
        atol=1e-4 * np.abs(problem.y).max(),
    )


# ------------------------------------------------------------------------------- empty steps


@given(problem=problems(min_steps=3), always_in=st.booleans())
@few
def test_an_empty_step_lies_among_its_neighbours_and_is_less_certain(problem, always_in):
    time = np.where(problem.time > 2000, problem.time + 1, problem.time)
    model = fit(problem, time=time, always_in=[0] if always_in else None, tol=1e-5)
    path, std = model.coef_path_, model.coef_std_path_
    slack = 1e-6 * (np.abs(path).max() + std.max())
    # A mean of the static part, of zero and of the neighbours.
    others = np.delete(path, 1, axis=0)
    lowest = np.minimum(others.min(axis=0), 0)
    highest = np.maximum(others.max(axis=0), 0)
    assert (lowest - slack <= path[1]).all()
    assert (path[1] <= highest + slack).all()
    assert (std[1] >= np.delete(std, 1, axis=0).min(axis=0) - slack).all()


# ------------------------------------------------------------------------------------- threads

SCRIPT = """
import hashlib, os, sys
import numpy as np
from driftglm import DriftRegressor
for size in sys.argv[1:]:
    n_rows, n_features = map(int, size.split("x"))
    rng = np.random.default_rng(0)
    time = np.repeat(np.arange(4), n_rows // 4)
    X = rng.normal(size=(time.size, n_features))
    y = X[:, 0] * (1 + 0.3 * time) + X[:, 1] + rng.normal(size=time.size)
    jobs = int(os.environ["OMP_NUM_THREADS"])
    model = DriftRegressor(keep_data=True, always_in=[2], n_jobs=jobs).fit(X, y, time=time)
    model.update(X[:50], y[:50], time=np.full(50, 4))
    digest = hashlib.sha256()
    for value in (model.coef_path_, model.coef_std_path_, model.inclusion_probability_,
                  model.intercept_path_, model.objective_history_, model.coef_):
        digest.update(np.ascontiguousarray(value).tobytes())
    print(size, digest.hexdigest())
"""


def digests_with_threads(n_threads, *sizes):
    names = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", SCRIPT, *sizes],
        env={**os.environ, **dict.fromkeys(names, str(n_threads))},
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(line.split() for line in done.stdout.splitlines())


def test_the_number_of_threads_changes_no_bit():
    """BLAS splits sums over more than 10,000 rows over its threads."""
    sizes = "400x300", "24000x5"
    one = digests_with_threads(1, *sizes)
    assert [len(one[size]) for size in sizes] == [hashlib.sha256().digest_size * 2] * 2
    assert digests_with_threads(2, *sizes) == one
