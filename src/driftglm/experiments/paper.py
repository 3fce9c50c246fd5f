"""What the paper printed: Yogatama, Routledge and Smith, arXiv 1310.2627, its two tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

BASELINES = ("ridge-one", "ridge-all", "ridge-ts", "lasso-one", "lasso-all")
DRIFT = ("exact", "variational", "learned")
CONTESTANTS = (*BASELINES, *DRIFT)
FURTHER = ("paper", "forecast")
"""Of forecasting alone: the paper's own algorithm, and the learned prior that trusts its drift."""
EVERYONE = (*BASELINES, "paper", "exact", "variational", "forecast", "learned")
ADAPTIVE = "adaptive"


@dataclass(frozen=True)
class PaperTable:
    """One table of results.

    Parameters
    ----------
    label
        What the figures are.
    dev, test
        Year used for tuning and years tested.
    ranks
        First and last rank of the words used.
    size
        What `sizes` counts.
    sizes
        Year -> size of the test year.
    figures
        Year -> one figure for each baseline, then for the adaptive prior.
    additive
        Whether the figure over all years is their sum; else their mean weighted by `sizes`.
    digits
        Digits after the point, as printed.
    """

    label: str
    dev: int
    test: tuple[int, ...]
    ranks: tuple[int, int]
    size: str
    sizes: Mapping[int, float]
    figures: Mapping[int, tuple[float, ...]]
    additive: bool
    digits: int

    def figure(self, model: str, year: int) -> float | None:
        """The figure of a contestant, if the year is in the table.

        Exact, variational and learned all stand beside the paper's adaptive prior: the first two
        are that prior, without and with its bound, and the third takes its place here.
        """
        if year not in self.figures:
            return None
        names = (*BASELINES, ADAPTIVE)
        column = ADAPTIVE if model in {*DRIFT, *FURTHER} else model
        return self.figures[year][names.index(column)] if column in names else None

    def overall(self, model: str) -> float | None:
        """The test years together, from the figures as printed.

        The paper's own last row includes the year it tuned on and is not used.
        """
        found = {year: self.figure(model, year) for year in self.test}
        given = {year: value for year, value in found.items() if value is not None}
        return self.combined(given, self.sizes) if len(given) == len(found) else None

    def combined(self, figures: Mapping[int, float], sizes: Mapping[int, float]) -> float:
        """One figure of all years: the sum, or the mean weighted by `sizes`."""
        if self.additive:
            return sum(figures.values())
        total = sum(sizes[year] for year in figures)
        return sum(value * sizes[year] for year, value in figures.items()) / total


FORECASTING = PaperTable(
    label="mean squared error",
    dev=2002,
    test=(2003, 2004, 2005),
    ranks=(101, 10101),
    size="reports",
    sizes={2003: 3611, 2004: 3558, 2005: 3474},
    figures={
        2003: (0.185, 0.173, 0.171, 0.164, 0.176, 0.164),
        2004: (0.125, 0.137, 0.129, 0.116, 0.119, 0.113),
        2005: (0.135, 0.133, 0.136, 0.124, 0.124, 0.122),
    },
    additive=False,
    digits=3,
)
FORECASTING_RATE = 1.0
"""Rate of the adaptive prior that the paper chose on its dev year."""
RATES = (0.001, 0.01, 0.1, 1.0, 10.0)
"""Rates among which the paper's own algorithm chooses on the dev year."""

TEXT = PaperTable(
    label="negative log-likelihood / 1000",
    dev=2003,
    test=(2004, 2005, 2006),
    ranks=(501, 5501),
    size="tokens",
    sizes={2004: 1.5e6, 2005: 1.9e6, 2006: 2.3e6},
    figures={
        2004: (2975, 3004, 2975, 2975, 3004, 2974),
        2005: (2999, 3027, 2997, 2998, 3027, 2997),
        2006: (2916, 2922, 2913, 2912, 2922, 2912),
    },
    additive=True,
    digits=0,
)
TEXT_RATE = 0.001
