"""What must hold for every family, on data hypothesis makes as awkward as data get.

Problems are small and drawn by numpy from a seed; hypothesis chooses the family, the prior, the
kind of design and the kind of target. Falls of the objective are measured against 1e-9 of its
size, rounding and nothing else.
"""

import warnings
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import expit, softmax

from driftglm import DriftClassifier, DriftGLM, DriftPoissonRegressor
from driftglm.exceptions import ConvergenceWarning, DataWarning
from driftglm.families import family_named
from driftglm.priors import Fixed
from driftglm.simulate import simulate_panel

FAMILIES = ("binomial", "softmax", "poisson")
SHAPED = ("negative-binomial", "gamma", "beta-binomial")
NUMBERS = ("poisson", *SHAPED)
DESIGNS = ("plain", "sparse", "twins", "dummies", "scales", "far", "constant in a step")
TARGETS = ("plain", "missing in a step", "separable", "rare")
N_CLASSES = {"binomial": 2, "softmax": 3}


@dataclass
class Problem:
    """Rows of a panel, labels 2000, 2001, ..."""

    family: str
    X: np.ndarray
    y: np.ndarray
    time: np.ndarray
    rng: np.random.Generator

    def model(self, **params):
        if self.family in SHAPED:
            return DriftGLM(family=self.family, **params)
        estimator = DriftPoissonRegressor if self.family == "poisson" else DriftClassifier
        return estimator(**params)

    def fit(self, X=None, y=None, time=None, **params):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", DataWarning)
            return self.model(**params).fit(
                self.X if X is None else X,
                self.y if y is None else y,
                time=self.time if time is None else time,
            )

    def expected(self, model, **where):
        if self.family in NUMBERS:
            return model.predict(self.X, **where)
        return model.predict_proba(self.X, **where)


def make_design(kind, rng, codes):
    X = rng.normal(size=(codes.size, 4))
    if kind == "sparse":
        return X * (rng.random(X.shape) < 0.3)
    if kind == "twins":
        return np.hstack([X[:, :3], X[:, :2]])
    if kind == "dummies":
        return np.column_stack([np.eye(3)[rng.integers(0, 3, codes.size)], X[:, 0]])
    if kind == "scales":
        return X * 10.0 ** np.array([-4, -1, 2, 4])
    if kind == "far":
        return X + 100 * rng.normal(size=4)
    if kind == "constant in a step":
        X[:, 0] = rng.normal(size=codes.max() + 1)[codes]
    return X


def make_target(family, kind, rng, X, codes):
    standard = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    eta = np.linspace(-1, 1.5, codes.max() + 1)[codes] * standard[:, 0] + 0.7 * standard[:, 1]
    if family in SHAPED:
        return make_scattered(family, kind, rng, eta)
    if family == "poisson":
        y = rng.poisson(np.exp(np.clip(eta, -5, 4)))
        if kind == "separable":
            y = np.where(standard[:, 0] > 0, 50, 0)
        if kind == "rare":
            y = (np.arange(codes.size) == rng.integers(codes.size)).astype(int)
        if kind == "huge":
            y[rng.integers(codes.size)] = 10**6
    else:
        logits = np.column_stack([eta, -eta, standard[:, 2]])[:, : N_CLASSES[family]]
        y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
        if kind == "separable":
            y = np.digitize(standard[:, 0], [0.0, 0.8][: N_CLASSES[family] - 1])
        if kind == "rare":
            y = np.zeros(codes.size, int)
    if kind == "missing in a step":
        y[codes == 1] = 0
    if family != "poisson":  # every class is seen at least once
        y[: N_CLASSES[family]] = np.arange(N_CLASSES[family])
    return y


def make_scattered(family, kind, rng, eta):
    """Targets of families with a dispersion; one row is far off."""
    drawn = family_named(family).draw(np.clip(eta, -5, 4), 0.5, rng)
    if kind == "separable":
        drawn = family_named(family).draw(np.where(eta > 0, 8.0, -8.0), 0.01, rng)
    if kind == "rare" and family != "gamma":
        drawn[1:] = drawn[0]
    if kind == "huge" and family != "beta-binomial":
        drawn[rng.integers(len(drawn))] = 10**6
    return drawn


@st.composite
def problems(draw, families=FAMILIES, designs=DESIGNS, targets=TARGETS, rows=(3, 20)):
    family = draw(st.sampled_from(families))
    design = draw(st.sampled_from(designs))
    kinds = (*targets, "huge") if family in NUMBERS and targets is TARGETS else targets
    target = draw(st.sampled_from(kinds))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n_steps = draw(st.integers(1, 4))
    codes = np.repeat(np.arange(n_steps), rng.integers(*rows, n_steps))
    X = make_design(design, rng, codes)
    y = make_target(family, target, rng, X, codes)
    return Problem(family, X, y, 2000 + codes, rng)


