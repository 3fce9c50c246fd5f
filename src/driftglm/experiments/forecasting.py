"""The first experiment: volatility after an annual report, from its words and past volatility."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline

from driftglm._typing import FloatArray, IntArray
from driftglm.datasets import TextCorpus, load_10k_corpus, tenk_files
from driftglm.exceptions import DataError
from driftglm.experiments.contestants import regressor, to_show
from driftglm.experiments.experiment_run import ExperimentRun
from driftglm.experiments.pages import N_TOP
from driftglm.experiments.paper import FORECASTING
from driftglm.experiments.result import Reproduction
from driftglm.experiments.settings import Settings
from driftglm.experiments.words import WordCounts, count_words

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
        that was finished is read. None keeps nothing and writes no report.
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
    """
    folder = Path(corpus)
    found = _years(folder)
    chosen = (settings or Settings()).resolved(found, FORECASTING)
    first, last = chosen.years or (min(found), max(found))
    years = [year for year in found if first <= year <= last]
    run = ExperimentRun("forecasting", None if out is None else Path(out), n_jobs, verbose)
    kinds = (tenk_files.AFTER, tenk_files.BEFORE, tenk_files.META, tenk_files.TEXTS)
    files = [tenk_files.year_file(folder, year, kind) for year in years for kind in kinds]
    run.open(files, chosen)
    if (done := run.finished(FORECASTING)) is not None:
        return done
    with run.listening():
        reports = load_10k_corpus(folder, years, verbose=verbose)
        task = _read(reports, run, chosen)
        result = _run(task, run, chosen)
    return run.finish(result)


@dataclass(frozen=True)
class _Task:
    """Rows of the experiment."""

    corpus: TextCorpus
    words: WordCounts
    X: Any
    y: FloatArray
    years: IntArray


def _years(folder: Path) -> list[int]:
    if not folder.is_dir():
        raise DataError(f"there is no folder {str(folder)!r}. {HELP}")
    found = tenk_files.years_in(folder)
    if not found:
        raise DataError(f"the folder {folder.name!r} holds no file of the 10-K corpus. {HELP}")
    return found


def _read(corpus: TextCorpus, run: ExperimentRun, settings: Settings) -> _Task:
    frame = corpus.frame
    years = frame["year"].to_numpy(dtype=np.int64)
    words = count_words(corpus, years, settings, store=run.piece("words"), verbose=run.verbose)
    X = words.with_columns(frame[["logvol_before"]])
    return _Task(corpus, words, X, frame["logvol_after"].to_numpy(dtype=np.float64), years)


def _run(task: _Task, run: ExperimentRun, settings: Settings) -> Reproduction:
    comparisons = {}
    for variant in settings.variants:
        run.say(f"comparing, words of {variant} documents")
        models = {
            name: make_pipeline(_selector(task, variant, settings), regressor(name, [-1]))
            for name in settings.models
        }
        comparisons[variant] = run.contest(models, task.X, task.y, task.years, settings)
        run.hear(comparisons[variant], variant)
    top, report = _shown(task, run, settings, next(iter(comparisons.values())))
    tests = settings.test or ()
    sizes = {year: float((task.years == year).sum()) for year in tests}
    return Reproduction(
        run.name,
        FORECASTING,
        settings,
        comparisons,
        sizes=dict.fromkeys(comparisons, sizes),
        references={PAST: {year: _past_error(task, year) for year in tests}},
        provenance=(task.corpus.provenance,),
        notes=tuple(run.notes),
        top=top,
        report=report,
    )


def _selector(task: _Task, variant: str, settings: Settings) -> Any:
    return task.words.selector(variant, settings, binary=True, n_extra=1)


def _past_error(task: _Task, year: int) -> float:
    """Mean squared error of predicting that volatility stays as it was."""
    rows = task.corpus.frame[task.years == year]
    return float(((rows["logvol_after"] - rows["logvol_before"]) ** 2).mean())


def _shown(
    task: _Task, run: ExperimentRun, settings: Settings, comparison: Any
) -> tuple[pd.DataFrame, Path | None]:
    """Largest coefficients of a fit to all years, and the report about it."""
    name = to_show(settings.models)
    if name is None:
        return pd.DataFrame(), run.write_page(None, comparison, settings)
    run.say(f"fitting {name} to all years")
    selector = _selector(task, settings.variants[0], settings).fit(task.X)
    model = regressor(name, [-1]).fit(selector.transform(task.X), task.y, time=task.years)
    names = [*np.array(task.words.words, dtype=object)[selector.columns_], PAST]
    columns = ["feature", "kind", "coef_first", "coef_last", "coef_next"]
    found = model.summary(feature_names=names)
    top = found.loc[found["kind"] != "zero", columns].head(N_TOP).reset_index(drop=True)
    return top, run.write_page(model, comparison, settings, names)
