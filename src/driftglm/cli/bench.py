"""`driftglm bench`: peers side by side on a simulated world."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftglm.cli import options as opt
from driftglm.cli.console import note, print_json, progress, say, say_table

if TYPE_CHECKING:
    from driftglm.peers import Peer, PeerData, Result

SIZES, QUICK = (300, 200, 10), (30, 40, 5)
"""Features, rows a step and steps where they are not given."""
SHOWN = 60
"""Letters of a note that a table keeps."""


def _default(place: int) -> str:
    return f"{SIZES[place]}; quick: {QUICK[place]}"


def command(  # noqa: PLR0913
    *,
    features: Annotated[
        int | None,
        typer.Option(metavar="N", min=10, help="Features.", show_default=_default(0)),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(metavar="N", min=10, help="Rows a step.", show_default=_default(1)),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(metavar="N", min=3, help="Steps.", show_default=_default(2))
    ] = None,
    family: Annotated[str, typer.Option(help="What is predicted; auto: numbers.")] = "auto",
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the simulated world.")] = 0,
    peers: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Contestants, such as driftglm,'skglm lasso',sklearn."),
    ] = None,
    seconds: Annotated[
        float, typer.Option(metavar="S", min=0.1, help="Most that a fit may take.")
    ] = 60.0,
    quick: Annotated[
        bool, typer.Option("--quick", help="A small world and a few peers; under a minute.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The table as Markdown.")
    ] = None,
    json: opt.Json = False,
) -> None:
    """Time, memory and test error of driftglm and its peers, predicting the step after the last.

    driftglm bench --quick
    """
    from driftglm.peers import chosen, run_peers
    from driftglm.tables.writing import check_writable

    if output is not None:
        check_writable(output)
    kind = "gaussian" if family == "auto" else family
    contest = chosen(opt.names(peers), quick=quick, family=kind)
    sizes = [
        default if given is None else given
        for given, default in zip((features, rows, steps), QUICK if quick else SIZES, strict=True)
    ]
    data = _world(kind, sizes, seed)
    note(f"{len(contest)} contestants, each in a process of its own, at most {seconds:g} s a fit.")
    with progress(len(contest), "fitting") as advance:
        results = run_peers(data, contest, limit=seconds, advance=lambda _: advance(1))
    world = dict(zip(("features", "rows_per_step", "steps"), sizes, strict=True)) | {"seed": seed}
    _show(world | {"family": kind}, contest, results, output=output, as_json=json)


def _world(family: Any, sizes: list[int], seed: int) -> PeerData:
    from driftglm.peers import PeerData
    from driftglm.simulate import simulate_panel

    features, rows, steps = sizes
    panel = simulate_panel(
        n_features=features,
        rows_per_step=rows,
        n_timesteps=steps,
        random_state=seed,
        family=family,
    )
    return PeerData("world", family, panel.X, panel.y, panel.time, panel.X_next, panel.y_next)


def _show(
    world: dict[str, Any],
    contest: list[Peer],
    results: list[Result],
    *,
    output: Path | None,
    as_json: bool,
) -> None:
    from dataclasses import asdict

    from driftglm.peers import LOSSES
    from driftglm.peers.registry import versions
    from driftglm.peers.tables import HEADER, cells, markdown, verdict

    found = versions(contest)
    listed = ", ".join(f"{name} {number}" for name, number in found.items())
    title = (
        f"{LOSSES[world['family']]} of the step after the last; {world['steps']} steps of "
        f"{world['rows_per_step']} rows, {world['features']} features (* best)"
    )
    if output is not None:
        parts = [title.replace(" (* best)", ""), markdown(results), verdict(results), listed]
        output.write_text("\n\n".join(parts) + "\n")
    if as_json:
        shown = [asdict(result) for result in results]
        print_json({"world": world, "versions": found, "results": shown})
        return
    body = [[*row[:-1], row[-1][:SHOWN]] for row in cells(results)]
    say_table([*HEADER[:-1], "note"], body, title)
    say(verdict(results))
    say(listed)
