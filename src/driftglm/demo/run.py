"""Weekly volatility of two stock indices: eight models, seven years, one after the other."""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import dataclass
from importlib.resources import files as package_files
from io import BytesIO
from pathlib import Path

import pandas as pd
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import BaseEstimator

from driftglm.evaluation import Comparison, RollingOrigin
from driftglm.report import write_report
from driftglm.tables import Table, TableModel, TableSpec, encode, fit_encoder
from driftglm.tables.comparing import compare_table, contestants
from driftglm.tables.model import Training, fit_encoded, read_training

TARGET = "log_volatility"
SPEC = TableSpec(target=TARGET, time="year", drop=("week",))
DEV, TEST = 2011, tuple(range(2012, 2019))
FEW_YEARS = 2003
COMPILED = ("ridge-ts", "exact", "learned", "variational")  # slowest to compile first
TITLE = "Who predicts next week's volatility best?"
SENTENCE = (
    "Log realised volatility of the S&P 500 and the NASDAQ Composite, week by week, from what was "
    "known the week before. Each year is predicted by models fitted to the years before it."
)


@dataclass(frozen=True)
class DemoResult:
    """What the demo found: the comparison, and the learned model of all years."""

    comparison: Comparison
    model: TableModel


def load_volatility() -> Table:
    """The table of the demo: a row a week and index, 2000 to 2018.

    `log_volatility` is the target; all other columns but `week`, `year` and `index` are features
    known at the end of the week before. `provenance` says where the figures come from.
    """
    data = package_files("driftglm.demo").joinpath("volatility.csv.gz").read_bytes()
    return Table(pd.read_csv(BytesIO(data), compression="gzip"), "volatility.csv.gz")


def provenance() -> dict[str, object]:
    """Sources, licence facts and checksums of the table."""
    text = package_files("driftglm.demo").joinpath("volatility.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def run_demo(
    *,
    n_jobs: int | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    verbose: bool | None = None,
) -> DemoResult:
    """Compare learned, exact and variational priors with the five baselines, then fit all years.

    Settings are those of `driftglm.evaluation.compare` and of the estimators: baselines are tuned
    on 2011, drift models not at all.
    """
    table = load_volatility()
    if effective_n_jobs(n_jobs) > 1:
        _compile_kernels(table, effective_n_jobs(n_jobs))
    splitter = RollingOrigin(dev=DEV, test=list(TEST))
    comparison, rows = compare_table(
        table, SPEC, splitter, n_jobs=n_jobs, cache_dir=cache_dir, verbose=verbose
    )
    return DemoResult(comparison, fit_encoded(fit_encoder(table, SPEC), rows))


def _compile_kernels(table: Table, n_jobs: int) -> None:
    """Fit every kind of model to a few rows, each in one process.

    In the comparison all workers come to a model at the same time, and each would compile the same
    kernels. Once compiled they are on disk, and this takes a second.
    """
    few = Table(table.frame[table.frame["year"] < FEW_YEARS].iloc[::5].reset_index(drop=True))
    _, features = encode(few, SPEC)
    rows = read_training(few, SPEC, "gaussian", features)
    models = contestants(COMPILED, "gaussian").values()
    Parallel(n_jobs=n_jobs)(delayed(_fit_quietly)(model, rows) for model in models)


def _fit_quietly(model: BaseEstimator, rows: Training) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(rows.X, rows.y, time=rows.time)


def write_demo_report(result: DemoResult, path: str | os.PathLike[str]) -> Path:
    """The demo's page."""
    return write_report(
        Path(path),
        model=result.model,
        comparison=result.comparison,
        title=TITLE,
        sentence=SENTENCE,
        settings={"data": provenance()["built_from"]},
    )
