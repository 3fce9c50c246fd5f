"""Progress on stderr; in a log file a bar is noise, so only terminals see one unless asked."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Item = TypeVar("Item")
Advance = Callable[[int], None]


def is_shown(verbose: bool | None) -> bool:
    """Whether progress is shown; `verbose` None: on a terminal only."""
    return sys.stderr.isatty() if verbose is None else verbose


@contextmanager
def progress_bar(
    total: int | None, doing: str, *, verbose: bool | None, in_bytes: bool = False
) -> Iterator[Advance]:
    """Show a bar of `total` pieces; the context is the function that adds to what is done."""
    if not is_shown(verbose):
        yield lambda _: None
        return
    from rich import console, progress

    bar = progress.Progress(
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.DownloadColumn() if in_bytes else progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        progress.TextColumn("left"),
        progress.TimeRemainingColumn(),
        console=console.Console(file=sys.stderr),
    )
    with bar:
        task = bar.add_task(doing, total=total)
        yield lambda n: bar.advance(task, n)


def counted(
    items: Iterable[Item], total: int, doing: str, *, verbose: bool | None
) -> Iterator[Item]:
    """The items, with a bar that counts them."""
    with progress_bar(total, doing, verbose=verbose) as advance:
        for item in items:
            yield item
            advance(1)
