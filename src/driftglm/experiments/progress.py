"""Progress over documents, on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def counted(
    items: Iterable[Item], total: int, doing: str, *, verbose: bool | None
) -> Iterator[Item]:
    """The items, with a bar that counts them; `verbose` None shows it on a terminal only."""
    shown = sys.stderr.isatty() if verbose is None else verbose
    if not shown:
        yield from items
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    console = Console(file=sys.stderr)
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        task = progress.add_task(doing, total=total)
        for item in items:
            yield item
            progress.advance(task)


def say(message: str, *, verbose: bool | None) -> None:
    """One line on stderr about a step that has no bar of its own."""
    if sys.stderr.isatty() if verbose is None else verbose:
        sys.stderr.write(f"{message}\n")
        sys.stderr.flush()
