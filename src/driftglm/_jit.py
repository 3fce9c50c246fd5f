"""One place that decides how kernels are compiled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO, TypeVar, cast

import numba

_KERNELS: list[Any] = []
_announced = False

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function of plain arrays and scalars; the machine code is cached on disk.

    Kernels let other threads run beside them. Those that receive or close over other jitted
    *objects* miss the cache in every new process, so they take arrays only. Calling another
    module-level kernel is fine.
    """
    compiled = numba.njit(cache=True, error_model="numpy", nogil=True)(function)
    _KERNELS.append(compiled)
    return cast("Function", compiled)


def announce_compilation(stream: TextIO) -> None:
    """Say, once, that kernels are being compiled, if no machine code of theirs is on disk yet."""
    global _announced  # noqa: PLW0603
    if _announced:
        return
    _announced = True
    if not any(kernel.stats.cache_path and _has_code(kernel) for kernel in _KERNELS):
        stream.write("driftglm: compiling its kernels; this happens once and takes a minute.\n")
        stream.flush()


def _has_code(compiled: Any) -> bool:
    folder = Path(compiled.stats.cache_path)
    return any(folder.glob(f"*{compiled.py_func.__name__}-*.nbi"))
