"""Baselines of documents: what they report, and what does not apply to them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from scipy.special import log_softmax

from driftglm.baselines import LassoAll, LassoOne, RidgeAll, RidgeOne, RidgeTS
from driftglm.exceptions import DataError
from driftglm.simulate import simulate_text

MAKERS = [RidgeOne, RidgeAll, RidgeTS, LassoOne, LassoAll]
TEXT = simulate_text(n_words=25, n_effects=2, n_timesteps=4, docs_per_step=12, random_state=4)


@pytest.mark.parametrize("maker", MAKERS)
def test_every_baseline_fits_scores_and_reports(maker):
    model = maker(5.0, family="text").fit(TEXT.counts, TEXT.effects, time=TEXT.time)
    assert model.coef_.shape == (2, 25)
    assert model.background_.shape == (25,)
    assert model.strength_ == 5.0
    assert model.converged_
    assert np.diff(model.objective_history_).min() >= -1e-9 * abs(model.objective_history_[-1])
    log_p = log_softmax(model.background_ + TEXT.effects_next @ model.coef_, axis=1)
    assert_allclose(model.log_prob(TEXT.effects_next), log_p, atol=1e-12)
    each = (TEXT.counts_next.toarray() * log_p).sum(axis=1)
    found = model.document_log_likelihood(TEXT.counts_next, csr_array(TEXT.effects_next))
    assert_allclose(found, each, rtol=1e-10)
    assert_allclose(model.score(TEXT.counts_next, TEXT.effects_next), each.sum())


@pytest.mark.parametrize(
    ("params", "arguments", "message"),
    [
        ({"always_in": [0]}, {}, "always_in does not apply"),
        ({}, {"sample_weight": np.ones(48)}, "do not apply to family='text'"),
        ({}, {"effects": TEXT.effects[1:]}, "47 rows but counts has 48"),
    ],
)
def test_what_does_not_apply_is_refused(params, arguments, message):
    effects = arguments.pop("effects", TEXT.effects)
    with pytest.raises(DataError, match=message):
        RidgeOne(1.0, family="text", **params).fit(TEXT.counts, effects, **arguments)


def test_methods_of_the_other_families_say_what_to_use():
    model = RidgeOne(1.0, family="text").fit(TEXT.counts, TEXT.effects)
    with pytest.raises(DataError, match="use log_prob"):
        model.predict(TEXT.effects)
    assert not hasattr(RidgeOne(), "document_log_likelihood")
    with pytest.raises(DataError, match="y_new"):
        list(RidgeOne(family="text").tuning_chains(TEXT.counts, TEXT.effects, TEXT.counts))
