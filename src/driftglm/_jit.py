"""One place that decides how kernels are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function of plain arrays and scalars; the machine code is cached on disk.

    Kernels that receive or close over other jitted *objects* miss the cache in every new
    process, so they take arrays only. Calling another module-level kernel is fine.
    """
    return cast("Function", numba.njit(cache=True, error_model="numpy")(function))
