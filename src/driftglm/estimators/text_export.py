"""What a fitted text model gives to other tools: tables of words, figures, labelled arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import log_softmax
from sklearn.utils.validation import check_is_fitted

from driftglm._typing import FloatArray, IntArray
from driftglm.data.features import feature_mask
from driftglm.data.timesteps import TimeAxis
from driftglm.estimators.export import dataset
from driftglm.estimators.text_words import top_words
from driftglm.exceptions import DataError
from driftglm.fitting.text_fit import TextFit
from driftglm.plots import figures


class TextExports:
    """`top_words`, `plot_words` and `to_xarray`, mixed into the text model."""

    coef_path_: FloatArray
    inclusion_probability_: FloatArray
    base_background_: FloatArray
    vocabulary_: np.ndarray
    timesteps_: Any
    n_features_in_: int
    extrapolate_: str
    _axis: TimeAxis
    _fit: TextFit

    def _codes(self, time: Any, n_rows: int) -> IntArray:
        if time is None:
            following = self._axis.n_timesteps - int(self._axis.is_single)
            return np.full(n_rows, following, dtype=np.int64)
        return self._axis.encode(time, n_rows)

    def _effect_names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        n_effects = self.n_features_in_
        return [f"x{i}" for i in range(n_effects)] if names is None else [str(n) for n in names]

    def _effect(self, effect: Any) -> int:
        """Position of one effect, by name or position."""
        check_is_fitted(self, "coef_path_")
        names = self._effect_names()
        chosen = np.flatnonzero(feature_mask(effect, len(names), names, "effect"))
        if chosen.size != 1:
            raise DataError(f"effect={effect!r} means {chosen.size} effects; name one.")
        return int(chosen[0])

    def top_words(self, effect: Any, time: Any = None, k: int = 10) -> pd.DataFrame:
        """The `k` words an effect makes most frequent, then the `k` it makes rarest.

        Columns: word, coef, inclusion_probability, share (of the word in the background of that
        step, in the original units). `effect` is a name or a position, `time` the label of a
        step; None: the step after the last.
        """
        i = self._effect(effect)
        code = int(self._codes(None if time is None else [time], 1)[0])
        coef = self._fit.step(code, forecast=self.extrapolate_ == "forecast").coef
        base = self.base_background_[min(code, len(self.timesteps_) - 1)]
        shares = np.exp(log_softmax(base))
        return top_words(self.vocabulary_, coef[i], self.inclusion_probability_[i], shares, k)

    def plot_words(self, effect: Any, words: Any = None, k: int = 8) -> Any:
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
        name = self._effect_names()[i]
        shown = self.vocabulary_[chosen]
        return figures.words(
            f"words of {name}", list(self.timesteps_), shown, paths[:, chosen], std
        )

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
