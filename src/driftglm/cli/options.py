"""Options that several commands have, and how their values are read."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Collection, Iterator
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar, get_type_hints

import typer
from typer import Argument, Option

from driftglm.cli.console import fail, note, waiting, warn
from driftglm.registry import FAMILIES, PRIORS

if TYPE_CHECKING:
    from driftglm.fitting.settings import Seasonality
    from driftglm.tables import Table, TableSpec

Fitted = TypeVar("Fitted")
LEAST_CYCLE, MOST_DIGITS = 2, 15


def _registered(homes: dict[str, str], *more: str) -> dict[str, Any]:
    """An option whose value is a registered name, or one of `more`."""

    def parse(text: str) -> str:
        known = [*more, *homes]  # asked for now: families and priors may be registered at any time
        if text not in known:
            allowed = ", ".join(repr(name) for name in known)
            raise typer.BadParameter(f"{text!r:.60} is not one of {allowed}.")
        return text

    return {"parser": parse, "metavar": f"[{'|'.join([*more, *homes])}]"}


def flattened(command: Callable[..., None]) -> Callable[..., None]:
    """A command as Typer reads it: one option for every field of a parameter that is a NamedTuple.

    Typer builds options from the signature of a function. Options that commands share are written
    once, as a NamedTuple, and here their fields take its place in the signature.
    """
    own = signature(command, eval_str=True).parameters.values()
    records = {p.name: p.annotation for p in own if hasattr(p.annotation, "_fields")}

    @wraps(command)
    def run(**given: object) -> None:
        for name, record in records.items():
            given[name] = record(**{field: given.pop(field) for field in record._fields})
        command(**given)

    run.__signature__ = Signature(  # type: ignore[attr-defined]
        [p for each in own for p in (_fields(each.annotation) if each.name in records else [each])]
    )
    return run


def _fields(record: type[NamedTuple]) -> Iterator[Parameter]:
    for name, annotation in get_type_hints(record, include_extras=True).items():
        default = record._field_defaults.get(name, Parameter.empty)
        yield Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


Data = Annotated[
    Path,
    Argument(
        metavar="DATA",
        help="Table: .csv, .jsonl (both also .gz), .parquet, SVMlight (.svm, .libsvm) or shards.",
    ),
]
Time = Annotated[
    str | None, Option(metavar="COL", help="Column of times: years or dates; SVMlight: qid.")
]
TimeFile = Annotated[
    Path | None, Option(metavar="FILE", help="File with one time a line, for SVMlight files.")
]
Freq = Annotated[
    str | None,
    Option(metavar="F", help="Length of a step: Y, Q, M, W, D for dates, a number for years."),
]
SeasonalityOption = Annotated[
    str,
    Option(
        metavar="N",
        help="Steps a cycle, such as 12 months; none; auto: 12, 4, 52 for --freq M, Q, W.",
    ),
]
DrawsOption = Annotated[
    int,
    Option(
        metavar="N",
        min=0,
        help="Sample the joint posterior, N draws of each of two chains; 0: do not.",
    ),
]
DateFormat = Annotated[
    str | None,
    Option(
        metavar="FORMAT",
        help="How dates are written, in the words of strptime: %d.%m.%Y; default: as rows show.",
    ),
]
FamilyOption = Annotated[
    str,
    Option(
        help="Numbers, classes or counts; auto tells the first two apart.",
        **_registered(FAMILIES, "auto"),
    ),
]
Vocabulary = Annotated[
    str | None,
    Option(
        metavar="FIRST:LAST",
        help="Frequency ranks of the words to keep, such as 101:10101; default: all of a small "
        "corpus, 101:10101 of a large one.",
    ),
]
PriorOption = Annotated[
    str, Option(help="How coefficients are thought to behave.", **_registered(PRIORS))
]
Json = Annotated[bool, Option("--json", help="Print the result as JSON.")]


MOST_JOBS = 4
"""Fits at a time, for every processor: more would only fill the memory."""


def _check_jobs(number: int) -> int:
    if number == 0:
        fail("--jobs is 0; pass 1 or more, or -1 for all processors.")
    most = MOST_JOBS * (os.cpu_count() or 1)
    if number > most:
        warn(f"--jobs {number} is more than this machine can use; {most} fits at a time are made.")
    return min(number, most)


Jobs = Annotated[int, Option(metavar="N", help="Fits at a time.", callback=_check_jobs)]


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


def cycle(text: str) -> Seasonality:
    """Steps a cycle as they are typed: a whole number, "auto" or "none"."""
    said = text.strip().lower()
    if said == "auto":
        return "auto"
    if said == "none":
        return None
    if not _is_whole(said) or int(said) < LEAST_CYCLE:
        fail(f"--seasonality {text!r:.40}; write the steps of a cycle, 2 or more, auto or none.")
    return int(said)


def _is_whole(text: str) -> bool:
    """Whether a text is a whole number; Python reads none of more than 4300 digits."""
    return text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS


def inference(draws: int) -> Any:
    """What `--draws` asks of an estimator."""
    if not draws:
        return "variational"
    from driftglm import Sampling

    return Sampling(draws=draws)


def pairs(values: Collection[str] | None) -> tuple[tuple[str, str], ...]:
    """Columns and levels, typed as COL=LEVEL."""
    out = []
    for each in names(values):
        name, mark, level = each.partition("=")
        if not (name.strip() and mark and level.strip()):
            fail(f"--reference {each!r:.40}; write COL=LEVEL, such as hour=8.")
        out.append((name.strip(), level.strip()))
    return tuple(out)


def ranks(text: str | None) -> tuple[int, int | None] | None:
    """First and last rank; "101:" has no last."""
    if text is None:
        return None
    first, mark, last = (part.strip() for part in text.partition(":"))
    if not mark or not _is_whole(first) or not (_is_whole(last) or last == ""):
        fail(f"--vocabulary {text!r:.40}; write FIRST:LAST, such as 101:10101 or 1:.")
    return int(first), int(last) if last else None


def read(
    path: Path,
    time: str | None,
    time_file: Path | None,
    date_format: str | None,
    *as_they_stand: str | None,
    layout: FileOptions | None = None,
) -> Table:
    """The table of a file; columns of texts and ids are read as they stand, 007 is not 7.

    So is that of times where a format is given: 01032004 is no number then.
    """
    from driftglm.datasets.dates import check_format
    from driftglm.tables import read_data
    from driftglm.tables.layout import Layout
    from driftglm.tables.reading import TIME

    as_text = [name for name in as_they_stand if name is not None]
    if date_format is not None:
        check_format(date_format)
        column = TIME if time_file is not None and time is None else time
        as_text += [] if column is None else [column]
    with waiting(f"reading {path.name}"):
        table = read_data(
            path,
            as_text=tuple(as_text),
            time_file=time_file,
            layout=None if layout is None else Layout(*layout),
        )
    for each in table.said:
        note(each)
    return table


def load_file(path: Path, kind: type[Fitted], command: str) -> Fitted:
    """What a command wrote to a file."""
    from driftglm.persistence import load

    found = load(path)
    if not isinstance(found, kind):
        fail(f"{path} holds a {type(found).__name__}; a file of `driftglm {command}` is needed.")
    return found


class FileOptions(NamedTuple):
    """How a file is laid out: options of all commands that read one, as typed."""

    sep: Annotated[
        str | None, Option(metavar="MARK", help="Between cells: ',' ';' tab '|'; default: guessed.")
    ] = None
    encoding: Annotated[
        str | None, Option(metavar="NAME", help="Of the letters, such as cp1252; default: guessed.")
    ] = None
    decimal: Annotated[
        str | None, Option(metavar="MARK", help="Decimal mark of numbers; default: guessed.")
    ] = None
    thousands: Annotated[
        str | None, Option(metavar="MARK", help="Mark between thousands; default: guessed.")
    ] = None
    sheet: Annotated[
        str | None, Option(metavar="NAME", help="Sheet of an Excel file; default: the first.")
    ] = None


class TableOptions(NamedTuple):
    """Which column of a table plays which part: options of `fit` and `compare`, as typed."""

    target: Annotated[
        str | None, Option(metavar="COL", help="Column to predict; SVMlight: the label.")
    ] = None
    time: Time = None
    freq: Freq = None
    date_format: DateFormat = None
    text: Annotated[
        str | None, Option(metavar="COL", help="Column of texts; its words become features.")
    ] = None
    vocabulary: Vocabulary = None
    weights: Annotated[str | None, Option(metavar="COL", help="Column of row weights.")] = None
    exposure: Annotated[
        str | None, Option(metavar="COL", help="Column of exposures, for counts.")
    ] = None
    trials: Annotated[
        str | None,
        Option(metavar="COL", help="Column of trials, of which the target is the successes."),
    ] = None
    groups: Annotated[
        str | None,
        Option(metavar="COL", help="Column of ids: rows of one id belong together."),
    ] = None
    drop: Annotated[
        list[str] | None, Option(metavar="COLS", help="Columns to leave out, separated by commas.")
    ] = None
    categorical: Annotated[
        list[str] | None,
        Option(metavar="COLS", help="Columns of numbers that stand for categories."),
    ] = None
    features: Annotated[
        list[str] | None,
        Option(metavar="COLS", help="Columns to predict with, such as a,b,c*; default: all."),
    ] = None
    formula: Annotated[
        str | None,
        Option(metavar="TEXT", help="Instead of --target and --features: 'y ~ x1 + C(a) + x2:x3'."),
    ] = None
    missing: Annotated[
        str,
        Option(metavar="HOW", help="Gaps in features: error, drop the rows, mean, or indicator."),
    ] = "error"
    reference: Annotated[
        list[str] | None,
        Option(metavar="COL=LEVEL", help="What other levels are compared with, such as hour=8."),
    ] = None
    rare: Annotated[
        int, Option(metavar="N", min=1, help="Pool levels of fewer rows than this.")
    ] = 1
    time_file: TimeFile = None
    feature_groups: Annotated[
        list[str] | None,
        Option(
            metavar="NAME=COLS",
            help="A kind of features with a hyperprior of its own: words=w_* or macro=gdp,cpi; "
            "once for every kind (learned prior).",
        ),
    ] = None

    def kinds(self) -> dict[str, tuple[str, ...]] | None:
        """Columns or patterns of every kind of features; None where none is named."""
        if self.feature_groups is None:
            return None
        out: dict[str, tuple[str, ...]] = {}
        for text in self.feature_groups:
            kind, mark, columns = (part.strip() for part in text.partition("="))
            if not kind or not mark or not names([columns]):
                fail(
                    f"--feature-groups {text!r:.60}; write NAME=COLS, such as words=w_* or "
                    "macro=gdp,cpi."
                )
            if kind in out:
                fail(f"--feature-groups names {kind!r:.40} twice; list all its columns in one.")
            out[kind] = names([columns])
        return out

    def _check_said(self, target: str | None) -> None:
        """Refuse columns that nothing names, or two things do."""
        if target is None and self.formula is None:
            fail("nothing says what to predict; pass --target COL, or --formula 'y ~ x1 + x2'.")
        if self.formula is not None and self.features is not None:
            fail("--formula and --features both say what to predict with; pass one of them.")

    def read(self, path: Path, layout: FileOptions | None = None) -> tuple[Table, TableSpec]:
        """The table of a file, and its columns' parts; SVMlight's own names are the defaults."""
        from driftglm.tables import TableSpec
        from driftglm.tables.columns import parse_freq
        from driftglm.tables.formula_terms import with_formula
        from driftglm.tables.preparing import prepared
        from driftglm.tables.reading import LABEL, QUERY, TIME

        given = self.time, self.time_file, self.date_format
        table = read(path, *given, self.text, self.groups, layout=layout)
        known, target, time, drop = list(table.frame.columns), self.target, self.time, self.drop
        if table.block is not None:  # an SVMlight file
            target = target or LABEL
            time = time or next((name for name in (TIME, QUERY) if name in known), None)
            if QUERY in known and time != QUERY:  # a qid that is not the time is no feature either
                drop = [*(drop or ()), QUERY]
        self._check_said(target)
        if time is None:
            fail(
                "nothing says when the rows are from; pass --time COL (SVMlight: --time-file FILE)."
            )
        spec = TableSpec(
            target=target,
            time=time,
            freq=parse_freq(self.freq),
            text=self.text,
            weights=self.weights,
            exposure=self.exposure,
            trials=self.trials,
            drop=names(drop, known),
            categorical=names(self.categorical, known),
            vocabulary=ranks(self.vocabulary),
            date_format=self.date_format,
            missing=self.missing,
            reference=pairs(self.reference),
            rare=self.rare,
            groups=self.groups,
        )
        if self.formula is not None:
            table, spec = with_formula(table, spec, self.formula)
        table, spec, said = prepared(table, spec, names(self.features, known))
        for each in said:
            note(each)
        return table, spec
