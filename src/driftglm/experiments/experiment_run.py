"""Where an experiment works: its folder, what is stored there, the steps both have in common."""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline

from driftglm._progress import is_shown, progress_bar
from driftglm._typing import FloatArray, IntArray
from driftglm.datasets import Provenance
from driftglm.evaluation import Comparison, RollingOrigin, compare
from driftglm.evaluation.fingerprint import digest, library_fingerprint
from driftglm.exceptions import ConvergenceWarning, DataWarning
from driftglm.experiments.contestants import grids, to_show
from driftglm.experiments.pages import TITLES, text_page
from driftglm.experiments.paper import PaperTable
from driftglm.experiments.result import VARIANTS, Reproduction
from driftglm.experiments.settings import Settings
from driftglm.experiments.words import WordCounts, WordSelector
from driftglm.files import write_atomically
from driftglm.tables.writing import check_writable

CHUNK = 1 << 20


@dataclass(frozen=True)
class Task(ABC):
    """Rows of an experiment, and what is special about it.

    Parameters
    ----------
    words
        Counts of the words of every document.
    X, y, years
        What models are fitted to; a timestep a year. X has all words of `words`, then the columns
        named `extra`.
    provenance
        Records of the files read.
    """

    words: WordCounts
    X: csr_array
    y: FloatArray | pd.DataFrame
    years: IntArray
    provenance: tuple[Provenance, ...]
    binary: ClassVar[bool]
    extra: ClassVar[tuple[str, ...]] = ()

    def selector(self, variant: str, settings: Settings) -> WordSelector:
        """The step of a pipeline that picks the words of a variant."""
        return self.words.selector(variant, settings, binary=self.binary, n_extra=len(self.extra))

    @abstractmethod
    def model(self, name: str, features: Sequence[str] = ()) -> BaseEstimator:
        """A contestant, not fitted yet; `features` are the names of its columns, if known."""

    @abstractmethod
    def size(self, selector: WordSelector, year: int) -> float:
        """How much is predicted in a test year, in the unit of the paper's table."""

    @abstractmethod
    def top(self, model: BaseEstimator, features: Sequence[str]) -> pd.DataFrame:
        """Largest coefficients of a fit to all years."""

    def references(self, years: Sequence[int]) -> dict[str, dict[int, float]]:
        """Name -> year -> figure of predictions that need no fit."""
        del years
        return {}


