"""The first experiment: volatility after an annual report, from its words and past volatility."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from driftglm.datasets import TextCorpus, load_10k_corpus
from driftglm.datasets.tenk_files import KINDS, year_file, years_in
from driftglm.estimators.statements import OUTSIDE
from driftglm.exceptions import DataError
from driftglm.experiments.contestants import regressor
from driftglm.experiments.experiment_run import ExperimentRun, Task
from driftglm.experiments.pages import N_TOP
from driftglm.experiments.paper import FORECASTING
from driftglm.experiments.result import Reproduction
from driftglm.experiments.settings import Settings
from driftglm.experiments.words import WordSelector, count_words

PAST = "past volatility"
HELP = (
    "The corpus is that of Kogan, Levin, Routledge, Sagi and Smith (NAACL 2009), published by the "
    "Noah's ARK group at Carnegie Mellon University as the 10-K corpus. Its folder has four files "
    "a year: YYYY.logvol.+12.txt and YYYY.logvol.-12.txt (a volatility and a key a line), "
    "YYYY.meta.txt (key, date, address, company, CIK between tabs) and YYYY.tok.tgz (the reports, "
    "YYYY.tok/<key>.mda)."
)


def reproduce_forecasting(
    corpus: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    settings: Settings | None = None,
    n_jobs: int | None = None,
    verbose: bool | None = None,
) -> Reproduction:
    """Run the paper's forecasting experiment.

    Log volatility in the year after an annual report, from which words it uses and from log
    volatility in the year before, which is always in; a timestep a year. Baselines are tuned on
    the dev year; each test year is predicted by fits to all years before it.

    Parameters
    ----------
    corpus
        Folder in the layout of the 10-K corpus; see `driftglm.datasets.load_10k_corpus`.
    out
        Folder for result, report and finished fits. A run that was killed goes on from there; one
        that was finished is read. None: nothing is stored, and no report written.
    settings
        Contestants, years and words; the paper's by default.
    n_jobs
        Processes that fit; results do not depend on it.
    verbose
        Whether to show progress on stderr; by default on a terminal.

    Raises
    ------
    DataError
        If the folder is not there or holds something else; the message says what is needed.

    Examples
    --------
    >>> import tempfile
    >>> from driftglm.exceptions import DataError
    >>> from driftglm.experiments import reproduce_forecasting
    >>> with tempfile.TemporaryDirectory() as folder:  # empty: the message says what is needed
    ...     try:
    ...         reproduce_forecasting(folder)
    ...     except DataError as error:
    ...         print(type(error).__name__)
    DataError
    """
    folder = Path(corpus)
    found = _years(folder)
    chosen = (settings or Settings()).resolved(found, FORECASTING)
    first, last = chosen.years or (min(found), max(found))
    years = [year for year in found if first <= year <= last]
    run = ExperimentRun("forecasting", None if out is None else Path(out), n_jobs, verbose)
    files = [year_file(folder, year, kind) for year in years for kind in KINDS]

    def read() -> tuple[Task, Settings]:
        reports = load_10k_corpus(folder, years, verbose=verbose)
        return _task(reports, run, chosen), chosen

    return run.reproduce(FORECASTING, files, chosen, read)


@dataclass(frozen=True)
class _Forecasting(Task):
    """Reports; `frame` has the volatilities before and after each."""

    frame: pd.DataFrame
    binary: ClassVar[bool] = True
    extra: ClassVar[tuple[str, ...]] = (PAST,)

    def model(self, name: str, features: Sequence[str] = ()) -> BaseEstimator:
        del features
        return regressor(name, always_in=[-1])

    def size(self, selector: WordSelector, year: int) -> float:
        del selector
        return float((self.years == year).sum())

    def top(self, model: BaseEstimator, features: Sequence[str]) -> pd.DataFrame:
        columns = ["feature", "kind", "coef_first", "coef_last", "coef_next"]
        found: pd.DataFrame = model.summary(feature_names=features)
        return found.loc[~found["kind"].isin(OUTSIDE), columns].head(N_TOP).reset_index(drop=True)

    def references(self, years: Sequence[int]) -> dict[str, dict[int, float]]:
        """Mean squared error of predicting that volatility stays as it was."""
        error = (self.frame["logvol_after"] - self.frame["logvol_before"]) ** 2
        return {PAST: {year: float(error[self.years == year].mean()) for year in years}}


def _years(folder: Path) -> list[int]:
    if not folder.is_dir():
        raise DataError(f"there is no folder {str(folder)!r}. {HELP}")
    found = years_in(folder)
    if not found:
        raise DataError(f"the folder {folder.name!r} holds no file of the 10-K corpus. {HELP}")
    return found


def _task(corpus: TextCorpus, run: ExperimentRun, settings: Settings) -> Task:
    frame = corpus.frame
    years = frame["year"].to_numpy(dtype=np.int64)
    words = count_words(corpus, years, settings, store=run.piece("words"), verbose=run.verbose)
    X = words.with_columns(frame[["logvol_before"]])
    y = frame["logvol_after"].to_numpy(dtype=np.float64)
    return _Forecasting(words, X, y, years, (corpus.provenance,), frame)
