"""`driftglm compare`: who predicts the next step best, on a table of one's own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from typer import Option

from driftglm.cli import console
from driftglm.cli import options as opt
from driftglm.cli.console import fail, note, print_json, say

if TYPE_CHECKING:
    import pandas as pd

    from driftglm._typing import FloatArray
    from driftglm.data.timesteps import Freq
    from driftglm.evaluation import Comparison, RollingOrigin
    from driftglm.tables import Table, TableModel, TableSpec
    from driftglm.tables.model import Training

DIGITS = 4
RESULTS = ("comparison.drift", "table.csv", "report.html")
OWN = "cache/written.json"
"""Digests of the results, so that nothing else of the same name is ever replaced."""


class TestedSteps(NamedTuple):
    """Options that say which steps are tested, as typed."""

    dev: Annotated[
        str | None,
        Option(metavar="STEP", help="Step to tune on; default: the one before the test."),
    ] = None
    test: Annotated[
        str | None, Option(metavar="STEPS", help="Steps to test: 2003,2004 or 2003:2005.")
    ] = None
    n_test: Annotated[
        int | None, Option(metavar="N", help="Instead of --test: the last N steps.")
    ] = None

    def splitter(self, freq: Freq) -> RollingOrigin:
        """The origins that these steps ask for."""
        from driftglm.evaluation import RollingOrigin
        from driftglm.tables.comparing import parse_steps

        if self == (None, None, None):
            fail("nothing says which steps to test; pass --test 2003:2005 or --n-test 3.")
        dev, test = (None if text is None else parse_steps(text, freq) for text in self[:2])
        if dev is not None and len(dev) != 1:
            fail(f"--dev {self.dev!r:.40}; one step is needed.")
        return RollingOrigin(
            dev=None if dev is None else dev[0], test=test, n_test=self.n_test, freq=freq
        )


Models = Annotated[
    list[str] | None,
    Option(
        metavar="NAMES",
        help="ridge-one, ridge-all, ridge-ts, lasso-one, lasso-all, exact, variational, "
        "learned, fixed; default: all but the last.",
    ),
]
MetricOption = Annotated[
    str,
    Option(
        metavar="NAME",
        help="Loss of points (mse, log_loss, poisson), or score of distributions: crps, "
        "log-score, brier, ranked-probability, interval-score, quantile. Default: what suits.",
    ),
]


Folder = Annotated[
    Path, Option("--output", "-o", metavar="DIR", help="Folder for results; resumes there.")
]
Overwrite = Annotated[
    bool, Option("--overwrite", help="Replace files of the folder that others wrote.")
]


@opt.flattened
def command(  # noqa: PLR0913
    data: opt.Data,
    *,
    output: Folder,
    columns: opt.TableOptions,
    layout: opt.FileOptions,
    tested: TestedSteps,
    models: Models = None,
    family: opt.FamilyOption = "auto",
    metric: MetricOption = "auto",
    seasonality: opt.SeasonalityOption = "auto",
    draws: opt.DrawsOption = 0,
    jobs: opt.Jobs = 1,
    overwrite: Overwrite = False,
    json: opt.Json = False,
) -> None:
    """Compare drifting models with ridge and lasso, by rolling origin.

    driftglm compare sales.csv --target price --time year --test 2003:2005 -o results

    Started again with the same folder, it goes on where it was.
    """
    from driftglm.report import write_report
    from driftglm.tables.comparing import DEFAULT, compare_table
    from driftglm.tables.writing import check_own, check_writable, making, own_files

    cycle = opt.cycle(seasonality)
    folder = check_writable(output, folder=True)
    if not overwrite:
        check_own(folder, RESULTS, OWN)
    table, spec = columns.read(data, layout)
    kinds = columns.kinds()
    chosen = DEFAULT if models is None else opt.names(models)
    if not chosen:
        fail("--models names none; leave it out for all, or name some, such as learned,lasso-all.")
    asked: dict[str, Any] = {"family": family, "seasonality": cycle, "metric": metric}
    asked |= {"feature_groups": kinds, "verbose": console.shows_progress(), "n_jobs": jobs}
    where = folder / "cache"
    with making(folder):
        comparison, rows = compare_table(
            table, spec, tested.splitter(spec.freq), models=chosen, cache_dir=where, **asked
        )
    note(f"family {rows.family}: {rows.why}.")
    model = None
    if "learned" in comparison.models:
        params = {"seasonality": cycle, "inference": opt.inference(draws)}
        model = _fit_all(table, spec, rows, kinds, params)
    with own_files(folder, OWN) as draft:
        save_results(comparison, draft)
        with console.report_optional():
            title, page = f"Models compared on {data.name}", draft / "report.html"
            write_report(page, comparison=comparison, model=model, title=title)
    if json:
        print_json(as_json(comparison) | {"folder": str(folder)})
        return
    print_comparison(comparison)
    say(f"Written to {folder}: {', '.join(sorted(path.name for path in folder.glob('*.*')))}.")


def _fit_all(
    table: Table,
    spec: TableSpec,
    rows: Training,
    kinds: dict[str, tuple[str, ...]] | None,
    params: dict[str, Any],
) -> TableModel:
    """The learned model of all rows, for the report."""
    from driftglm.tables import fit_encoded, fit_encoder

    encoder = fit_encoder(table, spec)
    groups = None if kinds is None else encoder.kinds(kinds)
    shown = console.shows_progress()
    return fit_encoded(encoder, rows, verbose=shown, feature_groups=groups, **params)


def save_results(comparison: Comparison, folder: Path) -> None:
    """The comparison and its table, in a folder."""
    from driftglm.tables import write_table

    comparison.save(folder / "comparison.drift")
    write_table(comparison.table("frame").reset_index(), folder / "table.csv")


def print_comparison(comparison: Comparison, outcome: str | None = None) -> None:
    """Mean losses by step, and who differs from the best, or another `outcome`."""
    frame = comparison.table("frame")
    rows = [
        [str(step), *_starred(values)]
        for step, values in zip(frame.index, frame.to_numpy(), strict=True)
    ]
    header = [str(frame.index.name), *map(str, frame.columns)]
    # Models below each other need less width.
    if sys.stdout.isatty() and not console.fits(header, rows):
        transposed = [list(line) for line in zip(header, *rows, strict=True)]
        header, rows = ["model", *transposed[0][1:]], transposed[1:]
    console.say_table(header, rows, f"{comparison.label} (* best)")
    say()
    say(verdict(comparison) if outcome is None else outcome)
    for name, why in comparison.left_out.items():
        note(f"{name} was {why}.")
    for name, said in comparison.warnings.items():
        if said and name not in comparison.left_out:
            often = "warned" if len(said) == 1 else f"warned {len(said)} times, the first time"
            note(f"{name} {often}: {said[0]}")


def _starred(values: FloatArray) -> list[str]:
    """Losses of one step as cells; the best has a star."""
    from driftglm.evaluation.tables import best_shown

    marks = best_shown(values, DIGITS)
    return [f"{v:.{DIGITS}f}{'*' * int(best)}" for v, best in zip(values, marks, strict=True)]


TESTS = {
    "wilcoxon": "Wilcoxon signed-rank test on the same rows",
    "bootstrap": "bootstrap of whole test steps, since rows have unequal weights",
}


def verdict(comparison: Comparison) -> str:
    """Which model is best over all test rows, and which others cannot be told from it."""
    from driftglm.evaluation.comparison import SIGNIFICANT

    overall, best = comparison.table("frame").iloc[-1], comparison.best
    if len(overall) == 1:
        return f"{best} is the only model."
    method, tests = _against_best(comparison)
    close = [
        f"{model} (p {p:.2g})"
        for model, p in zip(tests["model"], tests["p_holm"], strict=True)
        if p >= SIGNIFICANT
    ]
    start = f"Best over all test rows: {best}, {overall[best]:.{DIGITS}f}"
    how = f"{TESTS[method]}, Holm-corrected"
    if not close:
        return f"{start}; all others differ from it at the 5 % level ({how})."
    return f"{start}; not told apart at the 5 % level: {', '.join(close)} ({how})."


def _against_best(comparison: Comparison) -> tuple[str, pd.DataFrame]:
    """The test that sentences and scripts are told of, and what it says of all other models."""
    from driftglm.evaluation.significance import usual_test

    method = usual_test(comparison.weights, len(comparison.steps))
    return method, comparison.significance(baseline=comparison.best, method=method)


def as_json(comparison: Comparison) -> dict[str, object]:
    """What a script may want to know."""
    return {
        "metric": comparison.metric,
        "label": comparison.label,
        "models": comparison.models,
        "table": comparison.table("frame").reset_index().to_dict("records"),
        "best": comparison.best,
        "significance": _against_best(comparison)[1].to_dict("records"),
        "seconds": comparison.seconds,
        "params": comparison.params,
        "warnings": comparison.warnings,
        "calibration": comparison.calibration().to_dict("records") if comparison.pit else [],
    }
