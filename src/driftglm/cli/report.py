"""`driftglm report`: one page about a model or a comparison."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from driftglm.cli.console import FAILED, fail, report_optional, say, waiting


def command(
    source: Annotated[
        Path,
        Argument(
            metavar="MODEL_OR_COMPARISON", help="File of fit, text fit or compare, or its folder."
        ),
    ],
    output: Annotated[Path, Option("--output", "-o", metavar="HTML", help="Page to write.")] = Path(
        "report.html"
    ),
    title: Annotated[str | None, Option(help="Heading of the page.")] = None,
) -> None:
    """Write one self-contained page; it needs no network.

    driftglm report model.drift -o report.html
    """
    from driftglm.evaluation import Comparison
    from driftglm.persistence import load
    from driftglm.report import write_report
    from driftglm.tables import TableModel
    from driftglm.tables.writing import check_writable

    path = source / "comparison.drift" if source.is_dir() else source
    if not path.exists():
        fail(f"{path} does not exist; name a file of `driftglm fit`, or a folder of `compare`.")
    check_writable(output, inputs=(path,))
    found = load(path)
    about: dict[str, Any] = {"title": title}
    if isinstance(found, Comparison):
        about |= {"comparison": found}
    elif isinstance(found, TableModel):
        about |= {"model": found, "sentence": found.sentence()}
    elif hasattr(found, "timesteps_"):
        about |= {"model": found}
    else:
        fail(f"{path} holds a {type(found).__name__}; a fitted model is needed.")
    with report_optional(partial(fail, code=FAILED)), waiting("writing the page"):
        write_report(output, **about)
    say(f"Written to {output}.")
