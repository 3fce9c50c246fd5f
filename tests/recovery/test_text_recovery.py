"""Text drawn from the model with known effects: what was planted comes out."""

import numpy as np
import pytest

from driftglm import DriftTextModel
from driftglm.baselines import LassoAll, LassoOne, RidgeAll, RidgeOne, RidgeTS
from driftglm.evaluation import RollingOrigin, compare
from driftglm.simulate import simulate_text

# About 400 tokens of a typical planted word at a step: coefficients have standard errors of .1, and
# move by .4 around their means.
TEXT = simulate_text(tokens_per_doc=2000, drift=0.5, correlation=0.6, random_state=7)


def truth_score(text):
    eta = text.background[-1] + text.effects_next @ text.coef_path[-1]
    eta -= np.logaddexp.reduce(eta, axis=1)[:, None]
    return float((text.counts_next.toarray() * eta).sum())


@pytest.mark.parametrize("tie", ["effect", "path"])
def test_planted_words_are_found_and_their_paths_followed(tie):
    """40 planted paths among 800; precision at 40 at least .9 (chance: .05)."""
    model = DriftTextModel(tie=tie).fit(TEXT.counts, TEXT.effects, time=TEXT.time)
    n_planted = int(TEXT.planted.sum())
    size = np.sqrt(np.mean(model.coef_path_**2, axis=0))
    top = np.argsort(-size.ravel())[:n_planted]
    assert TEXT.planted.ravel()[top].mean() >= 0.9
    included = model.inclusion_probability_ > 0.5
    assert TEXT.planted[included].mean() >= 0.9
    assert included[TEXT.planted].mean() >= 0.8
    # Drifting paths: fitted ones follow the truth over time, not only on average. A common shift
    # of all words changes no probability, so the truth is what the model is compared with.
    fit, true = model.coef_path_[:, TEXT.planted], TEXT.coef_path[:-1][:, TEXT.planted]
    assert np.corrcoef(fit.ravel(), true.ravel())[0, 1] > 0.95
    moving = [part - part.mean(axis=0) for part in (fit, true)]
    assert np.corrcoef(*(part.ravel() for part in moving))[0, 1] > 0.85
    error = np.sqrt(np.mean((fit - true) ** 2))
    assert error < 0.5 * np.sqrt(np.mean((true - true.mean()) ** 2))


def test_the_next_step_is_predicted_better_than_by_the_background_and_ridge():
    learned = DriftTextModel().fit(TEXT.counts, TEXT.effects, time=TEXT.time)
    score = learned.score(TEXT.counts_next, TEXT.effects_next)
    alone = float((TEXT.counts_next.toarray() @ learned.base_background_[-1]).sum())
    best = truth_score(TEXT)
    assert alone < score < best
    assert score - alone > 0.6 * (best - alone)
    for maker in (RidgeOne, RidgeTS):
        ridge = maker(family="text").fit(TEXT.counts, TEXT.effects, time=TEXT.time)
        assert ridge.score(TEXT.counts_next, TEXT.effects_next) < score


def test_text_without_effects_has_none():
    """Nothing planted: no more than 1 % of the paths may be included."""
    text = simulate_text(words_per_effect=0, random_state=11)
    model = DriftTextModel().fit(text.counts, text.effects, time=text.time)
    assert (model.inclusion_probability_ > 0.5).mean() < 0.01
    score = model.score(text.counts_next, text.effects_next)
    alone = float((text.counts_next.toarray() @ model.base_background_[-1]).sum())
    assert score > alone - 5.0


def test_text_models_can_be_compared():
    """X is the counts, y the effects; baselines tune themselves on the step before."""
    text = simulate_text(n_words=60, docs_per_step=20, random_state=3)
    models = {
        "learned": DriftTextModel(),
        "ridge-one": RidgeOne(family="text"),
        "ridge-all": RidgeAll(family="text"),
        "lasso-one": LassoOne(family="text"),
        "lasso-all": LassoAll(family="text"),
        "ridge-ts": RidgeTS(family="text", strength=10.0, autocorrelation=0.9),
    }
    result = compare(models, text.counts, text.effects, text.time, RollingOrigin(n_test=2))
    assert result.metric == "nll"
    table = result.table(format="frame")
    assert list(table.columns) == list(models)
    assert table.loc["overall", "learned"] < table.loc["overall", "ridge-one"]
    past = np.flatnonzero(text.time < 5)
    now = np.flatnonzero(text.time == 5)
    alone = DriftTextModel().fit(text.counts[past], text.effects[past], time=text.time[past])
    mean = -alone.score(text.counts[now], text.effects[now]) / now.size
    assert np.isclose(table.loc["5", "learned"], mean)
    assert set(result.predictions["y"]) == {400.0}
