"""driftglm itself, as one contestant among the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from driftglm._typing import FloatArray
from peer_fits.data import SMALL, TEXT, PeerData
from peer_fits.tuning import settled


@dataclass(frozen=True)
class Fitted:
    """A fitted model of the package."""

    model: Any
    n_nonzero: int
    converged: bool
    chosen: str = ""

    def predict(self, X: Any) -> FloatArray:
        """Means of the step after the last; for text the log-likelihoods of (counts, effects)."""
        if hasattr(self.model, "document_log_likelihood"):
            counts, effects = X
            return np.asarray(self.model.document_log_likelihood(counts, effects))
        if hasattr(self.model, "predict_proba"):
            return np.asarray(self.model.predict_proba(X)[:, 1])
        return np.asarray(self.model.predict(X))


class Drift:
    """An estimator with one of its priors; nothing is tuned."""

    def __init__(self, prior: str = "learned") -> None:
        self.prior = prior

    def prepare(self, data: PeerData) -> PeerData:
        """Nothing to do: checks, sorting and conversions are part of the fit."""
        return data

    def fit(self, data: PeerData) -> Fitted:
        """One call of `fit`."""
        import driftglm

        settings: dict[str, Any] = {"prior": self.prior, "n_jobs": -1}
        model: Any
        if data.family == TEXT:
            model = driftglm.DriftTextModel(**settings)
        else:
            always = list(data.always_in) or None
            model = driftglm.DriftGLM(family=data.family, always_in=always, **settings)
        with settled():  # its own attribute says whether it has converged
            model.fit(data.X, data.y, time=data.step)
        n_included = int((np.asarray(model.inclusion_probability_) > 0.5).sum())
        return Fitted(model, n_included, bool(model.converged_), f"{model.n_iter_} iterations")


class Baseline:
    """One of the package's baselines, tuned by itself on the last training step."""

    def __init__(self, name: str) -> None:
        self.name = name

    def prepare(self, data: PeerData) -> PeerData:
        """Nothing to do."""
        return data

    def fit(self, data: PeerData) -> Fitted:
        """One call of `fit`."""
        from driftglm import baselines

        model = getattr(baselines, self.name)(family=data.family)
        with settled() as said:
            model.fit(data.X, data.y, time=data.step)
        n_included = int((np.abs(model.coef_) > SMALL).sum())
        return Fitted(model, n_included, said[0], f"strength {model.strength_:.3g}")
