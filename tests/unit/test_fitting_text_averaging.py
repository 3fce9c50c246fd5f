"""Forecasters of words: backgrounds of the next step, mixed by probability."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp

import driftglm
from driftglm import DriftTextModel
from driftglm.fitting.text_averaging import FADING, backgrounds
from driftglm.fitting.text_data import collapse
from driftglm.simulate import simulate_text

TEXT = simulate_text(n_words=30, n_effects=2, n_timesteps=6, random_state=1)


@pytest.fixture(scope="module")
def model():
    return DriftTextModel().fit(TEXT.counts, TEXT.effects, time=TEXT.time)


def test_backgrounds_are_those_of_the_last_of_recent_and_of_all_steps():
    contexts = collapse(TEXT.counts, TEXT.effects, TEXT.time)
    base = contexts.log_background(6, "step", 0.5)
    last, recent, everything = backgrounds(contexts, base, 0.5)
    assert_allclose(last, base[-1])
    weights = FADING ** np.arange(6)[::-1]
    shares = np.exp(base)
    assert_allclose(np.exp(recent), weights @ shares / weights.sum(), rtol=1e-12)
    counts = np.asarray(TEXT.counts.sum(axis=0)).ravel() + 0.5
    assert_allclose(np.exp(everything), counts / counts.sum(), rtol=1e-12)


def test_the_next_step_is_a_mixture_of_probabilities(model):
    assert model.extrapolate_ == "average"
    steps = model._text_forecasters.steps(model._fit, 6)
    logs = [next(step.log_probabilities(TEXT.effects_next))[1] for step in steps]
    weights = model.extrapolation_weights_.loc["next"].to_numpy()
    expected = logsumexp(logs, axis=0, b=weights[:, None, None])
    found = model.log_prob(TEXT.effects_next)
    assert_allclose(found, expected, rtol=1e-12)
    assert_allclose(np.exp(found).sum(axis=1), 1.0)
    assert len(weights) == 6


def test_words_that_come_back_are_not_forgotten():
    """A word is silent in the last step: backgrounds that remember it are trusted."""
    rng = np.random.default_rng(0)
    time = np.repeat(np.arange(9), 20)
    counts = rng.poisson(5.0, size=(180, 12)).astype(float)
    # Words 0 to 5 are used in every other step only.
    counts[np.ix_(time % 2 == 1, np.arange(6))] = 0.0
    effects = rng.normal(size=(180, 1))
    now = time == 8
    scores = {}
    for how in ("average", "hold"):
        fitted = DriftTextModel(extrapolate=how).fit(counts[~now], effects[~now], time=time[~now])
        scores[how] = fitted.score(counts[now], effects[now])
    assert scores["average"] > scores["hold"] + 100


def test_later_documents_do_not_matter_and_files_come_back(model, tmp_path):
    counts = TEXT.counts.toarray()
    counts[TEXT.time == 5] = 0.0
    counts[TEXT.time == 5, :3] = 7.0
    other = DriftTextModel().fit(counts, TEXT.effects, time=TEXT.time)
    same = model.extrapolation_scores_.loc[4]
    assert_allclose(other.extrapolation_scores_.loc[4], same, rtol=1e-9)
    assert (
        other.extrapolation_scores_.loc[5] - model.extrapolation_scores_.loc[5]
    ).abs().min() > 0.1
    model.save(tmp_path / "a.drift")
    loaded = driftglm.load(tmp_path / "a.drift")
    assert_allclose(loaded.log_prob(TEXT.effects_next), model.log_prob(TEXT.effects_next))
