"""What a fitted text model gives to other tools: tables of words, figures, labelled arrays."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import log_softmax
from sklearn.utils.validation import check_is_fitted

from driftglm._typing import FloatArray, IntArray, VectorLike
from driftglm.data.features import feature_mask
from driftglm.data.timesteps import Labels, TimeAxis
from driftglm.estimators.export import dataset
from driftglm.exceptions import DataError
from driftglm.fitting.text_averaging import AveragedTextStep
from driftglm.fitting.text_fit import TextFit, TextStep
from driftglm.plots import figures
from driftglm.plots.labels import feature_names_of


class TextExports:
    """`top_words`, `plot_words` and `to_xarray`, mixed into the text model."""

    coef_path_: FloatArray
    inclusion_probability_: FloatArray
    base_background_: FloatArray
    vocabulary_: np.ndarray
    timesteps_: Labels
    n_features_in_: int
    _axis: TimeAxis
    _fit: TextFit

    @abstractmethod
    def _step(self, code: int) -> TextStep | AveragedTextStep: ...

    def _codes(self, time: VectorLike, n_rows: int) -> IntArray:
        if time is None:
            following = self._axis.n_timesteps - int(self._axis.is_single)
            return np.full(n_rows, following, dtype=np.int64)
        return self._axis.encode(time, n_rows)

    def _effect_names(self) -> list[str]:
        return feature_names_of(self, self.n_features_in_)

    def _effect(self, effect: str | int) -> int:
        """Position of one effect, by name or position."""
        check_is_fitted(self, "coef_path_")
        names = self._effect_names()
        chosen = np.flatnonzero(feature_mask(effect, len(names), names, "effect"))
        if chosen.size != 1:
            raise DataError(f"effect={effect!r} means {chosen.size} effects; name one.")
        return int(chosen[0])

    def top_words(self, effect: str | int, time: object = None, k: int = 10) -> pd.DataFrame:
        """The `k` words an effect makes most frequent, then the `k` it makes rarest.

        Columns: word, coef, inclusion_probability, share (of the word in the background of that
        step, in the original units). Words whose coefficient is zero are not listed. `effect` is a
        name or a position, `time` the label of a step; None: the step after the last.
        """
        i = self._effect(effect)
        if k < 1:
            raise DataError(f"k={k}; ask for one word or more.")
        labels: Any = None if time is None else [time]
        code = int(self._codes(labels, 1)[0])
        coef = self._step(code).coef[i]
        shares = np.exp(log_softmax(self.base_background_[min(code, len(self.timesteps_) - 1)]))
        order = np.argsort(-np.abs(coef), kind="stable")
        chosen = np.concatenate([order[coef[order] > 0][:k], order[coef[order] < 0][:k]])
        columns = {
            "word": np.asarray(self.vocabulary_, dtype=object),
            "coef": coef,
            "inclusion_probability": self.inclusion_probability_[i],
            "share": shares,
        }
        return pd.DataFrame({name: values[chosen] for name, values in columns.items()})

    def word_changes(
        self, effect: str | int, start: object, end: object, k: int = 10
    ) -> pd.DataFrame:
        """The `k` words whose coefficient rose most from one step to another, then the `k` fallen.

        Columns: word, change, coef_start, coef_end, inclusion_probability. A coefficient is the log
        of how much more often documents with the effect use a word than the others of their step
        do: what rose for all documents alike is in the background, not here.
        """
        i = self._effect(effect)
        if k < 1:
            raise DataError(f"k={k}; ask for one word or more.")
        labels: Any = [start, end]
        codes = [int(self._codes([label], 1)[0]) for label in labels]
        first, last = (self._step(code).coef[i] for code in codes)
        change = last - first
        order = np.argsort(-np.abs(change), kind="stable")
        chosen = np.concatenate([order[change[order] > 0][:k], order[change[order] < 0][:k]])
        columns = {
            "word": np.asarray(self.vocabulary_, dtype=object),
            "change": change,
            "coef_start": first,
            "coef_end": last,
            "inclusion_probability": self.inclusion_probability_[i],
        }
        return pd.DataFrame({name: values[chosen] for name, values in columns.items()})

    def plot_words(self, effect: str | int, words: ArrayLike | None = None, k: int = 8) -> Any:
        """Paths of some words' coefficients of one effect, as a matplotlib Figure.

        `words` are names; None: the `k` words of largest mean squared coefficient.
        """
        i = self._effect(effect)
        paths = self.coef_path_[:, i]
        if words is None:
            size = np.sqrt(np.mean(paths**2, axis=0))
            chosen = np.argsort(-size, kind="stable")[:k]
            chosen = chosen[size[chosen] > 0]
        else:
            names = list(self.vocabulary_)
            chosen = np.flatnonzero(feature_mask(words, len(names), names, "words"))
        found = self._fit.std_path()
        std = None if found is None else found[:, i][:, chosen]
        title = f"words of {self._effect_names()[i]}"
        shown = self.vocabulary_[chosen]
        return figures.words(title, list(self.timesteps_), shown, paths[:, chosen], std)

    def to_xarray(self) -> Any:
        """The fit as an xarray Dataset over time, effect and word.

        Variables: coef, coef_std (learned prior only), background, inclusion_probability. Needs
        xarray, the extra ``driftglm[xarray]``.
        """
        check_is_fitted(self, "coef_path_")
        inner = ("effect", "word")
        found = {
            "coef": (("time", *inner), "coef_path_"),
            "coef_std": (("time", *inner), "coef_std_path_"),
            "background": (("time", "word"), "background_"),
            "inclusion_probability": (inner, "inclusion_probability_"),
        }
        coords = {"effect": self._effect_names(), "word": self.vocabulary_.astype(str)}
        return dataset(self, found, coords)