@dataclass
class ExperimentRun:
    """Folder and way of working of one run.

    Parameters
    ----------
    name
        Of the experiment.
    out
        Folder for finished pieces and the result; None stores nothing.
    n_jobs
        Processes that fit.
    verbose
        Whether to show progress on stderr; None: on a terminal.
    notes
        What there is to say about the run, collected on the way.
    """

    name: str
    out: Path | None
    n_jobs: int | None
    verbose: bool | None
    notes: list[str] = field(default_factory=list)
    key: str = ""

    def reproduce(
        self,
        paper: PaperTable,
        files: Iterable[Path],
        settings: Settings,
        read: Callable[[], tuple[Task, Settings]],
    ) -> Reproduction:
        """The result of this very run: read if it was finished before, else made and written.

        Parameters
        ----------
        paper
            The paper's table.
        files, settings
            What names the run, together with the code of the library.
        read
            Reads the corpus; also gives settings with nothing left open.
        """
        self._open(files, settings)
        if (done := self._finished(paper)) is not None:
            return done
        with self._listening():
            result = self._run(paper, *read())
        return self._finish(result)

    def _open(self, files: Iterable[Path], settings: Settings) -> None:
        """Name the run by the content of the corpus, the settings and the code that runs."""
        if self.out is None:
            return
        check_writable(self.out, folder=True).mkdir(parents=True, exist_ok=True)
        content = _content_digest(list(files), verbose=self.verbose)
        self.key = digest(library_fingerprint(), self.name, content, settings.to_dict())

    def _run(self, paper: PaperTable, task: Task, settings: Settings) -> Reproduction:
        """Compare the contestants with the words of each variant, then show one of all years."""
        comparisons, sizes, tests = {}, {}, settings.test or ()
        splitter = RollingOrigin(dev=settings.dev, test=list(tests))
        for variant in settings.variants:
            self.say(f"comparing, words of {variant} documents")
            selector = task.selector(variant, settings)
            models = {name: make_pipeline(selector, task.model(name)) for name in settings.models}
            comparisons[variant] = compare(
                *(models, task.X, task.y, task.years, splitter),
                grids=grids(settings.models),
                n_jobs=self.n_jobs,
                cache_dir=self.cache,
                verbose=self.verbose,
            )
            self._note_warnings(comparisons[variant], variant)
            sizes[variant] = {year: task.size(selector, year) for year in tests}
        top, report = self._show(task, settings, next(iter(comparisons.values())))
        return Reproduction(
            self.name,
            paper,
            settings,
            comparisons,
            sizes,
            task.references(tests),
            task.provenance,
            tuple(self.notes),
            top,
            report,
        )

    def _show(
        self, task: Task, settings: Settings, comparison: Comparison
    ) -> tuple[pd.DataFrame, Path | None]:
        """Largest coefficients of a fit to all years, and the report about it."""
        name, model, features, top = to_show(settings.models), None, None, pd.DataFrame()
        if name is not None:
            self.say(f"fitting {name} to all years")
            selector = task.selector(settings.variants[0], settings).fit(task.X)
            features = [*np.array(task.words.words, dtype=object)[selector.columns_], *task.extra]
            model = task.model(name, features)
            model.fit(selector.transform(task.X), task.y, time=task.years)
            top = task.top(model, features)
        if self.out is None:
            return top, None
        from driftglm.report import write_report

        self.say("writing the report")
        path = self.out / "report.html"
        write_report(
            path,
            model=model,
            comparison=comparison,
            title=TITLES[self.name],
            sentence="Every test year is predicted by models fitted to the years before it.",
            settings=settings.to_dict(),
            feature_names=features,
        )
        return top, path

    @property
    def cache(self) -> Path | None:
        """Folder of finished fits."""
        return None if self.out is None else self.out / "cache"

    def piece(self, name: str) -> Path | None:
        """File of something made for this run only."""
        return None if self.cache is None else self.cache / f"{name}-{self.key[:40]}.npz"

    @contextmanager
    def _listening(self) -> Iterator[None]:
        """Turn our own warnings into notes at once: each once, and stored with the result."""
        usual = warnings.showwarning

        def hear(message: Warning | str, category: type[Warning], *place: Any) -> None:
            if not issubclass(category, DataWarning | ConvergenceWarning):
                usual(message, category, *place)
            elif str(message) not in self.notes:
                self.notes.append(str(message))

        with warnings.catch_warnings():
            warnings.simplefilter("always", DataWarning)
            warnings.simplefilter("always", ConvergenceWarning)
            warnings.showwarning = hear  # type: ignore[assignment]
            yield

    def say(self, message: str) -> None:
        """One line about a step that has no bar."""
        if is_shown(self.verbose):
            sys.stderr.write(f"{message}\n")
            sys.stderr.flush()

    def _note_warnings(self, comparison: Comparison, variant: str) -> None:
        """Note the first thing that the fits of each model warned of; alike ones once."""
        models: dict[str, list[str]] = {}
        for model, said in comparison.warnings.items():
            if said:
                more = f" (and {len(said) - 1} more)" if len(said) > 1 else ""
                models.setdefault(f"{said[0]}{more}", []).append(model)
        self.notes += [
            f"{', '.join(names)} (words of {variant} documents), {said_first}"
            for said_first, names in models.items()
        ]

    # ------------------------------------------------------------------- results

    def _finished(self, paper: PaperTable) -> Reproduction | None:
        if self.out is None:
            return None
        try:
            content = json.loads((self.out / f"{self.name}.json").read_text(encoding="utf-8"))
            if content.pop("key") != self.key:
                return None
            found = {
                variant: Comparison.load(self._comparison(variant))
                for variant in content["results"]
            }
            return Reproduction.from_dict(content, paper, found, self.out)
        except (OSError, ValueError, KeyError, TypeError):
            return None  # not there, or damaged: made again from the finished fits

    def _finish(self, result: Reproduction) -> Reproduction:
        """Write the result; the file with the key comes last, so that it vouches for the others."""
        if self.out is None:
            return result
        for variant in VARIANTS:
            self._comparison(variant).unlink(missing_ok=True)  # of another run in this folder
        for variant, comparison in result.comparisons.items():
            comparison.save(self._comparison(variant))
        write_atomically(self.out / f"{self.name}.txt", f"{text_page(result)}\n".encode())
        content = {"key": self.key, **result.to_dict()}
        text = json.dumps(content, indent=1, default=_plain, ensure_ascii=False)
        write_atomically(self.out / f"{self.name}.json", text.encode())
        return result

    def _comparison(self, variant: str) -> Path:
        return Path(self.out or ".") / f"{self.name}-{variant}.zip"


def _content_digest(files: list[Path], *, verbose: bool | None) -> str:
    """Hash of the names and contents of files."""
    found = hashlib.sha256()
    total = sum(path.stat().st_size for path in files)
    with progress_bar(total, "checking the corpus", verbose=verbose, in_bytes=True) as advance:
        for path in files:
            found.update(f"{path.name} {path.stat().st_size}\n".encode())
            with path.open("rb") as stream:
                while part := stream.read(CHUNK):
                    found.update(part)
                    advance(len(part))
    return found.hexdigest()


def _plain(value: object) -> object:
    """numpy's numbers as JSON can hold them."""
    return value.item() if isinstance(value, np.generic) else str(value)
