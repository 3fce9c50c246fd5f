"""adelie: the path of a lasso, and of a group lasso over time."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

import numpy as np
import scipy.sparse as sp

from driftglm._typing import FloatArray
from peer_fits.tuning import Design, Solution, Tuned, Which


class Path(Tuned):
    """adelie.grpnet; a group is a column, or a feature of the time-expanded design."""

    whole_path = True

    def __init__(self, which: Which = "all steps") -> None:
        self.which = which

    def path(
        self, design: Design, strengths: FloatArray, start: Solution | None
    ) -> Iterator[Solution]:
        """One call; adelie starts every strength from the one before."""
        del start
        ad = import_module("adelie")
        X = design.X
        if sp.issparse(X):
            # With its default of one thread, here and in grpnet, it is faster than with two.
            X = ad.matrix.sparse(X, method="naive")
        state = ad.grpnet(
            X=X,
            glm=getattr(ad.glm, design.family)(design.y),
            groups=np.arange(0, design.X.shape[1], design.n_steps),
            penalty=np.ones(design.n_groups),
            lmda_path=strengths,
            early_exit=False,
            progress_bar=False,
        )
        for k in range(state.betas.shape[0]):
            coef = np.asarray(state.betas[k].todense()).ravel()
            yield Solution(coef, float(state.intercepts[k]), state.betas.shape[0] == strengths.size)
