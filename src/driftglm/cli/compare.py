"""`driftglm compare`: who predicts the next step best, on a table of one's own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftglm.cli import options as opt
from driftglm.cli.console import (
    fail,
    fits,
    is_about_extra,
    note,
    print_json,
    say,
    say_table,
    shows_progress,
    waiting,
    warn,
)

if TYPE_CHECKING:
    from driftglm.evaluation import Comparison, RollingOrigin
    from driftglm.tables import Table, TableSpec

DIGITS = 4


def command(  # noqa: PLR0913
    data: opt.Data,
    *,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="DIR", help="Folder for results; resumes there."),
    ],
    target: opt.Target = None,
    time: opt.Time = None,
    dev: Annotated[
        str | None,
        typer.Option(metavar="STEP", help="Step to tune on; default: the one before the test."),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(metavar="STEPS", help="Steps to test: 2003,2004 or 2003:2005."),
    ] = None,
    n_test: Annotated[
        int | None, typer.Option(metavar="N", help="Instead of --test: the last N steps.")
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="ridge-one, ridge-all, ridge-ts, lasso-one, lasso-all, exact, variational, "
            "learned, fixed; default: all but the last.",
        ),
    ] = None,
    freq: opt.Freq = None,
    date_format: opt.DateFormat = None,
    family: opt.FamilyOption = "auto",
    text: opt.Text = None,
    vocabulary: opt.Vocabulary = None,
    weights: opt.Weights = None,
    exposure: opt.Exposure = None,
    drop: opt.Drop = None,
    categorical: opt.Categorical = None,
    time_file: opt.TimeFile = None,
    jobs: opt.Jobs = 1,
    json: opt.Json = False,
) -> None:
    """Compare drifting models with ridge and lasso, by rolling origin.

    driftglm compare sales.csv --target price --time year --test 2003:2005 -o results

    Started again with the same folder, it goes on where it was.
    """
    from driftglm.report import write_report
    from driftglm.tables.comparing import DEFAULT, compare_table
    from driftglm.tables.writing import check_writable

    folder = check_writable(output, folder=True)
    table = opt.read(data, time_file, text, opt.dates(time, time_file, date_format))
    known = list(table.frame.columns)
    spec = opt.roles(
        known,
        svmlight=table.block is not None,
        target=target,
        time=time,
        freq=freq,
        text=text,
        vocabulary=vocabulary,
        weights=weights,
        exposure=exposure,
        drop=drop,
        categorical=categorical,
        date_format=date_format,
    )
    comparison, rows = compare_table(
        table,
        spec,
        _splitter(dev, test, n_test, spec),
        models=DEFAULT if models is None else _chosen(models),
        family=family,
        cache_dir=folder / "cache",
        n_jobs=jobs,
        verbose=shows_progress(),
    )
    note(f"family {rows.family}: {rows.why}.")
    model = None
    if "learned" in comparison.models:
        with waiting("fitting all rows"):
            model = _final(table, spec, rows)
    save_results(comparison, folder)
    with report_optional():
        write_report(
            folder / "report.html",
            comparison=comparison,
            model=model,
            title=f"Models compared on {data.name}",
        )
    if json:
        print_json(as_json(comparison) | {"folder": str(folder)})
        return
    print_comparison(comparison)
    say(f"Written to {folder}: {', '.join(sorted(path.name for path in folder.glob('*.*')))}.")


def _chosen(models: list[str]) -> tuple[str, ...]:
    names = opt.names(models)
    if not names:
        fail("--models names none; leave it out for all, or name some, such as learned,lasso-all.")
    return names


def _splitter(
    dev: str | None, test: str | None, n_test: int | None, spec: TableSpec
) -> RollingOrigin:
    from driftglm.evaluation import RollingOrigin
    from driftglm.tables.comparing import parse_steps

    if test is None and n_test is None and dev is None:
        fail("nothing says which steps to test; pass --test 2003:2005 or --n-test 3.")
    if dev is not None and len(parse_steps(dev, spec.freq)) != 1:
        fail(f"--dev {dev!r:.40}; one step is needed.")
    return RollingOrigin(
        dev=None if dev is None else parse_steps(dev, spec.freq)[0],
        test=None if test is None else parse_steps(test, spec.freq),
        n_test=n_test,
        freq=spec.freq,
    )


def _final(table: Table, spec: TableSpec, rows: Any) -> Any:
    """The learned model of all rows, for the report."""
    from driftglm.tables import fit_encoder
    from driftglm.tables.model import fit_encoded

    return fit_encoded(fit_encoder(table, spec), rows).estimator


@contextmanager
def report_optional() -> Iterator[None]:
    """Without the package for plots there is no page, but the results are not lost."""
    try:
        yield
    except ImportError as error:
        if not is_about_extra(error):
            raise
        warn(error)


def save_results(comparison: Comparison, folder: Path) -> None:
    """The comparison and its table, in a folder."""
    from driftglm.tables import write_table

    comparison.save(folder / "comparison.drift")
    write_table(comparison.table("frame").reset_index(), folder / "table.csv")


def print_comparison(comparison: Comparison) -> None:
    """Mean losses by step, and who differs from the best."""
    frame = comparison.table("frame")
    rows = [
        [str(step), *_starred(values)]
        for step, values in zip(frame.index, frame.to_numpy(), strict=True)
    ]
    header = [str(frame.index.name), *map(str, frame.columns)]
    if sys.stdout.isatty() and not fits(header, rows):  # models below each other need less width
        turned = [list(line) for line in zip(header, *rows, strict=True)]
        header, rows = ["model", *turned[0][1:]], turned[1:]
    say_table(header, rows, f"{comparison.label} (* best)")
    say()
    say(verdict(comparison))
    for name, said in comparison.warnings.items():
        if said:
            note(f"{name} warned {len(said)} times, first: {said[0]}")


def _starred(values: Any) -> list[str]:
    """Losses of one step as cells; the best has a star."""
    from driftglm.evaluation.tables import best_shown

    marks = best_shown(values, DIGITS)
    return [f"{v:.{DIGITS}f}{'*' * int(best)}" for v, best in zip(values, marks, strict=True)]


def verdict(comparison: Comparison) -> str:
    """Which model is best over all test rows, and which others cannot be told from it."""
    from driftglm.evaluation.comparison import SIGNIFICANT

    overall, best = comparison.table("frame").iloc[-1], comparison.best
    if len(overall) == 1:
        return f"{best} is the only model."
    rows: Any = comparison.significance(baseline=best).itertuples()
    close = [f"{row.model} (p {row.p_holm:.2g})" for row in rows if row.p_holm >= SIGNIFICANT]
    start = f"Best over all test rows: {best}, {overall[best]:.{DIGITS}f}"
    how = "Wilcoxon signed-rank test on the same rows, Holm-corrected"
    if not close:
        return f"{start}; all others differ from it at the 5 % level ({how})."
    return f"{start}; not told apart at the 5 % level: {', '.join(close)} ({how})."


def as_json(comparison: Comparison) -> dict[str, Any]:
    """What a script may want to know."""
    return {
        "metric": comparison.metric,
        "label": comparison.label,
        "models": comparison.models,
        "table": comparison.table("frame").reset_index().to_dict("records"),
        "best": comparison.best,
        "significance": comparison.significance(comparison.best).to_dict("records"),
        "seconds": comparison.seconds,
        "params": comparison.params,
        "warnings": comparison.warnings,
    }
