"""Words in parallel: fixed chunks of them, whatever the number of threads.

Every chunk writes to arrays of its own, and sums over chunks are taken in their order, so that a
fit has the same digits for any number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

import numba
import numpy as np

from driftglm._typing import FloatArray

N_CHUNKS = 64

Function = TypeVar("Function", bound=Callable[..., Any])


def released(function: Function) -> Function:
    """A kernel that lets other threads run beside it; what it calls does too."""
    compiled = numba.njit(cache=True, error_model="numpy", nogil=True)(function)
    return cast("Function", compiled)


def n_threads(n_jobs: int | None) -> int:
    """Threads meant by `n_jobs`, by scikit-learn's convention: None is 1, -1 all processors."""
    if n_jobs is None:
        return 1
    if n_jobs < 0:
        return max((os.cpu_count() or 1) + 1 + n_jobs, 1)
    return max(n_jobs, 1)


def chunks(n_words: int) -> list[tuple[int, int]]:
    """First and last (exclusive) word of every chunk; they depend on the number of words only."""
    size = max(-(-n_words // N_CHUNKS), 1)
    return [(first, min(first + size, n_words)) for first in range(0, n_words, size)]


def run_chunks(
    visit: Callable[[int, int, int], None],
    words: int | Sequence[tuple[int, int]],
    n_jobs: int | None,
) -> None:
    """Call `visit(chunk, first, last)` for every chunk of so many words, or for those given."""
    given = chunks(words) if isinstance(words, int) else words
    parts = [(c, first, last) for c, (first, last) in enumerate(given)]
    threads = min(n_threads(n_jobs), len(parts))
    if threads == 1:
        for part in parts:
            visit(*part)
        return
    with ThreadPoolExecutor(threads) as pool:
        for future in [pool.submit(visit, *part) for part in parts]:
            future.result()


def in_order(parts: FloatArray) -> FloatArray:
    """Sum over chunks (the first axis), one after the other."""
    total = np.zeros(parts.shape[1:])
    for part in parts:
        total += part
    return total
