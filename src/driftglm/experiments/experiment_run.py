"""Where an experiment works: its folder, what is kept there, the steps both have in common."""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from driftglm._progress import is_shown, progress_bar
from driftglm.evaluation import Comparison, RollingOrigin, compare
from driftglm.evaluation.fingerprint import digest, library_fingerprint
from driftglm.exceptions import ConvergenceWarning, DataError, DataWarning
from driftglm.experiments.pages import TITLES, text_page
from driftglm.experiments.paper import PaperTable
from driftglm.experiments.result import VARIANTS, Reproduction
from driftglm.experiments.settings import Settings
from driftglm.files import write_atomically

CHUNK = 1 << 20


@dataclass
class ExperimentRun:
    """Folder and way of working of one run.

    Parameters
    ----------
    name
        Of the experiment.
    out
        Folder that keeps finished pieces and the result; None keeps nothing.
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

    def open(self, files: Iterable[Path], settings: Settings) -> None:
        """Name the run by the content of the corpus, the settings and the code that runs."""
        if self.out is None:
            return
        if self.out.exists() and not self.out.is_dir():
            raise DataError(f"{self.out.name!r} is a file; name a folder for the results.")
        content = _content_digest(list(files), verbose=self.verbose)
        self.key = digest(library_fingerprint(), self.name, content, settings.to_dict())
        try:
            self.out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(
                f"the folder {self.out.name!r} for the results cannot be made ({error.strerror})."
            ) from error

    @property
    def cache(self) -> Path | None:
        """Folder of finished fits."""
        return None if self.out is None else self.out / "cache"

    def piece(self, name: str) -> Path | None:
        """File of something made for this run only."""
        return None if self.cache is None else self.cache / f"{name}-{self.key[:40]}.npz"

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Turn our own warnings into notes at once: each once, and stored with the result."""
        usual = warnings.showwarning

        def hear(message: Any, category: type[Warning], *place: Any) -> None:
            if not issubclass(category, DataWarning | ConvergenceWarning):
                usual(message, category, *place)
            elif str(message) not in self.notes:
                self.notes.append(str(message))

        with warnings.catch_warnings():
            warnings.simplefilter("always", DataWarning)
            warnings.simplefilter("always", ConvergenceWarning)
            warnings.showwarning = hear  # type: ignore[assignment]
            yield

    def contest(
        self, models: dict[str, Any], X: Any, y: Any, years: Any, settings: Settings
    ) -> Comparison:
        """Compare models on the test years; finished fits are kept."""
        splitter = RollingOrigin(dev=settings.dev, test=list(settings.test or ()))
        return compare(
            models,
            X,
            y,
            years,
            splitter,
            n_jobs=self.n_jobs,
            cache_dir=self.cache,
            verbose=self.verbose,
        )

    def say(self, message: str) -> None:
        """One line about a step that has no bar."""
        if is_shown(self.verbose):
            sys.stderr.write(f"{message}\n")
            sys.stderr.flush()

    def hear(self, comparison: Comparison, variant: str) -> None:
        """Note the first thing that the fits of each model warned of; alike ones once."""
        models: dict[str, list[str]] = {}
        for model, said in comparison.warnings.items():
            if said:
                more = f" (and {len(said) - 1} more)" if len(said) > 1 else ""
                models.setdefault(f"{said[0]}{more}", []).append(model)
        for said_first, names in models.items():
            note = f"{', '.join(names)} (words of {variant} documents), {said_first}"
            self.notes.append(note)

    # ------------------------------------------------------------------- results

    def finished(self, paper: PaperTable) -> Reproduction | None:
        """The result of this very run, if it was finished before."""
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

    def finish(self, result: Reproduction) -> Reproduction:
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

    def write_page(
        self, model: Any, comparison: Comparison, settings: Settings, names: Any = None
    ) -> Path | None:
        """The report, if there is a folder for it."""
        if self.out is None:
            return None
        from driftglm.report import write_report

        path = self.out / "report.html"
        self.say("writing the report")
        write_report(
            path,
            model=model,
            comparison=comparison,
            title=TITLES[self.name],
            sentence="Every test year is predicted by models fitted to the years before it.",
            settings=settings.to_dict(),
            feature_names=names,
        )
        return path

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


def _plain(value: Any) -> Any:
    """numpy's numbers as JSON can hold them."""
    if hasattr(value, "item"):
        return value.item()
    return str(value)
