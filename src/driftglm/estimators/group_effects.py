"""What an estimator says about groups of rows."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from driftglm._typing import IntArray, VectorLike
from driftglm.data.groups import UNSEEN, known_groups
from driftglm.data.timesteps import TimeAxis
from driftglm.exceptions import DataError
from driftglm.families import Family
from driftglm.fitting.group_effects import GroupFit
from driftglm.fitting.outcome import Forecaster


class GroupEffects:
    """Mixin: `group_effects_` and `group_variance_` of a fit with `groups=`."""

    family_: Family
    classes_: np.ndarray
    _axis: TimeAxis
    _group_labels: np.ndarray | None

    @property
    @abstractmethod
    def _forecaster(self) -> Forecaster: ...

    def _group_numbers(self, groups: VectorLike, n_rows: int) -> IntArray | None:
        """(n_rows,) numbers of rows' groups; None where the fit knows no groups.

        Without ids every row is one of a group that was not seen.
        """
        if self._group_labels is None:
            if groups is not None:
                raise DataError(
                    "the model was fitted without groups and knows no effect of any; leave groups "
                    "out, or fit with groups=."
                )
            return None
        if groups is None:
            return np.full(n_rows, UNSEEN, dtype=np.int64)
        return known_groups(groups, n_rows, self._group_labels)

    @property
    def group_effects_(self) -> pd.DataFrame:
        """Effects of groups: group, step, effect, std; more classes have a column `class` first.

        Of a constant effect the step is missing; where effects are drawn anew in every step there
        is a row for every step a group was seen in, with all that rows of the group share there.
        Effects are on the scale of eta.
        """
        tables = [self._effects_of(fit) for fit in self._group_fits()]
        if not self.family_.coupled:
            return tables[0]
        for label, table in zip(self.classes_, tables, strict=True):
            table.insert(0, "class", label)
        return pd.concat(tables, ignore_index=True)

    @property
    def group_variance_(self) -> pd.DataFrame:
        """Variances between groups, a row a response: constant, and drawn anew in every step."""
        rows = [fit.prior for fit in self._group_fits()]
        labels = self.classes_ if self.family_.coupled else None
        return pd.DataFrame(rows, columns=["constant", "anew"], index=labels)

    def _group_fits(self) -> tuple[GroupFit, ...]:
        check_is_fitted(self, "coef_path_")
        found = self._forecaster.groups
        if not found:
            raise AttributeError(
                "the model was fitted without groups; pass fit(..., groups=ids) to have effects "
                "of groups."
            )
        return found

    def _effects_of(self, fit: GroupFit) -> pd.DataFrame:
        labels = self._group_labels
        assert labels is not None  # noqa: S101 (a fit of groups has labels)
        parts = []
        if fit.prior[0] > 0 or not fit.prior[1] > 0:
            seen = np.unique(fit.keys // fit.stride)
            values = {"effect": fit.mean[seen], "std": np.sqrt(fit.variance[seen])}
            parts.append(pd.DataFrame({"group": labels[seen], "step": None, **values}))
        if fit.prior[1] > 0:
            group, code = np.divmod(fit.keys, fit.stride)
            values = {"effect": fit.cell_mean, "std": np.sqrt(fit.cell_variance)}
            steps = np.asarray(self._axis.labels)[code]
            parts.append(pd.DataFrame({"group": labels[group], "step": steps, **values}))
        return pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]
