"""Words in parallel: fixed chunks of them, whatever the number of threads.

Every chunk writes to other arrays, and sums over chunks are taken in their order, so that a
fit has the same digits for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from driftglm._threads import n_threads, parallel_for
from driftglm._typing import FloatArray

N_CHUNKS = 64


def chunks(n_words: int) -> list[tuple[int, int]]:
    """First and last (exclusive) word of every chunk; they depend on the number of words only."""
    size = max(-(-n_words // N_CHUNKS), 1)
    return [(first, min(first + size, n_words)) for first in range(0, n_words, size)]


def run_chunks(
    update: Callable[[int, int, int], None],
    words: int | Sequence[tuple[int, int]],
    n_jobs: int | None,
) -> None:
    """Call `update(chunk, first, last)` for every chunk of so many words, or for those given."""
    given = chunks(words) if isinstance(words, int) else words
    parts = [(c, first, last) for c, (first, last) in enumerate(given)]
    parallel_for(update, parts, n_threads(n_jobs))


def in_order(parts: FloatArray) -> FloatArray:
    """Sum over chunks (the first axis), one after the other."""
    total = np.zeros(parts.shape[1:])
    for part in parts:
        total += part
    return total