def assert_rising(model):
    history = model.objective_history_
    assert np.isfinite(history).all()
    assert (np.diff(history) >= -1e-9 * np.abs(history).max()).all()


def assert_finite(problem, model):
    for value in (model.coef_path_, model.intercept_path_, model.coef_):
        assert np.isfinite(value).all()
    for where in ({}, {"time": problem.time}):
        assert np.isfinite(problem.expected(model, **where)).all()


# ------------------------------------------------------------------------------- monotonicity


@given(
    problem=problems(SHAPED),
    prior=st.sampled_from(["learned", "exact", "variational", "fixed"]),
    intercept=st.booleans(),
)
@settings(max_examples=60)
def test_no_objective_falls_while_a_dispersion_is_learned(problem, prior, intercept):
    model = problem.fit(prior=prior, fit_intercept=intercept, max_iter=25)
    assert_rising(model)
    assert_finite(problem, model)
    low, high = model.family_.shape_range
    assert low <= model.noise_ <= high * (1 + 1e-12)


@given(problem=problems(), intercept=st.booleans(), special=st.booleans())
@settings(max_examples=40)
def test_the_bound_of_the_learned_prior_never_falls(problem, intercept, special):
    chosen = [0] if special else None
    model = problem.fit(
        fit_intercept=intercept, always_in=chosen, static=[1] if special else None, max_iter=25
    )
    assert_rising(model)
    assert_finite(problem, model)
    assert np.isfinite(model.predict_interval(problem.X, time=problem.time)).all()
    assert (model.coef_std_path_ >= 0).all()


@given(
    problem=problems(),
    prior=st.sampled_from(["exact", "variational", "fixed"]),
    intercept=st.booleans(),
    special=st.booleans(),
    init=st.sampled_from(["auto", "zero", "ridge-all"]),
)
@settings(max_examples=60)
def test_the_block_solver_never_lowers_the_posterior(problem, prior, intercept, special, init):
    model = problem.fit(
        prior=prior,
        solver="block",
        init=init,
        fit_intercept=intercept,
        always_in=[0] if special else None,
        static=[1] if special else None,
        max_iter=40,
    )
    assert_rising(model)
    assert_finite(problem, model)


@given(
    problem=problems(),
    prior=st.sampled_from(["exact", "variational", "fixed"]),
    intercept=st.booleans(),
)
@settings(max_examples=30, phases=(Phase.explicit, Phase.generate))
def test_lbfgs_never_lowers_the_posterior(problem, prior, intercept):
    model = problem.fit(prior=prior, solver="lbfgs", fit_intercept=intercept, max_iter=60)
    assert_rising(model)
    assert_finite(problem, model)


@pytest.mark.parametrize("seed", range(3))
def test_lbfgs_with_a_level_that_moves_never_lowers_the_posterior(seed):
    rng = np.random.default_rng(seed)
    time = np.repeat(np.arange(4), 20)
    X = rng.normal(size=(80, 5))
    y = np.minimum(rng.poisson(np.exp(-1 + (time - 1.5) * 0.7 * X[:, 0])), 2)
    assert_rising(DriftClassifier(prior="fixed", solver="lbfgs").fit(X, y, time=time))


@pytest.mark.parametrize("prior", ["learned", "exact", "fixed"])
def test_one_row_in_a_thousand_is_enough_of_a_class(prior):
    rng = np.random.default_rng(5)
    time = np.repeat(np.arange(4), 750)
    X = rng.normal(size=(3000, 4))
    y = np.zeros(3000, int)
    y[np.argsort(-X[:, 0] - 0.5 * rng.normal(size=3000))[:3]] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = DriftClassifier(prior=prior, max_iter=100).fit(X, y, time=time)
    assert_rising(model)
    p = model.predict_proba(X, time=time)[:, 1]
    assert np.isfinite(p).all()
    assert_allclose(p.mean(), 1e-3, atol=2e-3)


# -------------------------------------------------------------------------------- convergence


@given(
    problem=problems(
        designs=("plain", "sparse", "dummies"), targets=("plain", "missing in a step"), rows=(8, 25)
    )
)
@settings(max_examples=12)
def test_converged_means_that_little_is_left_to_gain(problem):
    tol = 1e-3
    model = problem.fit(tol=tol)
    finer = problem.fit(tol=tol / 10, max_iter=5000)
    assert model.converged_
    gain = finer.objective_history_[-1] - model.objective_history_[-1]
    assert gain <= 10 * tol * problem.y.size


