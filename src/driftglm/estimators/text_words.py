"""Words of a fitted text model: tables of the strongest ones."""

from __future__ import annotations

import numpy as np
import pandas as pd

from driftglm._typing import FloatArray
from driftglm.exceptions import DataError
from driftglm.fitting.text_data import Words


def top_words(
    words: Words, coef: FloatArray, inclusion: FloatArray, shares: FloatArray, k: int
) -> pd.DataFrame:
    """The `k` words an effect raises most and the `k` it lowers most, strongest first.

    All arguments but `k` are (V,): names, coefficients, inclusion, and share of a document whose
    effects are at their means. Words whose coefficient is zero are not listed.
    """
    if k < 1:
        raise DataError(f"k={k}; ask for one word or more.")
    order = np.argsort(-np.abs(coef), kind="stable")
    chosen = np.concatenate([order[coef[order] > 0][:k], order[coef[order] < 0][:k]])
    return pd.DataFrame(
        {
            "word": np.asarray(words, dtype=object)[chosen],
            "coef": coef[chosen],
            "inclusion_probability": inclusion[chosen],
            "share": shares[chosen],
        }
    )
