"""The second experiment: words of documents, from their source, their places and the economy."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from driftglm._typing import BoolArray
from driftglm.datasets import Provenance, TextCorpus, load_text_panel
from driftglm.datasets.covariates import COMPANIES
from driftglm.exceptions import DataError
from driftglm.experiments.contestants import text_model
from driftglm.experiments.experiment_run import ExperimentRun, Task
from driftglm.experiments.macro import ALL_FILES, macro_variables
from driftglm.experiments.paper import TEXT
from driftglm.experiments.result import Reproduction
from driftglm.experiments.settings import Settings
from driftglm.experiments.us_states import COUNTRY, place_indicators
from driftglm.experiments.words import WordSelector, count_words

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
    out, settings, n_jobs, verbose
        As in `reproduce_forecasting`.

    Raises
    ------
    DataError
        If the folder is not there or holds something else; the message says what is needed.

    Examples
    --------
    >>> import tempfile
    >>> from driftglm.exceptions import DataError
    >>> from driftglm.experiments import reproduce_text
    >>> with tempfile.TemporaryDirectory() as folder:  # empty: the message says what is needed
    ...     try:
    ...         reproduce_text(folder)
    ...     except DataError as error:
    ...         print(type(error).__name__)
    DataError
    """
    folder = Path(corpus)
    if not folder.is_dir():
        raise DataError(f"there is no folder {str(folder)!r}. {HELP}")
    tables = [path for name in TABLES for path in folder.glob(f"{name}.*")]
    if not tables:
        raise DataError(f"the folder {folder.name!r} holds no table of documents. {HELP}")
    run = ExperimentRun("text", None if out is None else Path(out), n_jobs, verbose)
    given = settings or Settings()

    def read() -> tuple[Task, Settings]:
        panel = load_text_panel(folder)
        if "source" not in panel.frame:
            raise DataError(f"the documents have no column 'source'. {HELP}")
        chosen = given.resolved(panel.frame["date"].dt.year.unique().tolist(), TEXT)
        return _task(panel, folder, run, chosen), chosen

    return run.reproduce(TEXT, _files(folder, tables, run.out), given, read)


class _Text(Task):
    """Documents; `y` are their effects."""

    binary: ClassVar[bool] = False

    def model(self, name: str, features: Sequence[str] = ()) -> BaseEstimator:
        model = text_model(name)
        return model.set_params(vocabulary=features) if features else model

    def size(self, selector: WordSelector, year: int) -> float:
        """Tokens of a test year that are words of the vocabulary of its origin."""
        words = selector.fit(self.X[self.years < year])
        return float(words.transform(self.X[self.years == year]).sum())

    def top(self, model: BaseEstimator, features: Sequence[str]) -> pd.DataFrame:
        """The words raised most by the sources, by the whole U.S. and by the strongest effects.

        Of effects that are the same in every document, such as states of one district, the first.
        """
        del features
        effects = pd.DataFrame(self.y)
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
                rows.append((names[i], ", ".join(found["word"][found["coef"] > 0])))
        return pd.DataFrame(rows, columns=["effect", "words it raises most"])


def _files(folder: Path, tables: list[Path], out: Path | None) -> list[Path]:
    """Files of the corpus: all that are named, and those a table of metadata may name."""
    named = [*tables, *(folder / name for name in (*ALL_FILES, COMPANIES))]
    if any(path.name.startswith("metadata.") for path in tables):
        # Results may lie in the corpus, and are no part of it.
        results = set() if out is None else {out.resolve()}
        named += [p for p in folder.rglob("*") if not results & {p.resolve(), *p.resolve().parents}]
    return sorted({path for path in named if path.is_file()})


def _task(panel: TextCorpus, folder: Path, run: ExperimentRun, settings: Settings) -> Task:
    first, last = settings.years or (0, 0)
    corpus = panel.select(panel.frame["date"].dt.year.between(first, last))
    years = corpus.frame["date"].dt.year.to_numpy(dtype=np.int64)
    train = years < min(settings.test or (last,))
    effects, records = document_effects(corpus.frame, folder, train, run.notes)
    words = count_words(corpus, years, settings, store=run.piece("words"), verbose=run.verbose)
    return _Text(words, words.with_columns(), effects, years, (panel.provenance, *records))


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
        raise DataError(f"the macro variable {repeated[0]!r} is also a source or state; rename it.")
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
