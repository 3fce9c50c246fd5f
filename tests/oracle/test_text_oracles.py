"""The text model against scikit-learn's softmax regression and against a general optimiser."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from driftglm import DriftTextModel
from driftglm.baselines import LassoAll, RidgeAll, RidgeOne, RidgeTS
from driftglm.priors import Exact, Fixed
from driftglm.simulate import simulate_text

N, V = 150, 4


@pytest.mark.parametrize("n_effects", [1, 3])
@pytest.mark.parametrize("scale", [0.1, 10.0])
def test_one_step_without_background_is_multinomial_logistic_regression(rng, n_effects, scale):
    """Documents of one word, one step, ridge: the same problem in other words."""
    x = rng.normal(size=(N, n_effects))
    eta = x @ rng.normal(size=(n_effects, V))
    p = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
    word = np.array([rng.choice(V, p=row) for row in p])
    peer = LogisticRegression(C=scale, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(x, word)
    model = DriftTextModel(
        background=np.zeros(V), prior=Fixed(scale, 0.0), tol=1e-8, max_iter=5000
    ).fit(np.eye(V)[word], x)
    # scikit-learn stops at a gradient of 1e-10; coefficients agree to about its root.
    assert_allclose(model.coef_path_[0].T, peer.coef_, atol=2e-5)
    assert_allclose(model.log_prob(x), peer.predict_log_proba(x), atol=2e-5)


def test_ridge_over_time_is_the_optimum_of_the_dense_objective():
    """L-BFGS on all coefficients at once, with the chain's dense precision matrix."""
    text = simulate_text(n_words=6, n_effects=2, n_timesteps=4, docs_per_step=8, random_state=2)
    rho, scale, n_steps = 0.6, 0.5, 4
    model = DriftTextModel(prior=Fixed(scale, rho), tol=1e-9, max_iter=5000)
    model.fit(text.counts, text.effects, time=text.time)
    alpha = -rho / (1 + rho**2)
    A = np.eye(n_steps) + alpha * (np.eye(n_steps, k=1) + np.eye(n_steps, k=-1))
    counts = text.counts.toarray()
    totals = np.array([counts[text.time == t].sum() for t in range(n_steps)])
    center = np.array(
        [
            (counts.sum(axis=1)[:, None] * text.effects)[text.time == t].sum(axis=0) / totals[t]
            for t in range(n_steps)
        ]
    )
    x = text.effects - center[text.time]

    def loss(flat):
        beta = flat.reshape(n_steps, 2, 6)
        eta = model.base_background_[text.time] + np.einsum("ni,niw->nw", x, beta[text.time])
        log_p = log_softmax(eta, axis=1)
        residual = counts - counts.sum(axis=1, keepdims=True) * np.exp(log_p)
        smooth = np.einsum("st,tiw->siw", A / scale, beta)
        slope = [x[text.time == t].T @ residual[text.time == t] - smooth[t] for t in range(n_steps)]
        value = (counts * log_p).sum() - 0.5 * (beta * smooth).sum()
        return -value, -np.array(slope).ravel()

    best = minimize(loss, np.zeros(n_steps * 12), jac=True, options={"gtol": 1e-7, "maxiter": 5000})
    assert_allclose(model.coef_path_.ravel(), best.x, atol=1e-5)
    constant = model.objective_history_[-1] + best.fun
    determinant = 0.5 * 12 * (np.linalg.slogdet(A / scale)[1] - n_steps * np.log(2 * np.pi))
    assert_allclose(constant, determinant, rtol=1e-8)


def test_a_sparse_mode_is_stationary_where_it_is_not_zero():
    """Gradient of the exact prior by its own expectations: zero at every live path."""
    text = simulate_text(n_words=20, n_effects=2, n_timesteps=4, random_state=5)
    prior = Exact()
    model = DriftTextModel(prior=prior, tie="path", center=False, tol=1e-6, max_iter=5000)
    model.fit(text.counts, text.effects, time=text.time)
    counts = text.counts.toarray()
    log_p = model.log_prob(text.effects, time=text.time)
    residual = counts - counts.sum(axis=1, keepdims=True) * np.exp(log_p)
    slope = np.array([text.effects[text.time == t].T @ residual[text.time == t] for t in range(4)])
    expected = counts.sum(axis=1, keepdims=True) * np.exp(log_p)
    bend = [(text.effects**2)[text.time == t].T @ expected[text.time == t] for t in range(4)]
    alive = np.argwhere(model.inclusion_probability_ == 1)
    assert 5 < len(alive) < 35
    for i, w in alive:
        path = model.coef_path_[:, i, w]
        omega, beside, _ = prior.expectations(path[None])
        neighbours = np.concatenate([path[1:], [0]]) + np.concatenate([[0], path[:-1]])
        gradient = slope[:, i, w] - omega * path - beside * neighbours
        # In units of the conditional deviation; a pass that rises by 1e-11 a token was the last.
        curvature = np.array([bend[t][i, w] for t in range(4)]) + omega
        assert_allclose(gradient / np.sqrt(curvature), 0.0, atol=2e-3)


