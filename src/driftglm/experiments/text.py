"""The second experiment: words of documents, from their source, their places and the economy."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline

from driftglm._typing import BoolArray, IntArray
from driftglm.datasets import Provenance, TextCorpus, load_text_panel
from driftglm.datasets.covariates import COMPANIES
from driftglm.exceptions import DataError
from driftglm.experiments.contestants import text_model, to_show
from driftglm.experiments.experiment_run import ExperimentRun
from driftglm.experiments.macro import ALL_FILES, macro_variables
from driftglm.experiments.paper import TEXT
from driftglm.experiments.result import Reproduction
from driftglm.experiments.settings import Settings
from driftglm.experiments.us_states import COUNTRY, place_indicators
from driftglm.experiments.words import WordCounts, count_words

HELP = (
    "The documents of the paper are the Federal Reserve's Beige Book (by district, since 1970) and "
    "FOMC transcripts, published by the Board of Governors and the regional banks, and annual "
    "reports (Form 10-K, SEC); its macroeconomic variables are of FRED (Federal Reserve Bank of "
    "St. Louis) and of Kenneth French's data library. The folder has documents.parquet (or .csv, "
    ".jsonl: id, date, source, states, text; optional: district, cik), macro.csv (year or date, "
    "then a column a variable), and may have companies.csv (cik, state)."
)
TABLES = ("documents", "metadata")
N_EFFECTS, N_WORDS = 5, 6


def reproduce_text(
    corpus: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    settings: Settings | None = None,
    n_jobs: int | None = None,
    verbose: bool | None = None,
) -> Reproduction:
    """Run the paper's text experiment.

    Counts of words in a document, from its source, 51 place indicators (50 states and the whole
    U.S.) and macroeconomic variables; a timestep a year. Baselines are tuned on the dev year; each
    test year is predicted by fits to all years before it.

    Parameters
    ----------
    corpus
        Folder with documents.parquet, macro.csv and optionally companies.csv; see
        `driftglm.datasets.load_text_panel`, and `driftglm.experiments.macro.macro_variables` for
        files as FRED and Kenneth French publish them.
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
    run = ExperimentRun("text", None if out is None else Path(out), n_jobs, verbose)
    given = settings or Settings()
    _check(folder)
    run.open(_files(folder, run.out), given)
    if (done := run.finished(TEXT)) is not None:
        return done
    with run.listening():
        panel = _load(folder)
        chosen = given.resolved(panel.frame["date"].dt.year.unique().tolist(), TEXT)
        result = _run(_read(panel, folder, run, chosen), run, chosen)
    return run.finish(result)


@dataclass(frozen=True)
class _Task:
    """Documents of the experiment."""

    words: WordCounts
    effects: pd.DataFrame
    years: IntArray
    provenance: tuple[Provenance, ...]


def _check(folder: Path) -> None:
    if not folder.is_dir():
        raise DataError(f"there is no folder {str(folder)!r}. {HELP}")
    if not any(any(folder.glob(f"{name}.*")) for name in TABLES):
        raise DataError(f"the folder {folder.name!r} holds no table of documents. {HELP}")


def _load(folder: Path) -> TextCorpus:
    panel = load_text_panel(folder)
    if "source" not in panel.frame:
        raise DataError(f"the documents have no column 'source'. {HELP}")
    return panel


def _files(folder: Path, out: Path | None) -> Iterator[Path]:
    """Files of the corpus: all that are named, and those a table of metadata may name."""
    named = [path for name in TABLES for path in folder.glob(f"{name}.*")]
    named += [folder / name for name in (*ALL_FILES, COMPANIES)]
    if any(folder.glob("metadata.*")):
        # Results may lie in the corpus, and are no part of it.
        inside = None if out is None else out.resolve()
        named += [
            path
            for path in folder.rglob("*")
            if inside is None or not path.resolve().is_relative_to(inside)
        ]
    yield from sorted({path for path in named if path.is_file()})


def _read(panel: TextCorpus, folder: Path, run: ExperimentRun, settings: Settings) -> _Task:
    first, last = settings.years or (0, 0)
    corpus = panel.select(panel.frame["date"].dt.year.between(first, last))
    years = corpus.frame["date"].dt.year.to_numpy(dtype=np.int64)
    train = years < min(settings.test or (last,))
    effects, records = document_effects(corpus.frame, folder, train, run.notes)
    words = count_words(corpus, years, settings, store=run.piece("words"), verbose=run.verbose)
    return _Task(words, effects, years, (panel.provenance, *records))


