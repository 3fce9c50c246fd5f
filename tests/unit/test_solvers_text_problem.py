"""Counts by word and contexts, against dense sums."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from scipy.special import logsumexp

from driftglm.solvers.text_problem import add_documents, counts_by_word


def test_documents_without_a_context_are_left_out(rng):
    counts = rng.poisson(1.0, (4, 3)).astype(float)
    found = add_documents(csr_array(counts), np.array([1, -1, 1, 0]), 2).toarray()
    assert_allclose(found, [counts[3], counts[0] + counts[2]])


def test_counts_by_word_are_the_columns(rng):
    counts = rng.poisson(0.7, (6, 4)).astype(float)
    starts, contexts, values = counts_by_word(csr_array(counts))
    for w in range(4):
        part = slice(starts[w], starts[w + 1])
        assert_allclose(contexts[part], np.flatnonzero(counts[:, w]))
        assert_allclose(values[part], counts[contexts[part], w])


def test_settled_rates_give_every_context_its_tokens_and_the_likelihood(text_world, rng):
    contexts, base, problem = text_world(rng)
    start = problem.start_log_rate()
    rates = np.exp(base[contexts.codes] + start[:, None]).sum(axis=1)
    assert_allclose(rates, contexts.totals)
    assert_allclose(problem.settled(start - 0.3, rates * np.exp(-0.3)), start)
    counts = contexts.counts.toarray()
    linear = float((counts * base[contexts.codes]).sum())
    log_p = base[contexts.codes] - logsumexp(base[contexts.codes], axis=1, keepdims=True)
    assert_allclose(problem.log_likelihood(linear, start), (counts * log_p).sum())
