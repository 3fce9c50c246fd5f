"""`driftglm check`: what a model would find by chance, and what its residuals say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from driftglm.cli import options as opt
from driftglm.cli.console import fail, note, print_json, say, say_table
from driftglm.cli.fit import print_findings

if TYPE_CHECKING:
    from driftglm.evaluation import PermutationCheck
    from driftglm.tables import Table, TableModel

OFTEN, MOST_NAMED = 0.1, 10


@opt.flattened
def command(
    model: Annotated[Path, Argument(metavar="MODEL", help="File of `driftglm fit`.")],
    data: opt.Data,
    *,
    groups: Annotated[
        str | None, Option(metavar="COL", help="Column of ids of rows that belong together.")
    ] = None,
    shuffles: Annotated[int, Option(metavar="N", min=1, help="Shuffles of either kind.")] = 20,
    plot: Annotated[
        Path | None, Option(metavar="FILE", help="Figure to write: .png, .svg or .pdf.")
    ] = None,
    time_file: opt.TimeFile = None,
    layout: opt.FileOptions,
    json: opt.Json = False,
) -> None:
    """Shuffle the training rows and see what is found in them; then check the residuals.

    driftglm check model.drift sales.csv --groups shop
    """
    from driftglm.tables import TableModel
    from driftglm.tables.preparing import prepared
    from driftglm.tables.writing import check_writable

    if plot is not None:
        check_writable(plot, inputs=(model, data, time_file))
    fitted = opt.load_file(model, TableModel, "fit")
    spec = fitted.encoder.spec
    usual = spec.time if time_file is None else None
    as_text = spec.text, spec.groups, groups
    table = opt.read(data, usual, time_file, spec.date_format, *as_text, layout=layout)
    table, _, said = prepared(table, spec)  # rows with gaps are left out as they were in training
    for each in said:
        note(each)
    found = _checked(fitted, table, groups, shuffles)
    if plot is not None:
        found.plot().savefig(plot)
    findings = fitted.estimator.diagnose()
    if json:
        parts = {"shuffles": found.table().reset_index(), "features": found.features}
        records = {name: frame.to_dict("records") for name, frame in parts.items()}
        print_json({"said": found.sentence(), **records, "findings": findings.to_dict("records")})
        return
    _print(found)
    print_findings(findings)


def _checked(
    fitted: TableModel, table: Table, groups: str | None, n_shuffles: int
) -> PermutationCheck:
    from driftglm.evaluation import permutation_check
    from driftglm.tables import read_training

    encoder, estimator = fitted.encoder, fitted.estimator
    rows = read_training(table, encoder.spec, estimator.family_.name, encoder.matrix(table))
    ids: Any = None
    if groups is not None:
        if groups not in table.frame.columns:
            fail(f"--groups {groups!r:.60}: {table.name} has no such column.")
        ids = table.frame[groups].astype(str).to_numpy()
    given = rows.X, rows.y, rows.time, ids
    found = permutation_check(estimator, *given, n_shuffles=n_shuffles, fit_params=rows.extras)
    # A matrix has no names.
    found.features["feature"] = encoder.feature_names
    return found


def _print(found: PermutationCheck) -> None:
    say(found.sentence())
    table = found.table()
    body = [[str(name), *(f"{v:.2f}" for v in row)] for name, row in table.iterrows()]
    say_table(["shuffled", *table.columns], body)
    for column, what in (("included", "y"), ("drifting", "time")):
        rates = found.features.set_index("feature")[f"{column}_by_chance"]
        often = rates[rates >= OFTEN].sort_values(ascending=False).head(MOST_NAMED)
        if len(often):
            named = ", ".join(f"{name} ({rate:.0%})" for name, rate in often.items())
            say(f"Often {column} with {what} shuffled: {named}.")
