"""Odd arrays: what a program may hand to an estimator, at fit, at update and at predict."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import scipy.sparse as sp
from tally import Tally

from driftglm import DriftClassifier, DriftPoissonRegressor, DriftRegressor

ESTIMATORS = [DriftRegressor, DriftClassifier, DriftPoissonRegressor]
NUMBERS = [np.nan, np.inf, -np.inf, 1e308, -1.0, 0.0, 1e-320, 1e101, 1e16]
LABELS = [10**6, 2**40, 2**62, -(10**9), 1999, 2003.5, np.nan, "x", None, "2003", True, 1e300]


def spoilt_matrix(X: np.ndarray, rng: np.random.Generator) -> tuple[object, bool]:
    """X as it should not be, and whether it must be refused."""
    gaps, broken = X.copy(), sp.csr_array(X).asformat(str(rng.choice(["csr", "csc"])))
    gaps[rng.integers(len(X)), rng.integers(3)] = NUMBERS[int(rng.integers(3))]
    broken.indices[int(rng.integers(broken.nnz))] = rng.choice([-1, 10**6])
    masked = np.ma.masked_array(X, mask=rng.random(X.shape) < 0.2)
    refused = [gaps, masked, broken, X * 1j, X[:, : int(rng.integers(3))], X[0], X[:0]]
    taken = [X.astype(object), sp.coo_array(X).astype(np.float32)]
    which = int(rng.integers(len(refused) + len(taken)))
    return [*refused, *taken][which], which < len(refused)


def spoilt_numbers(values: np.ndarray, rng: np.random.Generator) -> tuple[object, bool]:
    """Weights or exposures as they should not be, and whether they must be refused."""
    how, other = int(rng.integers(6)), values.astype(float)
    if how < 3:
        at = int(rng.integers(len(NUMBERS)))
        other[int(rng.integers(len(other)))] = NUMBERS[at]
        return other, not NUMBERS[at] >= 0.0 or NUMBERS[at] in {np.inf, 1e308, 1e101, 1e16}
    if how == 3:
        return np.ma.masked_array(other, mask=rng.random(other.size) < 0.2), True
    return (other[:, None], True) if how == 4 else (["a"] * other.size, True)


class _Spoiler:
    """Three models, the rows they were fitted to, and ways to spoil one argument of a call.

    A way returns what the call found, and whether it had to be refused.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.t = rng, np.repeat(np.arange(6), 10) + 2000
        self.X = rng.normal(size=(60, 3))
        self.frame, eta = pd.DataFrame(self.X, columns=list("abc")), self.X[:, 0]
        y = eta + rng.normal(size=60)
        self.targets = [y, y > 0, rng.poisson(np.exp(0.3 * eta))]
        pairs = zip(ESTIMATORS, self.targets, strict=True)
        self.models = [k(keep_data=True).fit(self.frame, u, time=self.t) for k, u in pairs]

    def matrix_of_fit(self, one: int) -> tuple[object, bool]:
        spoilt, must = spoilt_matrix(self.X, self.rng)
        model = ESTIMATORS[one]().fit(spoilt, self.targets[one], time=self.t)
        return model.predict(self.X[:5]), must

    def numbers_of_fit(self, one: int) -> tuple[object, bool]:
        spoilt, must = spoilt_numbers(np.ones(60), self.rng)
        counts = ESTIMATORS[one] is DriftPoissonRegressor and self.rng.random() < 0.5
        name = "exposure" if counts else "sample_weight"
        must &= counts or not _left_out(spoilt)
        given = {"time": self.t, name: spoilt}
        return ESTIMATORS[one]().fit(self.X, self.targets[one], **given).predict(self.X[:5]), must

    def matrix_of_prediction(self, one: int) -> tuple[object, bool]:
        spoilt, must = spoilt_matrix(self.X, self.rng)
        return self.models[one].predict(spoilt), must

    def time_of_prediction(self, one: int) -> tuple[object, bool]:
        label = LABELS[int(self.rng.integers(len(LABELS)))]
        return self.models[one].predict(self.frame[:2], time=[label, label]), label != 2003

    def columns_of_update(self, one: int) -> tuple[object, bool]:
        others = [self.frame.rename(columns={"a": "z"}), self.frame[["c", "b", "a"]], self.X[:, 1:]]
        spoilt = others[int(self.rng.integers(3))][:9]
        return self.models[one].update(spoilt, self.targets[one][:9], time=[2006] * 9), True

    def time_of_update(self, one: int) -> tuple[object, bool]:
        label = [2005, 2006 + 10**7, np.nan, "x", 2006.5][int(self.rng.integers(5))]
        given = self.frame[:9], self.targets[one][:9]
        return self.models[one].update(*given, time=[label] * 9), True


WAYS = [
    *(_Spoiler.matrix_of_fit, _Spoiler.numbers_of_fit, _Spoiler.matrix_of_prediction),
    *(_Spoiler.time_of_prediction, _Spoiler.columns_of_update, _Spoiler.time_of_update),
]


def attack_arrays(n_times: int, seed: int) -> Tally:
    """One argument of a fit, an update or a prediction is spoilt; the model stays as it was."""
    tally, rng = Tally("odd arrays"), np.random.default_rng(seed)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        spoiler = _Spoiler(rng)
        before = [model.predict(spoiler.frame) for model in spoiler.models]
        for k in range(n_times):
            one, way, said = k % 3, WAYS[int(rng.integers(len(WAYS)))], ""
            try:
                found, must = way(spoiler, one)
                if must or not np.isfinite(np.asarray(found, dtype=float)).all():
                    said = f"answered {found!s:.60}"
            except (ValueError, TypeError):  # what scikit-learn, and DataError with it, raises
                must = True
            except Exception as error:  # noqa: BLE001 (what is looked for)
                said = f"{type(error).__name__}: {error!s:.80}"
            if not np.array_equal(before[one], spoiler.models[one].predict(spoiler.frame)):
                said = "the model is another now"
            if said:
                tally.fail(f"seed {seed} array {k} {way.__name__}: {said}")
            else:
                tally.hold("refused" if must else "answered")
    return tally


def _left_out(spoilt: object) -> bool:
    """Whether a weight is zero, which leaves a row out."""
    return isinstance(spoilt, np.ndarray) and spoilt.dtype.kind == "f" and bool((spoilt == 0).any())
