"""`driftglm demo`: the main job on real data that come with the package."""

from __future__ import annotations

import time as clock
from pathlib import Path
from typing import Annotated

from typer import Option

from driftglm.cli import options as opt
from driftglm.cli.console import note, print_json, report_optional, say, shows_progress


def command(
    out: Annotated[
        Path | None, Option(metavar="DIR", help="Folder for report.html and the results.")
    ] = None,
    jobs: opt.Jobs = 2,
    json: opt.Json = False,
) -> None:
    """How does the world vote, and who changed? Drifting models against ridge and lasso.

    driftglm demo --out demo-output
    """
    began = clock.perf_counter()
    from driftglm.cli.compare import as_json, print_comparison, save_results
    from driftglm.demo import run_demo
    from driftglm.demo.run import SENTENCE, write_demo_report
    from driftglm.tables.writing import check_writable, making

    folder = check_writable(Path() if out is None else out, folder=True)
    note(SENTENCE)
    result = run_demo(n_jobs=jobs, verbose=shows_progress())
    page = None
    with making(folder):
        if out is not None:
            save_results(result.comparison, folder)
        with report_optional():
            page = write_demo_report(result, folder / "report.html")
    if json:
        learned = {"learned": result.sentence(), "rank": result.rank(), "report": page}
        print_json(as_json(result.comparison) | learned)
        return
    print_comparison(result.comparison, result.rank())
    say(f"What the learned model found in all years: {result.sentence()}")
    shown = "" if page is None else f"{page} shows it all. "
    say(f"{shown}Took {clock.perf_counter() - began:.0f} s.")
