"""One self-contained HTML file from a fitted model, a comparison, or both."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from driftglm.estimators import DriftTextModel
from driftglm.estimators.base import DriftEstimator
from driftglm.evaluation import Comparison
from driftglm.exceptions import DataError
from driftglm.files import write_atomically
from driftglm.report.centre import fan, intercept
from driftglm.report.checks import diagnosis, pit_histogram, step_scores
from driftglm.report.contest import contest
from driftglm.report.encode import page_json
from driftglm.report.facts import facts
from driftglm.report.features import feature_rows
from driftglm.report.seasons import with_seasons
from driftglm.report.story import Story
from driftglm.report.words import word_rows
from driftglm.tables import TableModel

Model = DriftEstimator | DriftTextModel
SCRIPTS = ("core", "table", "plots", "contest", "model", "overview", "fit", "story", "page")
TOP = 30


def write_report(  # noqa: PLR0913 (parts that a page may have)
    path: str | Path,
    *,
    model: Model | TableModel | None = None,
    comparison: Comparison | None = None,
    title: str | None = None,
    sentence: str | None = None,
    settings: Mapping[str, object] | None = None,
    top: int = TOP,
    feature_names: Iterable[object] | None = None,
    story: Story | None = None,
) -> Path:
    """Write a page about a fitted model, a comparison, or both; returns the file written.

    The file needs no other file and no network, and is under 8 MB. Where a large model has more
    paths than that, the page says what is left out. The same input gives the same bytes.

    Parameters
    ----------
    path
        Where to write; an existing file is replaced atomically.
    model, comparison
        A fitted drift estimator or `DriftTextModel`; it need not have its data (`keep_data`). The
        model of a table also knows which level the indicators of a column are compared with. And
        what `driftglm.evaluation.compare` returned.
    title, sentence
        Heading of the page (None: what it is about), and a sentence below it, e.g. on the data.
    settings
        Facts of your own, listed with the settings that produced the page.
    top
        Rows of the heat map.
    feature_names
        Names of the columns of X; None: those the model has seen, or x0, x1, ...
    story
        Rows whose predictions at every step are the first picture of the page.

    Examples
    --------
    >>> import tempfile
    >>> from driftglm import DriftRegressor
    >>> from driftglm.simulate import simulate_panel
    >>> panel = simulate_panel(n_timesteps=3, rows_per_step=30, n_features=5, n_active=2)
    >>> model = DriftRegressor().fit(panel.X, panel.y, time=panel.time)
    >>> write_report(f"{tempfile.mkdtemp()}/report.html", model=model).name
    'report.html'
    """
    target = Path(path)
    _check_path(target)
    references = model.encoder.compared if isinstance(model, TableModel) else None
    fitted: Model | None = model.estimator if isinstance(model, TableModel) else model
    _check(fitted, comparison, top, settings)
    bundle()  # says what is missing, if it is, before the work
    content: dict[str, object] = {
        "title": _title(fitted, comparison) if title is None else str(title),
        "sentence": sentence or "",
        "top": top,
        "facts": facts(fitted, comparison, settings),
    } | _findings(fitted, comparison, feature_names, references)
    content |= {} if story is None else {"story": _told(story, fitted)}
    write_atomically(target, page(content).encode("utf-8", "replace"))
    return target


def _findings(
    model: Model | None,
    comparison: Comparison | None,
    feature_names: Iterable[object] | None,
    references: Mapping[str, str] | None,
) -> dict[str, object]:
    out: dict[str, object] = {}
    if comparison is not None:
        out["comparison"] = contest(comparison)
    if isinstance(model, DriftTextModel):
        out["model"] = word_rows(model).content()
    elif model is not None:
        rows = feature_rows(model, feature_names, references)
        out["model"] = with_seasons(rows, model).content()
        out["fit"] = {
            "intercept": intercept(model),
            "fan": fan(model),
            "scores": step_scores(model),
            "scoreName": "R\u00b2" if model.family_.quadratic else "D\u00b2",
            "lossName": model.family_.metric_label,
            "findings": diagnosis(model),
            "pit": pit_histogram(model),
        }
    return out


def _told(story: Story, model: Model | None) -> dict[str, Any]:
    if model is None or isinstance(model, DriftTextModel):
        raise DataError("a story needs the predictions of a model that is not of text.")
    return story.content(model)


def page(content: Mapping[str, object]) -> str:
    """The page around its content."""
    parts = {
        "TITLE": html.escape(str(content["title"])) or "driftglm report",
        "STYLE": _resource("page.css"),
        "BUNDLE": bundle(),
        "DATA": page_json(content),
        "SCRIPT": "\n".join(_resource(f"{name}.js") for name in SCRIPTS),
    }
    # In one pass, so that nothing that was put in is taken for a place to put something in.
    return re.sub(r"%%([A-Z]+)%%", lambda found: parts[found.group(1)], _resource("page.html"))


@cache
def bundle() -> str:
    """The plotting libraries as one script, out of the installed package.

    Making it takes seconds, and it is the same for all pages.
    """
    try:
        import vl_convert
    except ImportError as error:
        raise ImportError(
            "the report needs the package vl-convert-python for its plots; "
            "pip install 'driftglm[report]'."
        ) from error
    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    # Inside a string or a regular expression these mean the same; a script element they would end.
    script = re.sub(r"</(script)", r"<\\/\1", script, flags=re.IGNORECASE)
    return script.replace("<!--", "<\\!--")


def _resource(name: str) -> str:
    return package_files("driftglm.report").joinpath(name).read_text(encoding="utf-8")


def _check_path(path: Path) -> None:
    """Before minutes of work, not after: there must be a place for the file."""
    if not path.parent.is_dir():
        raise DataError(f"the folder {path.parent} does not exist; create it, or choose another.")
    if path.is_dir():
        raise DataError(f"{path} is a folder; name a file in it, e.g. {path / 'report.html'}.")


def _check(model: object, comparison: object, top: object, settings: object) -> None:
    if model is None and comparison is None:
        raise DataError("there is nothing to report; pass model=, comparison= or both.")
    if model is not None:
        if not isinstance(model, Model):
            raise TypeError(
                f"model is a {type(model).__name__}; pass a fitted DriftRegressor, "
                "DriftClassifier, DriftPoissonRegressor or DriftTextModel. Of a pipeline pass the "
                "last step, with the feature_names it sees."
            )
        check_is_fitted(model, "coef_path_")
    if comparison is not None and not isinstance(comparison, Comparison):
        raise TypeError(
            f"comparison is a {type(comparison).__name__}; pass what evaluation.compare returned."
        )
    if not isinstance(top, int) or isinstance(top, bool) or top < 1:
        raise DataError(f"top={top!r}; pass a number of rows for the heat map, 1 or more.")
    if settings is not None and not isinstance(settings, Mapping):
        raise TypeError(f"settings is a {type(settings).__name__}; pass a dict of facts.")


def _title(model: Model | None, comparison: Comparison | None) -> str:
    if comparison is not None and len(comparison.models) > 1:
        return f"{len(comparison.models)} models compared"
    if isinstance(model, DriftTextModel):
        return "Words and effects over time"
    return "Coefficients over time" if model is not None else "Forecasts over time"
