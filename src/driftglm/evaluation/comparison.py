"""What a comparison found: every prediction and its loss, and the tables made of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.stats import rankdata, wilcoxon

from driftglm._typing import FloatArray, IntArray
from driftglm.data.timesteps import TimeAxis
from driftglm.evaluation.tables import ranking, render
from driftglm.exceptions import DataError
from driftglm.files import DamagedFileError, Storable, StrPath
from driftglm.plots import figures

Format = Literal["text", "markdown", "latex", "html", "frame"]
OVERALL = "overall"
SIGNIFICANT = 0.05
"""Level at which verdicts call models different."""


@dataclass(frozen=True, eq=False)
class Comparison(Storable):
    """Predictions of several models for the same rows; made by `compare`, read by `load`.

    Parameters
    ----------
    axis
        The time axis of all rows.
    rows, codes, y, weights
        (n,) of the tested rows: position in the data, step, target, sample weight.
    prediction, loss
        By model, (n,) each. A classifier's prediction is the probability of the second of two
        classes, or of the class observed if there are more.
    metric, label
        Name of the loss and how tables call its mean.
    params
        By model, the parameters used for every test step.
    seconds
        By model, time spent fitting and predicting the test steps (not tuning).
    warnings
        By model, what its fits to the test steps warned of.

    Examples
    --------
    >>> from driftglm.baselines import LassoAll, LassoOne
    >>> from driftglm.evaluation import RollingOrigin, compare
    >>> from driftglm.simulate import simulate_panel
    >>> panel = simulate_panel(n_features=30, rows_per_step=60, random_state=0)
    >>> models = {"one": LassoOne(), "all": LassoAll()}
    >>> result = compare(models, panel.X, panel.y, panel.time, RollingOrigin(n_test=2))
    >>> sorted(result.table(format="frame").columns)
    ['all', 'one']
    """

    axis: TimeAxis
    rows: IntArray
    codes: IntArray
    y: np.ndarray
    weights: FloatArray
    prediction: dict[str, FloatArray]
    loss: dict[str, FloatArray]
    metric: str
    label: str
    params: dict[str, list[dict[str, Any]]]
    seconds: dict[str, float]
    warnings: dict[str, list[str]] = field(default_factory=dict)

    @property
    def models(self) -> list[str]:
        """Names of the models, in the order given."""
        return list(self.loss)

    @property
    def best(self) -> str:
        """The model with the least mean loss over all test rows; of equal ones the first."""
        return self.models[int(ranking(self._means(self.loss).iloc[-1])[0])]

    @property
    def steps(self) -> list[Any]:
        """Labels of the test steps."""
        return [self.axis.labels[code] for code in np.unique(self.codes)]

    @property
    def predictions(self) -> pd.DataFrame:
        """One line a prediction: row, step, model, y, prediction, loss."""
        labels = pd.Series(self.axis.labels).iloc[self.codes].reset_index(drop=True)
        parts = [
            pd.DataFrame(
                {
                    "row": self.rows,
                    "step": labels,
                    "model": name,
                    "y": self.y,
                    "prediction": self.prediction[name],
                    "loss": self.loss[name],
                }
            )
            for name in self.models
        ]
        return pd.concat(parts, ignore_index=True)

    # ------------------------------------------------------------------- tables

    def table(
        self,
        format: Format = "text",  # noqa: A002
        *,
        metric: Literal["within"] | None = None,
        digits: int = 4,
    ) -> Any:
        """Mean loss: a row a test step and one for all rows together, a column a model.

        Parameters
        ----------
        format
            "text" (the best marked by a star), "markdown", "latex" or "html" (the best in bold),
            or "frame" for a DataFrame.
        metric
            None: the metric compared by. "within": squared error after the mean residual of a
            step is taken off, which judges differences within a step only.
        digits
            Digits after the point.
        """
        frame = self._means(self._losses(metric))
        if format == "frame":
            return frame
        return render(frame, format, label=self._label(metric), digits=digits)

    def ranks(self, *, metric: Literal["within"] | None = None) -> pd.DataFrame:
        """Rank of every model at every test step (1 is best, ties shared), and the mean rank."""
        steps = self._means(self._losses(metric)).iloc[:-1]
        ranked = np.apply_along_axis(rankdata, 1, steps.to_numpy())
        frame = pd.DataFrame(ranked, index=steps.index, columns=steps.columns)
        frame.loc["mean"] = ranked.mean(axis=0)
        return frame

    def _label(self, metric: str | None) -> str:
        return self.label if metric is None else "mean squared error within steps"

    def _losses(self, metric: str | None) -> dict[str, FloatArray]:
        if metric is None:
            return self.loss
        if metric != "within":
            raise DataError(f"metric={metric!r}; pass None or 'within'.")
        if self.metric != "mse":
            raise DataError(
                f"within-step errors are squared, but the models were compared by {self.label}; "
                "compare with metric='mse' to have them."
            )
        return {name: self._within(name) for name in self.models}

    def _within(self, name: str) -> FloatArray:
        """Squared residuals about their step's (weighted) mean."""
        residual = self.y - self.prediction[name]
        total = np.bincount(self.codes, self.weights)
        mean = np.bincount(self.codes, self.weights * residual) / np.where(total > 0, total, 1.0)
        return np.asarray((residual - mean[self.codes]) ** 2)

    def _means(self, losses: dict[str, FloatArray]) -> pd.DataFrame:
        values = []
        for code in np.unique(self.codes):
            here = self.codes == code
            values.append([_mean(losses[m][here], self.weights[here]) for m in self.models])
        values.append([_mean(losses[m], self.weights) for m in self.models])
        index = pd.Index([str(step) for step in self.steps] + [OVERALL], name="step")
        return pd.DataFrame(values, index=index, columns=self.models)

    # ------------------------------------------------------------- significance

    def significance(self, baseline: str | None = None) -> pd.DataFrame:
        """Wilcoxon signed-rank tests on the losses of the same rows, Holm-corrected.

        Parameters
        ----------
        baseline
            Test every other model against this one; None: every pair.

        Returns
        -------
        DataFrame
            model, other, mean_difference (negative: `model` is better), n_different (rows whose
            losses differ; the others say nothing), statistic, p_value (two-sided), p_holm.
            If no loss differs, p is 1. The rows of one company or place are not independent, so
            that p-values tend to be too small.
        """
        if baseline is not None and baseline not in self.models:
            raise DataError(f"baseline={baseline!r} is no model; {self.models} are.")
        if baseline is None:
            pairs = list(combinations(self.models, 2))
        else:
            pairs = [(name, baseline) for name in self.models if name != baseline]
        lines = [self._test(model, other) for model, other in pairs]
        columns = ["model", "other", "mean_difference", "n_different", "statistic", "p_value"]
        frame = pd.DataFrame(lines, columns=columns)
        frame["p_holm"] = holm(frame["p_value"].to_numpy(dtype=np.float64))
        return frame

    def _test(self, model: str, other: str) -> tuple[Any, ...]:
        difference = self.loss[model] - self.loss[other]
        n_different = int(np.count_nonzero(difference))
        mean = _mean(difference, self.weights)
        if n_different == 0:
            return model, other, mean, 0, 0.0, 1.0
        # Zero differences are dropped, as Wilcoxon did.
        found = wilcoxon(difference, zero_method="wilcox")
        return model, other, mean, n_different, float(found.statistic), float(found.pvalue)

    # --------------------------------------------------------------------- plot

    def plot(self, *, metric: Literal["within"] | None = None) -> Any:
        """Mean loss over the test steps, a line a model, as a matplotlib Figure."""
        frame = self._means(self._losses(metric)).iloc[:-1]
        frame.index = pd.Index(self.steps, dtype=object, name="step")
        return figures.comparison(frame, self._label(metric))

    # -------------------------------------------------------------------- files

    @classmethod
    def load(cls, path: StrPath) -> Comparison:
        """Read what `save` wrote; no code in the file is ever run."""
        found = import_module("driftglm.persistence").load(path)
        if not isinstance(found, cls):
            raise DamagedFileError(
                f"{path} holds no comparison but a {type(found).__name__}; read it with "
                "driftglm.load."
            )
        return found

    def __repr__(self) -> str:
        return f"{type(self).__name__}: {self.label}\n{self.table()}"


def holm(p_values: FloatArray) -> FloatArray:
    """Holm's step-down correction: the k-th smallest of m times m - k + 1, never falling.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03])).round(6).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(p_values.size, 0, -1)
    stepped = np.maximum.accumulate(p_values[order] * factors)
    out = np.empty_like(stepped)
    out[order] = np.minimum(stepped, 1.0)
    return out


def _mean(losses: FloatArray, weights: FloatArray) -> float:
    """Weighted mean; NaN where nothing has weight."""
    total = float(weights.sum())
    return float(weights @ losses) / total if total > 0 else float("nan")
