"""The baselines with family="text", and text models in a comparison."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.linear_model import Ridge

from driftglm import DriftTextModel
from driftglm.baselines import LassoAll, LassoOne, RidgeAll, RidgeOne, RidgeTS
from driftglm.evaluation import RollingOrigin, compare
from driftglm.exceptions import DataError
from driftglm.fitting.text_data import log_background
from driftglm.simulate import simulate_text

MAKERS = [RidgeOne, RidgeAll, RidgeTS, LassoOne, LassoAll]
TEXT = simulate_text(n_words=25, n_effects=2, n_timesteps=4, docs_per_step=12, random_state=4)


@pytest.mark.parametrize(("maker", "kind"), [(RidgeOne, "step"), (RidgeAll, "all")])
def test_backgrounds_are_the_paper_s(maker, kind):
    """-one: of the last training step; -all: of all training documents."""
    model = maker(1e9, family="text").fit(TEXT.counts, TEXT.effects, time=TEXT.time)
    expected = log_background(TEXT.counts, TEXT.time, 4, kind, 0.5)[-1]
    assert_allclose(model.background_, expected, atol=1e-4)


@pytest.mark.parametrize("maker", MAKERS)
def test_what_is_none_is_chosen_on_the_last_step(maker):
    model = maker(family="text").fit(TEXT.counts, TEXT.effects, time=TEXT.time)
    assert model.strength_ > 0
    past = np.flatnonzero(TEXT.time < 3)
    now = np.flatnonzero(TEXT.time == 3)
    given = {name: getattr(model, f"{name}_") for name in model.tunable_params()}

    def held_out(**params):
        fit = maker(family="text", **params)
        fit.fit(TEXT.counts[past], TEXT.effects[past], time=TEXT.time[past])
        return fit.score(TEXT.counts[now], TEXT.effects[now])

    best = held_out(**given)
    for factor in (20.0, 0.05):
        # Candidates are ranked by fits of a coarser tolerance than this one's.
        assert best > held_out(**given | {"strength": factor * given["strength"]}) - 2.0


def test_a_window_and_a_single_step():
    recent = np.flatnonzero(TEXT.time >= 2)
    short = RidgeAll(3.0, family="text", window=2).fit(TEXT.counts, TEXT.effects, time=TEXT.time)
    same = RidgeAll(3.0, family="text").fit(TEXT.counts[recent], TEXT.effects[recent])
    assert_allclose(short.coef_, same.coef_, atol=1e-10)
    tuned = LassoOne(family="text").fit(TEXT.counts[recent], TEXT.effects[recent])
    assert tuned.strength_ > 0


def test_a_comparison_needs_text_models_only():
    splitter = RollingOrigin(n_test=1)
    mixed = {"text": DriftTextModel(), "ridge": Ridge()}
    with pytest.raises(DataError, match="no loss in common"):
        compare(mixed, TEXT.counts, TEXT.effects, TEXT.time, splitter)
    with pytest.raises(DataError, match="does not suit all models"):
        compare(
            {"text": DriftTextModel()}, TEXT.counts, TEXT.effects, TEXT.time, splitter, metric="mse"
        )
    with pytest.raises(DataError, match="does not suit all models"):
        compare({"ridge": Ridge()}, TEXT.effects, TEXT.time, TEXT.time, splitter, metric="nll")


def test_a_comparison_of_text_is_cached_and_resumes(tmp_path):
    models = {"learned": DriftTextModel(prior="fixed"), "lasso": LassoAll(family="text")}
    arguments = (models, TEXT.counts, csr_array(TEXT.effects), TEXT.time, RollingOrigin(n_test=1))
    first = compare(*arguments, cache_dir=tmp_path)
    again = compare(*arguments, cache_dir=tmp_path)
    for name in models:
        assert_allclose(first.loss[name], again.loss[name], rtol=0)
