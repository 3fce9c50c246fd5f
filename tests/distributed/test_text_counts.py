"""Counts of a bundle of words: joined from blocks, cut and added up by step."""

from itertools import pairwise

import numpy as np
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from driftglm.distributed.text_counts import Block, _first_contexts, _merge, _piece, _step_sums

COUNTS = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [4.0, 0.0, 5.0], [0.0, 0.0, 0.0]])
MEMBER = np.array([0, 1, 1, -1])
"""Contexts of the documents; the last one has no tokens."""


def table(counts, n_contexts):
    starts, contexts, values = counts
    out = np.zeros((n_contexts, starts.size - 1))
    for word, (first, last) in enumerate(pairwise(starts)):
        out[contexts[first:last], word] = values[first:last]
    return out


def merged():
    """From two rows of two blocks each."""
    pieces = []
    for documents in (slice(0, 2), slice(2, 4)):
        for words in (slice(0, 2), slice(2, 3)):
            block = Block.of(csr_array(COUNTS[documents, words]), (0.0, 0), None)
            every = slice(0, block.table.shape[1])
            pieces.append(_piece(block, every, MEMBER[documents], 2))
    return _merge(2, *pieces)


def test_blocks_of_documents_and_words_become_counts_of_contexts():
    assert_array_equal(table(merged(), 2), [[1.0, 0.0, 2.0], [4.0, 3.0, 5.0]])


def test_counts_are_cut_after_a_context_and_added_up_by_step():
    assert_array_equal(table(_first_contexts(merged(), 1), 1), [[1.0, 0.0, 2.0]])
    sums = _step_sums(merged(), np.array([0, 2]), 3)
    assert_array_equal(sums, [[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [4.0, 3.0, 5.0]])


def test_the_facts_of_a_block_are_its_shape_and_tokens():
    facts = Block.of(csr_array(COUNTS), (0.0, 3), ["a", "b", "c"]).facts
    assert facts.shape == (4, 3)
    assert_array_equal(facts.totals, [3.0, 3.0, 9.0, 0.0])
