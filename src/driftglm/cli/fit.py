"""`driftglm fit`: a table in, a model file out, a summary on the screen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftglm.cli import options as opt
from driftglm.cli.console import note, print_json, say, say_table, waiting

if TYPE_CHECKING:
    from driftglm.tables import Table, TableModel

TOP, FEW = 10, 3
# Column of the summary -> what the table calls it.
FIGURES = {
    "inclusion_probability": "included",
    "coef_first": "first",
    "coef_last": "last",
    "coef_next": "next",
    "lower": "lower",
    "upper": "upper",
}


def command(  # noqa: PLR0913
    data: opt.Data,
    *,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL", help="Model file to write.")
    ],
    target: opt.Target = None,
    time: opt.Time = None,
    freq: opt.Freq = None,
    date_format: opt.DateFormat = None,
    family: opt.FamilyOption = opt.Family.auto,
    text: opt.Text = None,
    vocabulary: opt.Vocabulary = None,
    weights: opt.Weights = None,
    exposure: opt.Exposure = None,
    always_in: Annotated[
        list[str] | None, typer.Option(metavar="COLS", help="Columns that are never dropped.")
    ] = None,
    static: Annotated[
        list[str] | None, typer.Option(metavar="COLS", help="Columns that do not drift.")
    ] = None,
    drop: opt.Drop = None,
    categorical: opt.Categorical = None,
    prior: opt.PriorOption = opt.Prior.learned,
    time_file: opt.TimeFile = None,
    json: opt.Json = False,
) -> None:
    """Fit a model to a table and write it to a file.

    driftglm fit sales.csv --target price --time year -o model.drift
    """
    from driftglm.tables import fit_table
    from driftglm.tables.writing import check_writable

    check_writable(output, inputs=(data, time_file))
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
    with waiting(f"fitting {table.n_rows} rows"):
        model = fit_table(
            table,
            spec,
            family=family.value,
            always_in=opt.names(always_in, known),
            static=opt.names(static, known),
            prior=prior.value,
        )
    model.save(output)
    facts = _facts(table, model, family.value)
    if json:
        print_json(facts | {"model": str(output), "features": model.summary().to_dict("records")})
        return
    note(f"family {facts['family']}: {facts['why']}.")
    _print(facts, model)
    say(f"Written to {output}.")


def _facts(table: Table, model: TableModel, family: str) -> dict[str, Any]:
    from driftglm.tables.columns import target

    estimator, spec = model.estimator, model.encoder.spec
    _, chosen, why = target(table, str(spec.target), family)
    steps = [str(step) for step in estimator.timesteps_]
    noise = getattr(estimator, "noise_variance_", None)
    return {
        "rows": table.n_rows,
        "steps": len(steps),
        "first_step": steps[0],
        "last_step": steps[-1],
        "n_features": len(model.encoder.feature_names),
        "family": chosen,
        "why": why,
        "classes": [str(label) for label in model.classes],
        "prior": str(estimator.prior),
        "noise_variance": None if noise is None or chosen == "binomial" else float(noise),
        "dispersion": getattr(estimator, "dispersion_", None),
        "converged": bool(estimator.converged_),
        "learned": model.sentence(),
    }


def _print(facts: dict[str, Any], model: TableModel) -> None:
    span = facts["first_step"]
    if facts["steps"] > 1:
        span = f"{facts['first_step']} to {facts['last_step']}"
    line = f"{facts['rows']} rows, {facts['steps']} steps ({span}), {facts['n_features']} features"
    if facts["noise_variance"] is not None and facts["dispersion"] is None:
        line += f", noise variance {facts['noise_variance']:.4g}"
    if facts["dispersion"] is not None:
        line += f", dispersion {facts['dispersion']:.4g}"
    say(f"{line}.")
    say(facts["learned"])
    print_features(model.summary())


def print_features(summary: Any) -> None:
    """The most important features as a table; of every class, if there are several."""
    lead, rows = ["feature", "kind"], summary.head(TOP)
    if "class" in summary.columns:
        n_each = max(TOP // summary["class"].nunique(), FEW)
        lead, rows = ["feature", "class", "kind"], summary.groupby("class").head(n_each)
    figures = [name for name in FIGURES if not rows[name].isna().all()]
    body = [
        [str(row[name]) for name in lead] + [f"{row[name]:.3g}" for name in figures]
        for _, row in rows.iterrows()
    ]
    say_table(lead + [FIGURES[name] for name in figures], body)
    if len(summary) > len(rows):
        say(f"... and {len(summary) - len(rows)} more; --json lists all.")