def document_effects(
    frame: pd.DataFrame, folder: Path, train: BoolArray, notes: list[str]
) -> tuple[pd.DataFrame, tuple[Provenance, ...]]:
    """Sources, 51 places and macro variables of documents, and the records of files read.

    Parameters
    ----------
    frame
        A row a document: `date`, `source`, and what says its places.
    folder
        The corpus, for the files of macro variables.
    train
        Documents before the first test year, by which variables are standardised.
    notes
        What was left out, added to.
    """
    skipped: Counter[str] = Counter()
    macro = macro_variables(folder, frame, train)
    parts = [_sources(frame["source"], train), place_indicators(frame, skipped)]
    effects = pd.concat([*parts, macro.variables], axis=1)
    repeated = effects.columns[effects.columns.duplicated()]
    if len(repeated):
        raise DataError(
            f"the macro variable {repeated[0]!r} has the name of a source or state; rename it."
        )
    notes += [f"{number:,} {what}." for what, number in skipped.items() if number]
    notes += macro.notes
    if macro.variables.empty:
        notes.append(f"no macro variables: none of {', '.join(ALL_FILES[:4])} gives any.")
    return effects, macro.provenance


def _sources(column: pd.Series, train: BoolArray) -> pd.DataFrame:
    """One indicator a source; the one with most training documents is what others differ from."""
    if column.isna().any():
        row = int(column.isna().to_numpy().argmax())
        raise DataError(f"document {row} has no source; name one, such as 'beige' or 'fomc'.")
    names = column.astype(str)
    usual = names[train].value_counts().sort_index().idxmax()
    others = sorted(set(names) - {usual})
    columns = {f"source {name}": (names == name).astype(float) for name in others}
    return pd.DataFrame(columns, index=column.index)


def _run(task: _Task, run: ExperimentRun, settings: Settings) -> Reproduction:
    comparisons, sizes = {}, {}
    counts = task.words.with_columns()
    for variant in settings.variants:
        run.say(f"comparing, words of {variant} documents")
        selector = task.words.selector(variant, settings, binary=False)
        models = {name: make_pipeline(selector, text_model(name)) for name in settings.models}
        comparisons[variant] = run.contest(models, counts, task.effects, task.years, settings)
        run.hear(comparisons[variant], variant)
        sizes[variant] = {
            year: _n_tokens(selector, counts, task.years, year) for year in settings.test or ()
        }
    top, report = _shown(task, counts, run, settings, next(iter(comparisons.values())))
    return Reproduction(
        run.name,
        TEXT,
        settings,
        comparisons,
        sizes=sizes,
        provenance=task.provenance,
        notes=tuple(run.notes),
        top=top,
        report=report,
    )


def _n_tokens(selector: Any, counts: Any, years: IntArray, year: int) -> float:
    """Tokens of a test year that are words of the vocabulary of its origin."""
    return float(selector.fit(counts[years < year]).transform(counts[years == year]).sum())


def _shown(
    task: _Task, counts: Any, run: ExperimentRun, settings: Settings, comparison: Any
) -> tuple[pd.DataFrame, Path | None]:
    """Words of some effects in a fit to all years, and the report about it."""
    name = to_show(settings.models)
    if name is None:
        return pd.DataFrame(), run.write_page(None, comparison, settings)
    run.say(f"fitting {name} to all years")
    selector = task.words.selector(settings.variants[0], settings, binary=False).fit(counts)
    words = np.array(task.words.words, dtype=object)[selector.columns_]
    model = text_model(name).set_params(vocabulary=words)
    model.fit(selector.transform(counts), task.effects, time=task.years)
    return _top_words(model, task.effects), run.write_page(model, comparison, settings)


def _top_words(model: Any, effects: pd.DataFrame) -> pd.DataFrame:
    """The words raised most by the sources, by the whole U.S. and by the strongest effects.

    Of effects that are the same in every document, such as states of one district, the first.
    """
    size = np.sqrt((model.coef_path_[-1] ** 2).sum(axis=1))
    names = [str(name) for name in effects]
    first = [i for i, name in enumerate(names) if name.startswith("source ") or name == COUNTRY]
    told_apart = np.flatnonzero(~effects.T.duplicated().to_numpy())
    strongest = told_apart[np.argsort(-size[told_apart], kind="stable")].tolist()
    others = [i for i in strongest if i not in first][:N_EFFECTS]
    rows = []
    for i in first + others:
        if size[i] > 0:
            found = model.top_words(i, k=N_WORDS).head(N_WORDS)
            words = ", ".join(found["word"][found["coef"] > 0])
            rows.append({"effect": names[i], "words it raises most": words})
    return pd.DataFrame(rows, columns=["effect", "words it raises most"])
