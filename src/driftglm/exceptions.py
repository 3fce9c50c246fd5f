"""Everything driftglm raises or warns with on purpose."""

from __future__ import annotations


class DriftError(Exception):
    """Base of all errors raised by driftglm itself.

    Examples
    --------
    >>> from driftglm.exceptions import DataError, DriftError, EngineError
    >>> issubclass(DataError, DriftError), issubclass(EngineError, DriftError)
    (True, True)
    """


class DataError(DriftError, ValueError):
    """The data given cannot be used; the message says what was found and what to do.

    Examples
    --------
    >>> from driftglm import DriftRegressor
    >>> from driftglm.exceptions import DataError
    >>> try:
    ...     DriftRegressor().fit([[1.0], [2.0]], [1.0, 2.0], time=[2001])
    ... except DataError as error:
    ...     print("refused")
    refused
    """


class TimeError(DataError):
    """The time labels cannot be turned into timesteps.

    Examples
    --------
    >>> from driftglm import DriftRegressor
    >>> from driftglm.exceptions import TimeError
    >>> try:
    ...     DriftRegressor().fit([[1.0], [2.0]], [1.0, 2.0], time=[200112, 200201])
    ... except TimeError as error:
    ...     print("freq" in str(error))
    True
    """


class EngineError(DriftError, RuntimeError):
    """Workers could not be had, or were lost for good; the data are not to blame.

    Examples
    --------
    >>> from driftglm.exceptions import DataError, EngineError
    >>> issubclass(EngineError, DataError)
    False
    """


class DataWarning(UserWarning):
    """The data can be used, but part of them carries no information.

    Examples
    --------
    >>> import warnings
    >>> from driftglm.exceptions import DataWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", DataWarning)  # say so where you know better
    """


class ConvergenceWarning(UserWarning):
    """A solver stopped before its tolerance was reached.

    Examples
    --------
    >>> import warnings
    >>> from driftglm.exceptions import ConvergenceWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ConvergenceWarning)  # stop rather than go on
    """
