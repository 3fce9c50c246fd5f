"""Rolling-origin splits: train on the past, test on the next step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils.validation import _num_samples

from driftglm._typing import BoolArray, IntArray, MatrixLike, VectorLike
from driftglm.data.groups import numbers_of, read_groups
from driftglm.data.timesteps import Freq, TimeAxis, fit_axis
from driftglm.estimators.time_column import require_time, split_time
from driftglm.exceptions import DataError, TimeError


@dataclass(frozen=True)
class Fold:
    """Rows to train on and rows to test on, all of one step.

    Parameters
    ----------
    step
        Label of the test step.
    train, test
        Positions of the rows, ascending.

    Examples
    --------
    >>> import numpy as np
    >>> from driftglm.evaluation import Fold
    >>> fold = Fold(step=2003, train=np.arange(4), test=np.array([4, 5]))
    >>> fold.step, fold.test.tolist()
    (2003, [4, 5])
    """

    step: Any
    train: IntArray = field(repr=False)
    test: IntArray = field(repr=False)


class RollingOrigin(BaseCrossValidator):
    """Test every step with what was known before it.

    A scikit-learn splitter: pass the time labels as `groups`, as in
    ``cross_val_score(model, X, y, groups=time, cv=RollingOrigin(n_test=3))``. Unlike other
    splitters the test folds do not cover all rows.

    Parameters
    ----------
    dev
        Label of the step on which `compare` tunes; default: the last step with rows before the
        first test step.
    test
        Labels of the test steps, all after `dev`; default: every step with rows after `dev`.
    n_test
        Instead of `test`: the last `n_test` steps that have rows.
    window
        Number of steps to train on; None: all earlier ones (an expanding window). Steps without
        rows count, so that a window is always equally long in time.
    gap
        Number of steps left out between training and test.
    freq
        Length of a step, as in `driftglm.DriftRegressor`: needed for dates.
    time
        A column of X, a frame, that holds the times, as in `driftglm.DriftRegressor`; then neither
        `groups` nor routing is needed.
    hold_out_groups
        Groups whose rows are never trained on, and alone are tested: their share (a float below 1),
        their number (an int), both drawn with `random_state`, or a list of ids. How well are firms
        predicted that were not there before? Every method then needs `ids`, the group of each row.
    random_state
        Seed for drawing groups; the same groups are held out at every origin.

    Examples
    --------
    >>> years = [2001, 2001, 2002, 2003, 2003, 2004]
    >>> splitter = RollingOrigin(n_test=2)
    >>> for train, test in splitter.split(years, groups=years):
    ...     print(train, test)
    [0 1 2] [3 4]
    [0 1 2 3 4] [5]
    >>> splitter.dev_split(years, groups=years)
    (array([0, 1]), array([2]))
    """

    # The splits need time, which scikit-learn passes as groups, or as time where routing is on.
    __metadata_request__split = {"groups": True, "time": True}  # noqa: RUF012

    def __init__(  # noqa: PLR0913 (scikit-learn reads parameters off the signature)
        self,
        dev: object = None,
        test: object = None,
        *,
        n_test: int | None = None,
        window: int | None = None,
        gap: int = 0,
        freq: Freq = None,
        time: str | None = None,
        hold_out_groups: object = None,
        random_state: int = 0,
    ) -> None:
        if test is not None and n_test is not None:
            raise DataError("both test and n_test were given; name the test steps or their number.")
        if dev is None and test is None and n_test is None:
            raise DataError("nothing says which steps to test; pass test=[...] or n_test=3.")
        for name, value, least in (("n_test", n_test, 1), ("window", window, 1), ("gap", gap, 0)):
            if value is not None and (not isinstance(value, int | np.integer) or value < least):
                raise DataError(f"{name}={value!r}; pass an integer of {least} or more.")
        self.dev = dev
        self.test = test
        self.n_test = n_test
        self.window = window
        self.gap = gap
        self.freq = freq
        self.time = time
        self.hold_out_groups = hold_out_groups
        self.random_state = random_state

    # ------------------------------------------------------- scikit-learn's way

    def split(
        self,
        X: MatrixLike,
        y: object = None,
        groups: VectorLike = None,
        *,
        time: VectorLike = None,
        ids: VectorLike = None,
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield (train, test) row positions for every test step; `groups` is time.

        `ids` are the groups of the rows, for `hold_out_groups`.
        """
        del y
        for fold in self.folds(self._times(X, groups, time), _num_samples(X), ids):
            yield fold.train, fold.test

    def dev_split(
        self,
        X: MatrixLike,
        y: object = None,
        groups: VectorLike = None,
        *,
        time: VectorLike = None,
        ids: VectorLike = None,
    ) -> tuple[IntArray, IntArray]:
        """(train, test) row positions for the dev step."""
        del y
        fold = self.dev_fold(self._times(X, groups, time), _num_samples(X), ids)
        return fold.train, fold.test

    def _times(self, X: Any, groups: VectorLike, time: VectorLike) -> Any:
        """Times as they were given, or those of the column of X that holds them."""
        if groups is not None or time is not None or self.time is None:
            return _labels(groups, time)
        require_time(X, None, self.time)
        return split_time(X, None, self.time, self.freq)[1]

    def get_n_splits(self, X: object = None, y: object = None, groups: VectorLike = None) -> int:
        """Number of test steps; `groups` is needed only where the steps are not named."""
        del y
        if self.test is not None:
            return len(np.atleast_1d(np.asarray(self.test, dtype=object)))
        if self.n_test is not None:
            return self.n_test
        labels = self._times(X, groups, None)
        axis, codes = fit_axis(labels, _num_samples(labels), self.freq)
        return len(self._test_codes(axis, codes))

    # ------------------------------------------------------------ as named folds

    def folds(self, time: ArrayLike, n_rows: int, ids: VectorLike = None) -> list[Fold]:
        """The test folds in the order of time."""
        axis, codes = fit_axis(time, n_rows, self.freq)
        held = self._held_out(ids, n_rows)
        return [self._fold(axis, codes, code, held) for code in self._test_codes(axis, codes)]

    def dev_fold(self, time: ArrayLike, n_rows: int, ids: VectorLike = None) -> Fold:
        """The fold whose test rows are those of the dev step."""
        axis, codes = fit_axis(time, n_rows, self.freq)
        return self._fold(axis, codes, self._dev_code(axis, codes), self._held_out(ids, n_rows))

    def fold_before(self, fold: Fold, time: ArrayLike, n_rows: int, ids: VectorLike = None) -> Fold:
        """The fold one step earlier: it tests the last step that `fold` trains on."""
        axis, codes = fit_axis(time, n_rows, self.freq)
        last = int(codes[fold.train].max())
        return self._fold(axis, codes, last, self._held_out(ids, n_rows))

    def _held_out(self, ids: VectorLike, n_rows: int) -> BoolArray | None:
        """(n_rows,) whether a row's group is held out; None: no group is."""
        wanted: Any = self.hold_out_groups
        if wanted is None:
            return None
        if ids is None:
            raise DataError(
                "hold_out_groups needs the group of every row; pass ids= to split, or groups= to "
                "compare."
            )
        labels, group = read_groups(ids, n_rows)
        if np.ndim(wanted) > 0:
            chosen = numbers_of(read_groups(wanted, len(wanted))[0], labels)
            if (chosen < 0).any():
                raise DataError(
                    f"hold_out_groups names {int((chosen < 0).sum())} ids that no row has; name "
                    f"ids such as {labels[0].item()!r}."
                )
        else:
            number = _number_held_out(wanted, labels.size)
            chosen = np.random.default_rng(self.random_state).permutation(labels.size)[:number]
        return np.asarray(np.isin(group, chosen))

    def _fold(self, axis: TimeAxis, codes: IntArray, code: int, held: BoolArray | None) -> Fold:
        stop = code - self.gap
        start = 0 if self.window is None else stop - self.window
        before, now = (codes >= start) & (codes < stop), codes == code
        train = np.flatnonzero(before if held is None else before & ~held)
        test = np.flatnonzero(now if held is None else now & held)
        label = axis.labels[code]
        if test.size == 0:
            raise TimeError(
                f"step {label} has no row of a group that is held out; hold out more groups, or "
                "test other steps."
            )
        if train.size == 0:
            reach = f"{self.window} steps" if self.window else "all steps"
            raise TimeError(
                f"step {label} has no rows to train on: {reach} before it, less a gap of "
                f"{self.gap}, are empty. Choose later test or dev steps."
            )
        return Fold(label, train, test)

    def _test_codes(self, axis: TimeAxis, codes: IntArray) -> list[int]:
        observed = np.unique(codes)
        if self.test is not None:
            kinds = list | tuple | np.ndarray | pd.Index | pd.Series | range
            given = list(self.test) if isinstance(self.test, kinds) else [self.test]
            tests = sorted({_code(axis, label, observed, "test") for label in given})
        elif self.n_test is not None:
            if self.n_test >= observed.size:
                raise TimeError(
                    f"n_test={self.n_test} but only {observed.size} steps have rows; at least one "
                    "must be left to train on. Lower n_test."
                )
            tests = observed[-self.n_test :].tolist()
        else:
            dev = _code(axis, self.dev, observed, "dev")
            tests = observed[observed > dev].tolist()
        if not tests:
            raise TimeError(f"there is no step to test after dev={self.dev!r}; choose earlier.")
        if self.dev is not None and tests[0] <= _code(axis, self.dev, observed, "dev"):
            raise TimeError(
                f"test step {axis.labels[tests[0]]} is not after dev={self.dev!r}: what is tuned "
                "on dev would have seen the future. Move dev before all test steps."
            )
        return tests

    def _dev_code(self, axis: TimeAxis, codes: IntArray) -> int:
        observed = np.unique(codes)
        if self.dev is not None:
            return _code(axis, self.dev, observed, "dev")
        first = self._test_codes(axis, codes)[0]
        before = observed[observed < first]
        if before.size == 0:
            raise TimeError("no step lies before the first test step, so there is none to tune on.")
        return int(before[-1])


