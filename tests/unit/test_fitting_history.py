"""Weights of forecasters, from what each said of steps before it saw them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from driftglm.fitting.history import (
    DISCOUNT,
    LEARNING,
    MOST_ORIGINS,
    MOST_ROWS,
    PRIOR_ROWS,
    History,
    StepScores,
    best_weights,
    independent_rows,
)

PRIOR = np.array(list(PRIOR_ROWS.values()))


def step(code, log_density, weight=None):
    weight = np.ones(len(log_density)) if weight is None else weight
    return StepScores.of(code, code, np.asarray(log_density), weight)


def test_weights_maximise_the_discounted_log_score_of_the_mixture(rng):
    """Against a search over the simplex."""
    scores = tuple(step(code, rng.normal(size=(40, 4)) - 1.0) for code in (4, 5, 6))
    worth = independent_rows(scores, [each.log_density for each in scores])

    def loss(logits):
        w = np.exp(logits - np.logaddexp.reduce(logits))
        total = float(PRIOR @ np.log(w))
        for age, each in zip((2, 1, 0), scores, strict=True):
            factor = worth * DISCOUNT**age * (each.n_before / 7) ** LEARNING
            total += factor * np.mean(np.log(np.exp(each.log_density) @ w))
        return -total

    best = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-9}).x
    expected = np.exp(best - np.logaddexp.reduce(best))
    assert_allclose(best_weights(scores, PRIOR), expected, atol=1e-5)


def test_who_predicts_better_is_trusted_more_and_more(rng):
    history = History.start(PRIOR_ROWS)
    assert_allclose(history.current, PRIOR / PRIOR.sum())
    trusted = []
    for code in range(4, 12):
        # The pooled forecaster is better by 0.2 in every row, give or take.
        log_density = rng.normal(size=(200, 1)) + np.array([0.0, 0.0, 0.0, 0.2])
        history = history.then(step(code, log_density + 0.1 * rng.normal(size=(200, 4))))
        trusted.append(history.weight("pooled"))
    assert trusted[-1] > 0.8 > trusted[0]
    assert (np.diff(trusted) > -0.05).all()
    assert_allclose(history.weights.sum(axis=1), 1.0)


def test_rows_that_share_their_luck_count_as_few(rng):
    def scores(shared):
        """Differences between forecasters, of rows and of whole steps."""
        out = []
        for code in range(4, 12):
            apart = rng.normal(size=(300, 4)) + shared * rng.normal(size=4)
            out.append(step(code, apart))
        return tuple(out)

    alone, together = scores(0.0), scores(1.0)
    found = [independent_rows(s, [each.log_density for each in s]) for s in (alone, together)]
    assert found[0] > 60
    assert 1.0 <= found[1] < 5
    # With few steps a guess of twenty has its say.
    one = independent_rows(alone[:1], [alone[0].log_density])
    assert_allclose(one, 20.0)


def test_forecasters_that_agree_keep_the_weights_of_the_prior(rng):
    same = np.repeat(rng.normal(size=(50, 1)), 4, axis=1)
    assert_allclose(best_weights((step(4, same),), PRIOR), PRIOR / PRIOR.sum(), atol=1e-9)


def test_one_row_beyond_all_measure_does_not_rule_a_forecaster_out(rng):
    log_density = rng.normal(size=(100, 1)) + np.array([0.5, 0.0, 0.0, 0.0])
    log_density[3, 0] = -np.inf
    weights = best_weights((step(4, log_density),), PRIOR)
    assert np.isfinite(weights).all()
    assert weights[0] > 0.5


def test_a_forecaster_that_was_not_asked_has_no_weight(rng):
    log_density = rng.normal(size=(30, 4))
    log_density[:, 2] = -np.inf
    history = History.start(PRIOR_ROWS).then(step(4, log_density))
    assert history.weight("static") == 0.0
    assert_allclose(history.current.sum(), 1.0)
    none = step(5, np.full((30, 4), -np.inf))
    assert_allclose(best_weights((none,), PRIOR), PRIOR / PRIOR.sum())


def test_many_rows_are_thinned_out_whatever_their_order(rng):
    log_density = rng.normal(size=(5 * MOST_ROWS, 4))
    found = step(4, log_density)
    assert found.log_density.shape == (MOST_ROWS, 4)
    assert_allclose(found.weight.sum(), 1.0)
    assert_allclose(found.mean, log_density.mean(axis=0), rtol=1e-12)
    assert_allclose(found.weight @ found.log_density, found.mean, atol=0.04)
    order = rng.permutation(len(log_density))
    assert_array_equal(step(4, log_density[order]).log_density, found.log_density)


@pytest.mark.parametrize("n_rows", [20, 3000])
def test_a_row_of_weight_two_is_two_rows(n_rows, rng):
    log_density, weight = rng.normal(size=(n_rows, 4)), rng.integers(1, 4, n_rows)
    again = np.repeat(log_density, weight, axis=0)
    weighted, repeated = step(4, log_density, weight.astype(float)), step(4, again)
    assert weighted.n_rows == repeated.n_rows
    found = [best_weights((each,), PRIOR) for each in (weighted, repeated)]
    assert_allclose(found[0], found[1], atol=2e-3 if n_rows > MOST_ROWS else 1e-9)


def test_the_last_steps_alone_are_remembered(rng):
    history = History.start(PRIOR_ROWS)
    for code in range(4, 20):
        history = history.then(step(code, rng.normal(size=(10, 4))))
    assert_array_equal(history.codes, np.arange(20 - MOST_ORIGINS, 20))
    assert history.weights.shape == (MOST_ORIGINS + 1, 4)


def spread_after(n_rows: int, found: float) -> float:
    """The factor after six steps of so many rows, each of which asked for `found`."""
    history = History.start({"one": 1.0, "other": 1.0})
    for code in range(6):
        seen = np.zeros((n_rows, 2)), np.full(n_rows, 1.0 / n_rows)
        scores = StepScores.of(code, code, seen[0], seen[1] * n_rows, found)
        history = history.then(scores)
    return history.spread


def test_few_rows_say_little_of_how_wide_forecasts_should_be():
    assert spread_after(20, 3.0) == spread_after(500, 3.0) > 2.0
    assert 1.0 < spread_after(1, 3.0) < 1.5
    assert spread_after(1, 0.3) > 0.8 > spread_after(20, 0.3)
