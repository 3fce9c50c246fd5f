"""python-glmnet: the path of a lasso."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

import numpy as np

from driftglm._typing import FloatArray
from peer_fits.tuning import Design, Solution, Tuned


class Path(Tuned):
    """glmnet.ElasticNet or LogitNet with alpha=1; columns are not standardised."""

    whole_path = True

    def path(
        self, design: Design, strengths: FloatArray, start: Solution | None
    ) -> Iterator[Solution]:
        """One call; glmnet starts every strength from the one before."""
        del start
        glmnet = import_module("glmnet")
        kind = glmnet.ElasticNet if design.family == "gaussian" else glmnet.LogitNet
        # The first strength of a path is replaced by one made of the next two: one more in front.
        ahead = np.append(2.0 * strengths[0], strengths)
        model = kind(alpha=1, n_splits=0, standardize=False, lambda_path=ahead)
        model.fit(design.X, design.y)
        coef = model.coef_path_.reshape(design.X.shape[1], -1)
        intercept = np.ravel(model.intercept_path_)
        found = intercept.size == ahead.size
        for k in range(1, intercept.size):
            yield Solution(coef[:, k].copy(), float(intercept[k]), found)
