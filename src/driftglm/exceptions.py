"""Everything driftglm raises or warns with on purpose."""

from __future__ import annotations


class DriftError(Exception):
    """Base of all errors raised by driftglm itself."""


class DataError(DriftError, ValueError):
    """The data given cannot be used; the message says what was found and what to do."""


class TimeError(DataError):
    """The time labels cannot be turned into timesteps."""


class EngineError(DriftError, RuntimeError):
    """Workers could not be had, or were lost for good; the data are not to blame."""


class DataWarning(UserWarning):
    """The data can be used, but part of them carries no information."""


class ConvergenceWarning(UserWarning):
    """A solver stopped before its tolerance was reached."""