def _number_held_out(wanted: object, n_groups: int) -> int:
    """How many groups to hold out; one at least is held out, and one is not."""
    if isinstance(wanted, int | np.integer) and not isinstance(wanted, bool):
        number = int(wanted)
    elif isinstance(wanted, float) and 0.0 < wanted < 1.0:
        number = max(1, round(wanted * n_groups))
    else:
        number = 0
    if not 0 < number < n_groups:
        raise DataError(
            f"hold_out_groups={wanted!r} of {n_groups} groups; pass a share between 0 and 1, a "
            f"number from 1 to {n_groups - 1}, or a list of ids."
        )
    return number


def _labels(groups: VectorLike, time: VectorLike) -> ArrayLike:
    """The time labels, by whichever name they came."""
    labels = groups if time is None else time
    if labels is None:
        raise TimeError(
            "RollingOrigin needs the time of every row; pass groups=time (scikit-learn's name for "
            "it) or time=time."
        )
    return labels


def _code(axis: TimeAxis, label: object, observed: IntArray, argument: str) -> int:
    """Step of a label the user named; it must have rows."""
    labels = axis.labels
    wanted: Any = label
    if isinstance(labels, pd.PeriodIndex):
        if not isinstance(wanted, pd.Period):
            wanted = pd.Period(wanted, freq=str(axis.freq))
        wanted = wanted.asfreq(labels[0].freq)
    found = [code for code in observed if labels[code] == wanted]
    if not found:
        known = ", ".join(str(labels[code]) for code in observed)
        raise TimeError(
            f"{argument} names the step {label!r}, which has no rows; the steps with rows are "
            f"{known}."
        )
    return int(found[0])
