"""A progress bar on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(
    total: int, doing: str, *, verbose: bool | None
) -> Iterator[Callable[[int], None]]:
    """Show a bar of `total` bytes; the context is the function that advances it.

    `verbose` None shows it on a terminal only: in a log file a bar is noise.
    """
    shown = sys.stderr.isatty() if verbose is None else verbose
    if not shown:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    console = Console(file=sys.stderr)
    with Progress(*columns, TimeRemainingColumn(), console=console) as progress:
        task = progress.add_task(doing, total=total)
        yield lambda done: progress.update(task, completed=done)