def largest_gradient(problem, model, prior):
    """Gradient of the log posterior of a fit without intercepts, per class, in prior deviations."""
    path = model.coef_path_.reshape(len(model.timesteps_), -1, problem.X.shape[1])
    code = problem.time - problem.time.min()
    eta = np.einsum("nki,ni->nk", path[code], problem.X)
    if problem.family == "poisson":
        rate = np.exp(eta)
        residual, curvature = problem.y[:, None] - rate, rate
    elif problem.family == "binomial":
        p = expit(eta)
        residual, curvature = problem.y[:, None] - p, p * (1 - p)
    else:
        p = softmax(eta, axis=1)
        residual, curvature = np.eye(3)[problem.y] - p, p
    omega, beside, end = prior.precision(path.shape[0])
    slope = -omega * path
    slope[1:] -= beside * path[:-1]
    slope[:-1] -= beside * path[1:]
    slope[0] -= end * path[0]
    slope[-1] -= end * path[-1]
    h = np.full(path.shape, omega)
    for t in range(path.shape[0]):
        own = code == t
        slope[t] += np.einsum("nk,ni->ki", residual[own], problem.X[own])
        h[t] += np.einsum("nk,ni->ki", curvature[own], problem.X[own] ** 2)
    return np.abs(slope / np.sqrt(h)).max()


@given(
    problem=problems(designs=("plain", "sparse", "twins", "dummies")),
    prior=st.sampled_from([Fixed(), Fixed(scale=0.3, boundary="stationary")]),
    solver=st.sampled_from(["auto", "block", "lbfgs"]),
)
@settings(max_examples=30)
def test_converged_means_that_the_gradient_is_small(problem, prior, solver):
    """Its own formula for the gradient, from the coefficients a user sees."""
    tol = 1e-5
    model = problem.fit(prior=prior, solver=solver, fit_intercept=False, tol=tol, max_iter=5000)
    found = largest_gradient(problem, model, prior)
    # A pass reports the gradient at a path's own update; later ones of others change it a little.
    if model.converged_:
        assert found <= 30 * tol
    assert model.converged_ or found > tol / 10


# ---------------------------------------------------------------------------------- invariance


ordinary = problems(
    designs=("plain", "sparse", "dummies"), targets=("plain", "missing in a step"), rows=(8, 20)
)
any_prior = st.sampled_from(["learned", "exact", "fixed"])


@given(problem=ordinary, prior=any_prior, shift=st.sampled_from([-2000, 7, 10**6]))
@settings(max_examples=15)
def test_the_origin_of_time_changes_nothing(problem, prior, shift):
    one = problem.fit(prior=prior, max_iter=30)
    other = problem.fit(time=problem.time + shift, prior=prior, max_iter=30)
    assert_allclose(other.coef_path_, one.coef_path_, rtol=1e-12)
    assert_allclose(other.objective_history_, one.objective_history_, rtol=1e-12)


@given(problem=ordinary, prior=any_prior)
@settings(max_examples=15)
def test_the_order_of_rows_changes_nothing(problem, prior):
    order = problem.rng.permutation(problem.y.size)
    one = problem.fit(prior=prior, max_iter=30)
    other = problem.fit(
        problem.X[order], problem.y[order], problem.time[order], prior=prior, max_iter=30
    )
    assert_allclose(other.objective_history_[-1], one.objective_history_[-1], rtol=1e-6, atol=1e-4)
    assert_allclose(problem.expected(other), problem.expected(one), rtol=1e-3, atol=1e-4)


@given(problem=ordinary, prior=any_prior)
@settings(max_examples=12)
def test_sparse_is_dense(problem, prior):
    one = problem.fit(prior=prior, max_iter=30)
    other = problem.fit(sp.csr_array(problem.X), prior=prior, max_iter=30)
    assert_allclose(problem.expected(other), problem.expected(one), rtol=1e-3, atol=1e-4)


@given(problem=problems(("binomial", "softmax"), ("plain", "dummies"), ("plain",), (8, 20)))
@settings(max_examples=10)
def test_the_names_of_classes_change_nothing_but_their_order(problem):
    names = problem.rng.permutation(N_CLASSES[problem.family])
    one = problem.fit(prior="fixed", tol=1e-7, max_iter=5000)
    other = problem.fit(y=names[problem.y], prior="fixed", tol=1e-7, max_iter=5000)
    assert_allclose(
        problem.expected(other, time=problem.time)[:, names],
        problem.expected(one, time=problem.time),
        atol=1e-4,
    )


# --------------------------------------------------------------------------------- calibration


def test_ninety_percent_intervals_of_probabilities_hold_about_ninety_percent():
    """12 panels of 3,200 rows; panels differ, so the pooled share is known to about 2 %."""
    past, ahead = [], []
    for seed in range(12):
        panel = simulate_panel(
            family="binomial",
            rows_per_step=400,
            n_features=30,
            n_active=6,
            scale=0.5,
            random_state=seed,
        )
        model = DriftClassifier().fit(panel.X, panel.y, time=panel.time)
        for shares, truth, interval in (
            (past, panel.mean, model.predict_interval(panel.X, time=panel.time)),
            (ahead, panel.mean_next, model.predict_interval(panel.X_next)),
        ):
            shares.append(np.mean((interval[:, 0] <= truth) & (truth <= interval[:, 1])))
    assert 0.84 <= np.mean(past) <= 0.95
    assert 0.84 <= np.mean(ahead) <= 0.95
