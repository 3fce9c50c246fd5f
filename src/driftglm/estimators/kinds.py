"""What every kind of feature is worth: the table behind `feature_groups=`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from driftglm.estimators.statements import INCLUDED
from driftglm.exceptions import DataError
from driftglm.fitting.fits import Fit
from driftglm.fitting.kinds import KindsFit


class KindsOfFeatures:
    """Mixin: what `feature_groups=` found."""

    family_: Any
    classes_: Any
    _fits: Any

    def kinds_summary(self) -> pd.DataFrame:
        """One row a kind of feature; of every class, if there are several.

        Columns: kind; n_features; expected_nonzero and expected_drifting (sums of probabilities
        over its features); zeros (features whose inclusion probability is below one half);
        rms (root mean square, over the training rows, of what the kind adds to eta, about its
        mean); share (covariance of that with eta over the variance of eta: with the intercept's,
        which is no kind, shares add up to one); typical_size (median, over the features that are
        no zeros, of the root mean square of x * beta; NaN where all are zeros).
        """
        check_is_fitted(self, "coef_path_")
        if any(getattr(fit, "kinds", None) is None for fit in self._fits):
            raise DataError(
                "the model was fitted without feature_groups, so that all features are of one "
                "kind; pass feature_groups={name: columns} to tell kinds apart."
            )
        tables = [_table(fit, fit.kinds) for fit in self._fits]
        if not self.family_.coupled:
            return tables[0]
        for label, table in zip(self.classes_, tables, strict=True):
            table.insert(0, "class", label)
        return pd.concat(tables, ignore_index=True)


def _table(fit: Fit, kinds: KindsFit) -> pd.DataFrame:
    """The rows of one response."""
    inclusion = fit.inclusion()
    drifting = fit.drift_probability()
    rows = []
    for code, name in enumerate(kinds.names):
        members = kinds.codes == code
        kept = members & (inclusion >= INCLUDED)
        rows.append(
            {
                "kind": name,
                "n_features": int(members.sum()),
                "expected_nonzero": float(inclusion[members].sum()),
                "expected_drifting": float(drifting[members].sum()),
                "zeros": int((members & ~kept).sum()),
                "rms": float(kinds.size[code]),
                "share": float(kinds.share[code]),
                "typical_size": float(np.median(fit.importance[kept])) if kept.any() else np.nan,
            }
        )
    return pd.DataFrame(rows)
