"""A fitted text model: units, centers and uncertainty, against plain sums."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from scipy.special import log_softmax

from driftglm.fitting.text_fit import TextStep, Uncertainty


def test_uncertainty_is_that_of_effects_measured_from_their_center(rng):
    variance, center, effects = rng.random((3, 5)), rng.normal(size=3), rng.normal(size=(4, 2))
    found = Uncertainty.of(variance, center, 2)
    away = np.column_stack([effects, np.zeros(4)]) - center  # the third is 0 for all documents
    assert_allclose(found.half(effects), 0.5 * away**2 @ variance)


def test_words_less_certain_are_expected_more(rng):
    background, coef, effects = rng.normal(size=5), rng.normal(size=(2, 5)), rng.normal(size=(4, 2))
    sure = TextStep(background, coef)
    ((rows, found),) = sure.log_probabilities(effects)
    assert_allclose(found, log_softmax(background + effects @ coef, axis=1))
    assert rows.start == 0
    variance = np.zeros((2, 5))
    variance[:, 3] = 1.0
    unsure = TextStep(background, coef, Uncertainty.of(variance, np.zeros(2), 2))
    ((_, other),) = unsure.log_probabilities(effects)
    assert (other[:, 3] > found[:, 3]).all()
    assert (np.delete(other, 3, axis=1) < np.delete(found, 3, axis=1)).all()


def test_likelihoods_go_through_documents_in_parts(rng):
    step = TextStep(rng.normal(size=3), rng.normal(size=(1, 3)))
    counts, effects = rng.poisson(1.0, (700, 3)), rng.normal(size=(700, 1))
    expected = (counts * log_softmax(step.background + effects @ step.coef, axis=1)).sum(axis=1)
    assert_allclose(step.log_likelihoods(csr_array(counts), effects), expected)
