"""Options that several commands have, and how their values are read."""

from __future__ import annotations

import csv
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftglm.cli.console import fail
from driftglm.registry import FAMILIES, PRIORS

if TYPE_CHECKING:
    from driftglm.tables import Table, TableSpec


def _registered(homes: dict[str, str], *more: str) -> Any:
    """An option whose value is a registered name, or one `more`."""

    def parse(text: str) -> str:
        known = [*more, *homes]  # asked for now: families and priors may be registered at any time
        if text not in known:
            allowed = ", ".join(repr(name) for name in known)
            raise typer.BadParameter(f"{text!r:.60} is not one of {allowed}.")
        return text

    return {"parser": parse, "metavar": f"[{'|'.join([*more, *homes])}]"}


Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="Table: .csv, .jsonl (both also .gz), .parquet, SVMlight (.svm, .libsvm) or shards.",
    ),
]
Target = Annotated[
    str | None, typer.Option(metavar="COL", help="Column to predict; SVMlight: the label.")
]
Time = Annotated[
    str | None,
    typer.Option(metavar="COL", help="Column of times: years or dates; SVMlight: qid."),
]
TimeFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="File with one time a line, for SVMlight files."),
]
Freq = Annotated[
    str | None,
    typer.Option(
        metavar="F", help="Length of a step: Y, Q, M, W, D for dates, a number for years."
    ),
]
DateFormat = Annotated[
    str | None,
    typer.Option(
        metavar="FORMAT",
        help="How dates are written, in the words of strptime: %d.%m.%Y; default: as rows show.",
    ),
]
FamilyOption = Annotated[
    str,
    typer.Option(
        help="Numbers, classes or counts; auto tells the first two apart.",
        **_registered(FAMILIES, "auto"),
    ),
]
Text = Annotated[
    str | None, typer.Option(metavar="COL", help="Column of texts; its words become features.")
]
Vocabulary = Annotated[
    str | None,
    typer.Option(
        metavar="FIRST:LAST",
        help="Frequency ranks of the words to keep, such as 101:10101; default: all of a small "
        "corpus, 101:10101 of a large one.",
    ),
]
Weights = Annotated[str | None, typer.Option(metavar="COL", help="Column of row weights.")]
Exposure = Annotated[
    str | None, typer.Option(metavar="COL", help="Column of exposures, for counts.")
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COLS", help="Columns to leave out, separated by commas."),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(metavar="COLS", help="Columns of numbers that stand for categories."),
]
PriorOption = Annotated[
    str,
    typer.Option(help="How coefficients are thought to behave.", **_registered(PRIORS)),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def _check_jobs(number: int) -> int:
    if number == 0:
        fail("--jobs is 0; pass 1 or more, or -1 for all processors.")
    return number


Jobs = Annotated[int, typer.Option(metavar="N", help="Fits at a time.", callback=_check_jobs)]


def names(values: Collection[str] | None, known: Collection[str] = ()) -> tuple[str, ...]:
    """Names separated by commas; a name with a comma is quoted, or an option of its own."""
    out: list[str] = []
    for value in values or ():
        if value in known:
            out.append(value)
            continue
        parts = next(csv.reader([value], skipinitialspace=True), [])
        out += [part.strip() for part in parts if part.strip()]
    return tuple(dict.fromkeys(out))


def ranks(text: str | None) -> tuple[int, int | None] | None:
    """First and last rank; "101:" has no last."""
    if text is None:
        return None
    first, mark, last = (part.strip() for part in text.partition(":"))
    if not mark or not first.isdecimal() or not (last.isdecimal() or last == ""):
        fail(f"--vocabulary {text!r:.40}; write FIRST:LAST, such as 101:10101 or 1:.")
    return int(first), int(last) if last else None


def read(
    path: Path, time_file: Path | None, text: str | None = None, dates: str | None = None
) -> Table:
    """The table of a file; `text` and `dates` are columns that stay as they stand."""
    from driftglm.cli.console import waiting
    from driftglm.tables import read_data

    as_text = tuple(name for name in (text, dates) if name is not None)
    with waiting(f"reading {path.name}"):
        return read_data(path, as_text=as_text, time_file=time_file)


def dates(time: str | None, time_file: Path | None, date_format: str | None) -> str | None:
    """The column of dates that is to be read as it stands: 01032004 is no number then."""
    if date_format is None:
        return None
    from driftglm.datasets.dates import check_format
    from driftglm.tables.reading import TIME

    check_format(date_format)
    return TIME if time_file is not None and time is None else time


def roles(  # noqa: PLR0913
    known: Collection[str],
    *,
    svmlight: bool,
    target: str | None,
    time: str | None,
    freq: str | None,
    text: str | None = None,
    vocabulary: str | None = None,
    weights: str | None = None,
    exposure: str | None = None,
    drop: Collection[str] | None = None,
    categorical: Collection[str] | None = None,
    date_format: str | None = None,
) -> TableSpec:
    """Which of the columns `known` plays which part, SVMlight's own names being the defaults."""
    from driftglm.tables import TableSpec
    from driftglm.tables.columns import parse_freq
    from driftglm.tables.reading import LABEL, QUERY, TIME

    if svmlight:
        target = target or LABEL
        time = time or next((name for name in (TIME, QUERY) if name in known), None)
        # A qid that is not the time is no feature either.
        drop = [*(drop or ()), *(name for name in (QUERY,) if name in known and name != time)]
    if target is None:
        fail("nothing says what to predict; pass --target COL.")
    if time is None:
        fail("nothing says when the rows are from; pass --time COL (SVMlight: --time-file FILE).")
    return TableSpec(
        target=target,
        time=time,
        freq=parse_freq(freq),
        text=text,
        weights=weights,
        exposure=exposure,
        drop=names(drop, known),
        categorical=names(categorical, known),
        vocabulary=ranks(vocabulary),
        date_format=date_format,
    )
