"""What commands print: results on stdout, progress and complaints on stderr, plain when piped."""

from __future__ import annotations

import json
import math
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, NoReturn

import typer

from driftglm.cli.wording import in_options

BAD_INPUT = 2
FAILED = 1
INTERRUPTED = 130
LEAST_NAME = 12  # letters of the first column of a table that are always shown


@dataclass
class Settings:
    """What the options before the command's name ask for, and which the command itself has."""

    debug: bool = False
    quiet: bool = False
    options: frozenset[str] = frozenset()


SETTINGS = Settings()


def printable(line: str) -> str:
    """A line without anything that moves a terminal's cursor; blanks stay as they are."""
    return "".join(letter if letter.isprintable() else "?" for letter in line)


def advice(message: object) -> str:
    """A message in one line, its advice in options of the command that is running."""
    return one_line(in_options(message, SETTINGS.options))


def one_line(message: object) -> str:
    """A message as one printable line, with single blanks."""
    return printable(" ".join(str(message).split()))


def fail(message: object, code: int = BAD_INPUT) -> NoReturn:
    """Say what is wrong and how to repair it, in one line on stderr, and leave.

    `code` is 2 for bad usage or data, 1 for a run that failed.
    """
    sys.stderr.write(f"error: {advice(message)}\n")
    raise typer.Exit(code)


def warn(message: object) -> None:
    """One line on stderr about something that may be wrong."""
    sys.stderr.write(f"warning: {advice(message)}\n")


@contextmanager
def report_optional(tell: Callable[[object], None] = warn) -> Iterator[None]:
    """Tell which package the report's plots need, where it is not installed, instead of failing."""
    try:
        yield
    except ImportError as error:
        # Our own advice to install an extra has no name; Python's error about a module that is
        # broken or gone carries that of the module.
        if error.name is not None:
            raise
        tell(error)


def note(message: object) -> None:
    """One line on stderr about what is going on; not with --quiet."""
    if not SETTINGS.quiet:
        sys.stderr.write(f"{one_line(message)}\n")


def say(text: object = "") -> None:
    """A result on stdout; not with --quiet."""
    if not SETTINGS.quiet:
        sys.stdout.write("\n".join(map(printable, str(text).split("\n"))) + "\n")


def print_json(content: object) -> None:
    """A result for scripts, on stdout, --quiet or not; what is no number is null."""
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
    plain = not encoding.startswith("utf")
    text = json.dumps(_plain(content), ensure_ascii=plain, indent=2, allow_nan=False)
    # JSON leaves some letters that move a cursor as they are; escaped they mean the same.
    shown = (c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)
    sys.stdout.write("".join(shown) + "\n")


def say_table(header: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """A table on stdout: drawn on a terminal, aligned plain text elsewhere.

    The first column is text, the others are aligned to the right.
    """
    if SETTINGS.quiet:
        return
    cells = [[one_line(cell) for cell in row] for row in rows]
    header, title = [one_line(name) for name in header], one_line(title)
    if not sys.stdout.isatty() or not fits(header, rows, least=LEAST_NAME):
        from driftglm.evaluation.tables import aligned

        say("\n".join([title] * bool(title) + aligned([list(header), *cells])))
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=SIMPLE_HEAD,
        padding=(0, 1),
        pad_edge=False,
        title=title or None,
        title_justify="left",
        title_style="bold",
    )
    for k, name in enumerate(header):
        # Figures stay whole; what gives way is the name in front.
        width = None if k else LEAST_NAME
        justify: Literal["left", "right"] = "right" if k else "left"
        table.add_column(Text(name), justify=justify, no_wrap=bool(k), min_width=width)
    for row in cells:
        # A star marks the best, as in `Comparison.table()`.
        table.add_row(*(Text(cell, "bold green" if cell.endswith("*") else "") for cell in row))
    Console(highlight=False).print(table)


def fits(header: Sequence[str], rows: Sequence[Sequence[str]], least: int | None = None) -> bool:
    """Whether a table can be drawn as wide as the terminal, the first column cut to `least`."""
    lines = [list(header), *map(list, rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(header))]
    if least is not None:
        widths[0] = min(widths[0], least)
    return sum(widths) + 3 * len(widths) <= shutil.get_terminal_size().columns


def shows_progress() -> bool:
    """Whether progress is shown: on a terminal, unless --quiet."""
    return sys.stderr.isatty() and not SETTINGS.quiet


@contextmanager
def waiting(doing: str) -> Iterator[None]:
    """Show a moving sign on stderr while something of unknown length runs."""
    if not shows_progress():
        yield
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(doing)):
        yield


def _plain(content: object) -> object:
    """Content as JSON can hold it; numpy's numbers and infinite ones included."""
    if isinstance(content, dict):
        return {str(key): _plain(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_plain(value) for value in content]
    if hasattr(content, "tolist"):  # numpy's arrays and numbers
        return _plain(content.tolist())
    if isinstance(content, float) and not math.isfinite(content):
        return None
    return content if isinstance(content, str | int | float | bool | None) else str(content)
