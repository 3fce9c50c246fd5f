"""`driftglm predict`: a model file and a table in, predictions out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from driftglm.cli import options as opt
from driftglm.cli.console import fail, note, print_json, printable, say, waiting

if TYPE_CHECKING:
    import pandas as pd

    from driftglm.tables import Table, TableModel


@opt.flattened
def command(  # noqa: PLR0913
    model: Annotated[Path, Argument(metavar="MODEL", help="File of `driftglm fit`.")],
    data: opt.Data,
    *,
    output: Annotated[
        str,
        Option(
            "--output", "-o", metavar="OUT", help="File .csv, .csv.gz or .parquet; - is stdout."
        ),
    ] = "-",
    interval: Annotated[
        float | None, Option(metavar="P", help="Add intervals of this probability, such as 0.9.")
    ] = None,
    time: Annotated[
        str | None,
        Option(metavar="COL", help="Column of times; default: that of training, if there."),
    ] = None,
    date_format: Annotated[
        str | None, Option(metavar="FORMAT", help="How dates are written; default: as in training.")
    ] = None,
    next_step: Annotated[
        bool, Option("--next", help="All rows belong to the step after the last.")
    ] = False,
    keep: Annotated[
        list[str] | None, Option(metavar="COLS", help="Columns to copy to the output.")
    ] = None,
    time_file: opt.TimeFile = None,
    layout: opt.FileOptions,
    json: Annotated[bool, Option("--json", help="Print a summary as JSON.")] = False,
) -> None:
    """Predict the rows of a table, in their order.

    driftglm predict model.drift new.csv --interval 0.9 -o predictions.csv
    """
    from driftglm.tables import TableModel, write_table
    from driftglm.tables.writing import check_table_path, check_writable

    _check_options(output, interval, json=json)
    if output != "-":
        check_table_path(check_writable(output, inputs=(model, data, time_file)))
    found = opt.load_file(model, TableModel, "fit")
    spec = found.encoder.spec
    usual = spec.time if time_file is None else None
    form = date_format or spec.date_format
    as_text = spec.text, spec.groups
    table = opt.read(data, time or usual, time_file, form, *as_text, layout=layout)
    column = None if next_step else _time_column(found, table, time, time_file is not None)
    _say_where_ids_lack(found, table)
    with waiting(f"predicting {table.n_rows} rows"):
        frame = found.predict(table, time=column, level=interval, date_format=date_format)
    _insert_columns(frame, table, keep)
    if output == "-":
        _print_table(frame)
        return
    write_table(frame, output)
    if json:
        print_json({"rows": len(frame), "columns": list(frame.columns), "output": output})
    else:
        say(f"{len(frame)} predictions written to {output}.")


def _print_table(frame: pd.DataFrame) -> None:
    """To a terminal without what would control it."""
    text = frame.to_csv(index=False, lineterminator="\n")
    shown = "\n".join(map(printable, text.split("\n"))) if sys.stdout.isatty() else text
    sys.stdout.write(shown)


def _check_options(output: str, interval: float | None, *, json: bool) -> None:
    """Refuse what cannot be meant, before anything is read."""
    if output == "-" and json:
        fail("--json prints to stdout, and so does -o -; name a file with -o.")
    if interval is not None and not 0 < interval < 1:
        fail(f"--interval {interval}; a probability between 0 and 1 is needed, such as 0.9.")


def _time_column(model: TableModel, table: Table, named: str | None, from_file: bool) -> str | None:
    """The column of times: as named, else as in training, else none."""
    from driftglm.tables.reading import TIME

    if named is not None:
        return named
    wanted = TIME if from_file else model.encoder.spec.time
    if wanted in table.frame.columns:
        return wanted
    last = model.estimator.timesteps_[-1]
    note(f"no column {wanted!r}: all rows are taken to belong to the step after {last}.")
    return None


def _say_where_ids_lack(model: TableModel, table: Table) -> None:
    wanted = model.encoder.spec.groups
    if wanted is not None and wanted not in table.frame.columns:
        note(f"no column {wanted!r}: every row is taken for one of a group not seen before.")


def _insert_columns(predictions: pd.DataFrame, table: Table, keep: list[str] | None) -> None:
    """Put columns of the table in front of the predictions."""
    from driftglm.tables.columns import column

    for name in reversed(opt.names(keep, list(table.frame.columns))):
        values = column(table, name, "keep")
        if name in predictions.columns:
            fail(f"--keep {name!r:.60} is also the name of a prediction; rename the column.")
        predictions.insert(0, name, values.to_numpy())
