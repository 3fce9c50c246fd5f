"""Threads: none where sums would depend on their number, several where they do not."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from itertools import pairwise
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    # Finding the libraries takes milliseconds, longer than what they are called for.
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[Any]:
    """A context in which BLAS and LAPACK use one thread."""
    limits: AbstractContextManager[Any] = _controller().limit(limits=1)
    return limits


def n_threads(n_jobs: int | None) -> int:
    """Threads meant by `n_jobs`, by scikit-learn's convention: None is 1, -1 all processors."""
    if n_jobs is None:
        return 1
    if n_jobs < 0:
        return max((os.cpu_count() or 1) + 1 + n_jobs, 1)
    return max(n_jobs, 1)


def parallel_for(work: Callable[..., None], parts: Sequence[tuple[Any, ...]], threads: int) -> None:
    """Call `work` with every part, in several threads; parts must not write to the same place."""
    threads = min(threads, len(parts))
    if threads <= 1:
        for part in parts:
            work(*part)
        return
    with ThreadPoolExecutor(threads) as pool:
        for future in [pool.submit(work, *part) for part in parts]:
            future.result()


def ranges(count: int, n_parts: int) -> list[tuple[int, int]]:
    """First and last (exclusive) of every part of range(count), nearly equal, none empty."""
    ends = [count * k // n_parts for k in range(n_parts + 1)]
    return [(a, b) for a, b in pairwise(ends) if a < b]
