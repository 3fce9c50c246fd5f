"""`driftglm report`: one page about a model or a comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from driftglm.cli.console import fail, say, waiting


def command(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL_OR_COMPARISON", help="File of fit, text fit or compare, or its folder."
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="HTML", help="Page to write.")
    ] = Path("report.html"),
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
) -> None:
    """Write one self-contained page; it needs no network.

    driftglm report model.drift -o report.html
    """
    from driftglm.evaluation import Comparison
    from driftglm.persistence import load
    from driftglm.report import write_report
    from driftglm.tables import TableModel
    from driftglm.tables.writing import check_writable

    check_writable(output)
    path = source / "comparison.drift" if source.is_dir() else source
    found = load(path)
    with waiting("writing the page"):
        if isinstance(found, Comparison):
            write_report(output, comparison=found, title=title)
        elif isinstance(found, TableModel):
            write_report(output, model=found.estimator, title=title, sentence=found.sentence())
        elif hasattr(found, "timesteps_"):
            write_report(output, model=found, title=title)
        else:
            fail(f"{path} holds a {type(found).__name__}; a fitted model is needed.")
    say(f"Written to {output}.")
