"""What every peer is given, and what it gives back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from driftglm._typing import FloatArray, IntArray
from driftglm.exceptions import DataError
from driftglm.families import family_named, uncoupled_family
from driftglm.families.base import CERTAIN

TEXT = "text"


class _Labels(dict[str, str]):
    """What a loss is called, by the name of a family."""

    def __missing__(self, family: str) -> str:
        return family_named(family).metric_label


LOSSES = _Labels(text="mean negative log-likelihood of a document")
SMALL = 1e-10
"""A coefficient below it counts as zero."""


class NotApplicableError(Exception):
    """A peer cannot be used on these data; the message is the reason."""


@dataclass(frozen=True)
class PeerData:
    """Rows of steps 0..T-1 to fit, rows of step T to predict.

    Parameters
    ----------
    family
        "gaussian", "binomial" (y is 0 or 1), "poisson", another registered family with one linear
        predictor a row, or "text".
    X
        (n, p) dense or CSR; word counts for text.
    y
        (n,); for text the effects (n, F).
    step
        (n,) codes 0..T-1, every one of which has rows.
    always_in
        Columns that driftglm is told to keep. Peers have no such option in common; scale these
        columns up, which all but frees them of a penalty.
    """

    name: str
    family: str
    X: Any
    y: FloatArray
    step: IntArray
    X_next: Any
    y_next: FloatArray
    always_in: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.family != TEXT:
            uncoupled_family(self.family)
        seen = np.unique(self.step)
        if not np.array_equal(seen, np.arange(seen.size)):
            raise DataError(f"steps are {seen[:10]}; peers need the codes 0, 1, ... without a gap.")

    @property
    def sparse(self) -> bool:
        """Whether X is sparse."""
        return bool(sp.issparse(self.X))

    @property
    def n_steps(self) -> int:
        """T."""
        return int(self.step.max()) + 1

    def loss(self, model: Model) -> float:
        """Mean loss of a model's predictions of step T."""
        if self.family == TEXT:
            return -float(np.mean(model.predict((self.X_next, self.y_next))))
        return mean_loss(self.family, self.y_next, model.predict(self.X_next))

    def save(self, folder: Path) -> None:
        """Write everything as plain arrays, for another process."""
        about: dict[str, Any] = {"name": self.name, "family": self.family}
        about["always_in"] = [int(i) for i in self.always_in]
        for part in ("X", "y", "step", "X_next", "y_next"):
            about[part] = _save_array(folder, part, getattr(self, part))
        (folder / "data.json").write_text(json.dumps(about))

    @classmethod
    def load(cls, folder: Path) -> PeerData:
        """What `save` wrote."""
        about = json.loads((folder / "data.json").read_text())
        for part in ("X", "y", "step", "X_next", "y_next"):
            about[part] = _load_array(folder, part, about[part])
        about["always_in"] = tuple(about["always_in"])
        return cls(**about)


class Model(Protocol):
    """What a peer's fit leaves behind."""

    n_nonzero: int
    converged: bool
    chosen: str

    def predict(self, X: Any) -> FloatArray:
        """Means of the rows of step T; for text the log-likelihoods of (counts, effects)."""
        ...


@dataclass(frozen=True)
class Linear:
    """The coefficients a peer would use at step T."""

    family: str
    coef: FloatArray
    intercept: float
    n_nonzero: int
    converged: bool = True
    chosen: str = ""

    def predict(self, X: Any) -> FloatArray:
        """Means of the rows."""
        return mean(self.family, np.asarray(X @ self.coef).ravel() + self.intercept)


def mean(family: str, eta: FloatArray) -> FloatArray:
    """The inverse of the link; what has a logarithm is kept within exp(+-30)."""
    found = family_named(family)
    return found.mean(np.clip(eta, -30.0, 30.0) if found.link == "log" else eta, CERTAIN)


def mean_loss(family: str, y: FloatArray, prediction: FloatArray) -> float:
    """Mean loss of predicted means; for binomial data those are P(y = 1)."""
    with np.errstate(all="ignore"):  # some peers predict what cannot be
        return float(np.mean(family_named(family).prediction_loss(y, prediction)))


def time_expanded(X: Any, step: IntArray, n_steps: int) -> Any:
    """(n, p T) CSC matrix: column i T + t holds x_i on the rows of step t and is zero elsewhere."""
    rows = sp.coo_array(X)
    columns = rows.col.astype(np.int64) * n_steps + step[rows.row]
    shape = (rows.shape[0], rows.shape[1] * n_steps)
    out = sp.csc_matrix((rows.data, (rows.row, columns)), shape=shape)
    out.sort_indices()
    if out.nnz < np.iinfo(np.int32).max:  # what most peers are compiled for
        out.indices, out.indptr = out.indices.astype(np.int32), out.indptr.astype(np.int32)
    return out


def _save_array(folder: Path, part: str, array: Any) -> str:
    if isinstance(array, np.ndarray):
        np.save(folder / f"{part}.npy", array)
        return "dense"
    rows = sp.csr_matrix(array)
    for name in ("data", "indices", "indptr"):
        np.save(folder / f"{part}.{name}.npy", getattr(rows, name))
    np.save(folder / f"{part}.shape.npy", np.asarray(rows.shape))
    return "sparse"


def _load_array(folder: Path, part: str, kind: str) -> Any:
    if kind == "dense":
        return np.load(folder / f"{part}.npy")
    names = ("data", "indices", "indptr", "shape")
    *arrays, shape = (np.load(folder / f"{part}.{name}.npy") for name in names)
    stored: Any = tuple(arrays)
    n_rows, n_columns = shape.tolist()
    return sp.csr_matrix(stored, shape=(n_rows, n_columns))
