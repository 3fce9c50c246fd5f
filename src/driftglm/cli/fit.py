"""`driftglm fit`: a table in, a model file out, a summary on the screen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from driftglm.cli import options as opt
from driftglm.cli.console import (
    advice,
    note,
    print_json,
    say,
    say_table,
    shows_progress,
    waiting,
)

if TYPE_CHECKING:
    import pandas as pd

    from driftglm.tables import TableModel, Training

TOP, FEW = 10, 3
MOST_FINDINGS = 5
SHORT = {"inclusion_probability": "included", "drift_probability": "drifts"}
FIGURES = (*SHORT, "coef_first", "coef_last", "coef_next", "lower", "upper")


@opt.flattened
def command(  # noqa: PLR0913
    data: opt.Data,
    *,
    output: Annotated[Path, Option("--output", "-o", metavar="MODEL", help="Model file to write.")],
    columns: opt.TableOptions,
    layout: opt.FileOptions,
    family: opt.FamilyOption = "auto",
    always_in: Annotated[
        list[str] | None, Option(metavar="COLS", help="Columns that are never dropped.")
    ] = None,
    static: Annotated[
        list[str] | None, Option(metavar="COLS", help="Columns that do not drift.")
    ] = None,
    prior: opt.PriorOption = "learned",
    seasonality: opt.SeasonalityOption = "auto",
    draws: opt.DrawsOption = 0,
    json: opt.Json = False,
) -> None:
    """Fit a model to a table and write it to a file.

    driftglm fit sales.csv --target price --time year -o model.drift
    """
    from driftglm.tables import encode, fit_encoded, read_training
    from driftglm.tables.writing import check_writable

    cycle = opt.cycle(seasonality)
    check_writable(output, inputs=(data, columns.time_file))
    table, spec = columns.read(data, layout)
    known, kinds = list(table.frame.columns), columns.kinds()
    with waiting(f"making features of {table.n_rows} rows"):
        encoder, features = encode(table, spec)
        rows = read_training(table, spec, family, features)
    model = fit_encoded(
        encoder,
        rows,
        verbose=shows_progress(),
        always_in=encoder.positions(opt.names(always_in, known), "always in") or None,
        static=encoder.positions(opt.names(static, known), "static") or None,
        feature_groups=None if kinds is None else encoder.kinds(kinds),
        prior=prior,
        seasonality=cycle,
        inference=opt.inference(draws),
    )
    model.save(output)
    summary = model.summary()
    facts, found = _facts(rows, model, summary), model.estimator.diagnose()
    if json:
        parts = {"features": summary.to_dict("records"), "findings": found.to_dict("records")}
        if kinds is not None:
            parts["kinds"] = model.estimator.kinds_summary().to_dict("records")
        print_json(facts | {"model": str(output), **parts})
        return
    note(f"family {rows.family}: {rows.why}.")
    _print(facts, model, summary)
    if kinds is not None:
        print_kinds(model.estimator.kinds_summary())
    print_findings(found)
    say(f"Written to {output}.")


def _facts(rows: Training, model: TableModel, summary: pd.DataFrame) -> dict[str, Any]:
    from driftglm.tables.model import learned_sentence

    estimator = model.estimator
    steps = [str(step) for step in estimator.timesteps_]
    label = estimator.family_.noise_label
    noise = {} if label is None else {label.replace(" ", "_"): estimator.noise_}
    return {
        "rows": len(rows.y),
        "steps": len(steps),
        "first_step": steps[0],
        "last_step": steps[-1],
        "n_features": len(model.encoder.feature_names),
        "family": rows.family,
        "why": rows.why,
        "classes": [str(label) for label in model.classes],
        "prior": str(estimator.prior),
        "noise_variance": None,
        "dispersion": None,
        **noise,
        "converged": bool(estimator.converged_),
        "learned": learned_sentence(summary),
        "trust": estimator.trust_sentence(),
        "seasons": estimator.season_sentence(),
    }


def _print(facts: dict[str, Any], model: TableModel, summary: pd.DataFrame) -> None:
    span = " to ".join(dict.fromkeys([facts["first_step"], facts["last_step"]]))
    line = f"{facts['rows']} rows, {facts['steps']} steps ({span}), {facts['n_features']} features"
    family = model.estimator.family_
    if family.has_dispersion:
        line += f", {family.noise_label} {model.estimator.noise_:.4g}"
    say(f"{line}.")
    say(facts["learned"])
    for name in ("trust", "seasons"):
        if facts[name]:
            say(facts[name])
    print_features(summary.assign(feature=[model.described(f) for f in summary["feature"]]))


def print_findings(found: pd.DataFrame) -> None:
    """What is wrong with the fit, in five lines at most."""
    if found.empty:
        say("Checks of the residuals: no findings.")
        return
    n_shown = len(found) if len(found) <= MOST_FINDINGS else MOST_FINDINGS - 1
    for _, each in found.head(n_shown).iterrows():
        text = f"{each['severity']} finding, {each['check']}: {each['finding']}; {each['advice']}."
        say(advice(text))
    if len(found) > n_shown:
        say(f"... and {len(found) - n_shown} more findings; --json lists all.")


def print_kinds(found: pd.DataFrame) -> None:
    """What every kind of feature is worth."""
    lead = [name for name in ("kind", "class", "n_features", "zeros") if name in found.columns]
    figures = [name for name in found.columns if name not in lead]
    body = [
        [str(row[name]) for name in lead] + [f"{row[name]:.3g}" for name in figures]
        for _, row in found.iterrows()
    ]
    say_table([name.replace("_", " ") for name in lead + figures], body)


def print_features(summary: pd.DataFrame) -> None:
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
    short = [SHORT.get(name, name).removeprefix("coef_") for name in figures]
    say_table(lead + short, body)
    if len(summary) > len(rows):
        say(f"... and {len(summary) - len(rows)} more; --json lists all.")
