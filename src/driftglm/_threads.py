"""Linear algebra on one thread, whose sums then do not depend on how many there are."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
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
