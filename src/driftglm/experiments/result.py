"""What an experiment found: comparisons, tables with the paper's figures, and how to store them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from driftglm.datasets import Check, Provenance
from driftglm.evaluation import Comparison
from driftglm.experiments.contestants import to_show
from driftglm.experiments.paper import PaperTable
from driftglm.experiments.settings import ALL, TRAINING, Settings

OURS, PAPER, OVERALL = "ours", "paper", "overall"
VARIANTS = {
    ALL: "words ranked in all documents, as the paper did",
    TRAINING: "words ranked in the training documents of each year",
}


@dataclass(frozen=True, eq=False)
class Reproduction:
    """Result of one experiment.

    Parameters
    ----------
    name
        "forecasting" or "text".
    paper
        The paper's table.
    settings
        The choices made, none of them open.
    comparisons
        By way to choose the vocabulary ("all", "training"): every prediction, its loss and the
        tests.
    sizes
        By the same, year -> number of reports, or of tokens of the vocabulary.
    references
        Name -> year -> figure of predictions that need no fit.
    provenance
        What was read, dropped and checked.
    notes
        What deserves a second look, warnings of the fits included.
    top
        Words with the largest coefficients of the model in `to_show`.
    report
        The page written, if any.

    Examples
    --------
    >>> import dataclasses
    >>> from driftglm.experiments import Reproduction
    >>> "comparisons" in [field.name for field in dataclasses.fields(Reproduction)]
    True
    """

    name: str
    paper: PaperTable = field(repr=False)
    settings: Settings
    comparisons: dict[str, Comparison] = field(repr=False)
    sizes: dict[str, dict[int, float]]
    references: dict[str, dict[int, float]] = field(default_factory=dict)
    provenance: tuple[Provenance, ...] = ()
    notes: tuple[str, ...] = ()
    top: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    report: Path | None = None

    def table(self, variant: str | None = None) -> pd.DataFrame:
        """A row a contestant; for every test year, and for all, our figure and the paper's.

        The paper's columns are there for the years its table has; the one for all years needs all
        of them.
        """
        chosen = variant or next(iter(self.comparisons))
        comparison, sizes = self.comparisons[chosen], self.sizes[chosen]
        steps = [int(step) for step in comparison.steps]
        labels: list[Any] = list(comparison.axis.labels)
        columns: dict[tuple[str, str], dict[str, float | None]] = {}
        for year in steps:
            here = comparison.codes == labels.index(year)
            columns[str(year), OURS] = {
                **{name: by_year[year] for name, by_year in self.references.items()},
                **{m: self._figure(comparison.loss[m][here]) for m in comparison.models},
            }
            if year in self.paper.figures:
                figures = {m: self.paper.figure(m, year) for m in comparison.models}
                columns[str(year), PAPER] = figures
        columns[OVERALL, OURS] = {
            **{name: self.paper.combined(v, sizes) for name, v in self.references.items()},
            **{m: self._figure(comparison.loss[m]) for m in comparison.models},
        }
        if tuple(steps) == self.paper.test:
            columns[OVERALL, PAPER] = {m: self.paper.overall(m) for m in comparison.models}
        index = [*self.references, *comparison.models]
        frame = pd.DataFrame(columns, index=index, dtype=np.float64).rename_axis(index="model")
        return frame.rename_axis(columns=["year", "whose"])

    def significance(self, variant: str | None = None) -> pd.DataFrame:
        """Wilcoxon tests on the losses of single documents, Holm-corrected.

        Against the last of exact, variational and learned that took part; every pair if none did.
        """
        comparison = self.comparisons[variant or next(iter(self.comparisons))]
        return comparison.significance(baseline=to_show(self.settings.models))

    def _figure(self, losses: np.ndarray) -> float:
        """The figure of a table from the losses of single documents."""
        return float(losses.sum() / 1000.0 if self.paper.additive else losses.mean())

    # -------------------------------------------------------------------- files

    def to_dict(self) -> dict[str, Any]:
        """Plain content for JSON."""
        return {
            "experiment": self.name,
            "metric": self.paper.label,
            "settings": self.settings.to_dict(),
            "results": {variant: self._result(variant) for variant in self.comparisons},
            "references": {name: _by_text(values) for name, values in self.references.items()},
            "provenance": [record.to_dict() for record in self.provenance],
            "notes": list(self.notes),
            "top": self.top.to_dict("records"),
            "report": self.report.name if self.report else None,
        }

    def _result(self, variant: str) -> dict[str, Any]:
        comparison = self.comparisons[variant]
        table = self.table(variant)
        figures = [
            {"model": str(model), "year": year, "whose": whose, "figure": float(value)}
            for year, whose in column_keys(table)
            for model, value in table[year, whose].items()
            if not np.isnan(value)
        ]
        return {
            "figures": figures,
            "sizes": _by_text(self.sizes[variant]),
            "significance": self.significance(variant).to_dict("records"),
            "params": comparison.params,
            "seconds": comparison.seconds,
        }

    @classmethod
    def from_dict(
        cls,
        content: dict[str, Any],
        paper: PaperTable,
        comparisons: dict[str, Comparison],
        folder: Path,
    ) -> Reproduction:
        """What `to_dict` gave, with the comparisons that are stored beside it."""
        return cls(
            content["experiment"],
            paper,
            Settings.from_dict(content["settings"]),
            comparisons,
            sizes={name: _by_year(r["sizes"]) for name, r in content["results"].items()},
            references={name: _by_year(v) for name, v in content["references"].items()},
            provenance=tuple(_record(record) for record in content["provenance"]),
            notes=tuple(content["notes"]),
            top=pd.DataFrame(content["top"]),
            report=folder / content["report"] if content["report"] else None,
        )


def column_keys(table: pd.DataFrame) -> list[tuple[str, str]]:
    """Year and whose figure, of every column of `Reproduction.table`."""
    return [(str(key[0]), str(key[1])) for key in table.columns]


def _by_text(values: dict[int, float]) -> dict[str, float]:
    return {str(year): value for year, value in values.items()}


def _by_year(values: dict[str, float]) -> dict[int, float]:
    return {int(year): value for year, value in values.items()}


def _record(content: dict[str, Any]) -> Provenance:
    checks = tuple(Check(c["what"], c["expected"], c["found"]) for c in content["checks"])
    return Provenance(**{**content, "checks": checks})
