"""What a comparison found: every prediction and its loss, and the tables made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.data.timesteps import TimeAxis
from driftglm.evaluation.scores import WIDTHS
from driftglm.evaluation.significance import Method, find_test, holm, weighted_mean
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
        By model, what its fits to the test steps warned of; of models that are not in `loss`, why
        they were left out.
    pit, width
        By model, if the metric is a score of distributions: (n,) probability integral transforms
        of y, and (n, 3) widths of central intervals of .5, .8 and .9. Classes have no widths.

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
    pit: dict[str, FloatArray] = field(default_factory=dict)
    width: dict[str, FloatArray] = field(default_factory=dict)

    @property
    def models(self) -> list[str]:
        """Names of the models, in the order given."""
        return list(self.loss)

    @property
    def left_out(self) -> dict[str, str]:
        """By model that was asked for and could not be compared, why."""
        return {name: said[0] for name, said in self.warnings.items() if name not in self.loss}

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
        text = render(frame, format, label=self._label(metric), digits=digits)
        if format != "text":
            return text
        return "\n".join([text, *(f"{name}: {why}" for name, why in self.left_out.items())])

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
            values.append([weighted_mean(losses[m][here], self.weights[here]) for m in self.models])
        values.append([weighted_mean(losses[m], self.weights) for m in self.models])
        index = pd.Index([str(step) for step in self.steps] + [OVERALL], name="step")
        return pd.DataFrame(values, index=index, columns=self.models)

    # ------------------------------------------------------------- significance

    def significance(
        self, baseline: str | None = None, method: Method = "wilcoxon"
    ) -> pd.DataFrame:
        """Tests of the losses of the same rows, two-sided, Holm-corrected.

        Parameters
        ----------
        baseline
            Test every other model against this one; None: every pair.
        method
            "wilcoxon": signed ranks of rows. Rows of a step are dependent, so that p-values are
            too small. "diebold-mariano": means of steps, with the correction for few steps.
            "bootstrap": steps are drawn with replacement. The guide says which to believe.

        Returns
        -------
        DataFrame
            model, other, mean_difference (negative: `model` is better; of "diebold-mariano" every
            step counts alike, elsewhere every row), statistic, p_value, p_holm. "wilcoxon" has
            n_different (rows whose losses differ; the others say nothing), the others n_steps and
            a note: with too few steps p is NaN. "bootstrap" has the ends of a 90 % interval of the
            mean difference, lower and upper. If no loss differs, p is 1.
        """
        if baseline is not None and baseline not in self.models:
            raise DataError(f"baseline={baseline!r} is no model; {self.models} are.")
        if baseline is None:
            pairs = list(combinations(self.models, 2))
        else:
            pairs = [(name, baseline) for name in self.models if name != baseline]
        test = find_test(method)
        lines = [
            {"model": model, "other": other}
            | test(self.loss[model] - self.loss[other], self.weights, self.codes)
            for model, other in pairs
        ]
        columns = None if lines else ["model", "other", "mean_difference", "statistic", "p_value"]
        frame = pd.DataFrame(lines, columns=columns)
        frame["p_holm"] = holm(frame["p_value"].to_numpy(dtype=np.float64))
        return frame

    # -------------------------------------------------------------- calibration

    def calibration(self, levels: float | Sequence[float] = WIDTHS) -> pd.DataFrame:
        """How often y was inside the central intervals of the predicted distributions.

        Parameters
        ----------
        levels
            Probabilities of the intervals.

        Returns
        -------
        DataFrame
            model, step (the last is "overall"), level, n_rows, coverage (to be near the level) and
            width (the mean; NaN for classes, and at levels other than .5, .8 and .9). A discrete y
            has a random place within its own probability, the same in every run.
        """
        if not self.pit:
            raise DataError(
                f"the models were compared by {self.label}, and no distributions are stored; "
                "compare with metric='crps' or another score of distributions."
            )
        asked = np.atleast_1d(np.asarray(levels, dtype=np.float64))
        if not ((asked > 0) & (asked < 1)).all():
            raise DataError(f"levels={levels!r}; pass probabilities between 0 and 1, e.g. 0.9.")
        parts = [(str(self.axis.labels[c]), self.codes == c) for c in np.unique(self.codes)]
        parts.append((OVERALL, np.ones(self.codes.size, dtype=np.bool_)))
        lines = [
            (name, step, level, int(here.sum()), *self._coverage(name, here, level))
            for name in self.models
            for step, here in parts
            for level in asked.tolist()
        ]
        columns = ["model", "step", "level", "n_rows", "coverage", "width"]
        return pd.DataFrame(lines, columns=columns)

    def _coverage(self, name: str, here: BoolArray, level: float) -> tuple[float, float]:
        """Share of rows inside their central interval, and its mean width."""
        weights = self.weights[here]
        inside = np.abs(2.0 * self.pit[name][here] - 1.0) <= level
        width = float("nan")
        if name in self.width and level in WIDTHS:
            width = weighted_mean(self.width[name][here, WIDTHS.index(level)], weights)
        return weighted_mean(inside.astype(np.float64), weights), width

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
