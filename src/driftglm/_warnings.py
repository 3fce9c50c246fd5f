"""Warnings that point at the user's own line, however deep in the package they are raised."""

from __future__ import annotations

import sys
import warnings

INSIDE = ("driftglm", "sklearn", "contextlib")
"""Packages whose frames are not the user's."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn about what the first caller outside of this package has asked for."""
    level = 1
    frame = sys._getframe(1)  # noqa: SLF001 (the documented way to look at callers)
    while frame.f_back is not None and _top(frame.f_globals.get("__name__", "")) in INSIDE:
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level + 1)


def _top(module: str) -> str:
    """The package a module lies in."""
    return module.partition(".")[0]