@pytest.mark.parametrize("maker", [RidgeAll, RidgeOne])
def test_text_ridge_is_the_fixed_prior_of_the_text_model(maker):
    text = simulate_text(n_words=20, n_effects=2, n_timesteps=3, docs_per_step=10)
    baseline = maker(2.0, family="text", tol=1e-14).fit(text.counts, text.effects, time=text.time)
    rows = np.arange(text.time.size) if maker is RidgeAll else np.flatnonzero(text.time == 2)
    model = DriftTextModel(prior=Fixed(0.5, 0.0), background="all", tol=1e-6)
    model.fit(text.counts[rows], text.effects[rows])
    assert_allclose(baseline.coef_, model.coef_path_[0], atol=1e-5)
    assert_allclose(baseline.background_, model.background_[0], atol=1e-5)


def test_text_ridge_over_time_is_the_fixed_prior_too():
    text = simulate_text(n_words=20, n_effects=2, n_timesteps=3, docs_per_step=10)
    baseline = RidgeTS(2.0, 0.8, family="text", tol=1e-14)
    baseline.fit(text.counts, text.effects, time=text.time)
    model = DriftTextModel(prior=Fixed(0.5, 0.8), tol=1e-6)
    model.fit(text.counts, text.effects, time=text.time)
    assert_allclose(baseline.coef_path_, model.coef_path_, atol=1e-5)
    found = baseline.log_prob(text.effects, time=text.time)
    assert_allclose(found, model.log_prob(text.effects, time=text.time), atol=1e-5)


def test_the_smallest_strength_without_coefficients_is_where_the_grid_begins():
    text = simulate_text(n_words=20, n_effects=2, n_timesteps=3, docs_per_step=10)
    made = LassoAll(family="text")
    chain = next(
        made.tuning_chains(
            text.counts, text.effects, text.counts, time=text.time, y_new=text.effects
        )
    )
    largest = next(chain)[0]["strength"]
    for factor, empty in ((1.001, True), (0.98, False)):
        model = LassoAll(factor * largest, family="text", tol=1e-12)
        model.fit(text.counts, text.effects, time=text.time)
        assert (not model.coef_.any()) == empty


def test_discounted_bursts_are_weighted_poisson_regressions(rng):
    """L-BFGS on all log-rates and coefficients of sum (c eta - exp(eta)) a_n / phi_w, ridge added.

    Weights are those of the documents' variances, computed from them one by one.
    """
    n_docs, n_words, scale = 60, 5, 0.3
    lengths = rng.integers(20, 200, n_docs)
    x = np.column_stack([np.arange(n_docs) % 2, np.arange(n_docs) % 3 == 0]).astype(float)
    shares = [rng.dirichlet(np.array([5, 3, 2, 1, 1.0]) * 4) for _ in range(n_docs)]
    counts = np.array([rng.multinomial(n, p) for n, p in zip(lengths, shares, strict=True)])
    theta = np.log(np.array([0.4, 0.3, 0.1, 0.1, 0.1]))
    model = DriftTextModel(
        background=theta,
        prior=Fixed(scale, 0.0),
        burstiness="estimate",
        tie="path",
        tol=1e-8,
        max_iter=5000,
    ).fit(counts, x)
    rho, phi = model.burstiness_, model.word_burstiness_
    assert rho > 0
    cells, member = np.unique(x, axis=0, return_inverse=True)
    member = member.ravel()
    summed = np.array([counts[member == k].sum(axis=0) for k in range(len(cells))])
    variance = np.bincount(member, lengths * (1 + (lengths - 1) * rho))
    weight = np.outer(np.bincount(member, lengths) / variance, 1 / phi)

    def loss(flat):
        mu, beta = flat[: len(cells)], flat[len(cells) :].reshape(2, n_words)
        eta = mu[:, None] + theta + cells @ beta
        residual = weight * (summed - np.exp(eta))
        value = (weight * (summed * eta - np.exp(eta))).sum() - 0.5 * (beta**2).sum() / scale
        slope = np.concatenate([residual.sum(axis=1), (cells.T @ residual - beta / scale).ravel()])
        return -value, -slope

    start = np.concatenate([np.log(summed.sum(axis=1)), np.zeros(2 * n_words)])
    best = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000})
    expected = best.x[len(cells) :].reshape(2, n_words)
    assert_allclose(model.coef_path_[0], expected, atol=1e-5)
