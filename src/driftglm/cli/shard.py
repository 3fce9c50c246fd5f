"""`driftglm shard`: a table split into parts, for fits that do not hold all rows at once."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from typer import Option

from driftglm._progress import progress_bar
from driftglm.cli import options as opt
from driftglm.cli.console import print_json, say, shows_progress


def command(
    data: opt.Data,
    *,
    output: Annotated[Path, Option("--output", "-o", metavar="DIR", help="Folder to fill.")],
    rows: Annotated[int, Option(metavar="N", min=1, help="Rows a part.")] = 100_000,
    time: opt.Time = None,
    freq: opt.Freq = None,
    date_format: opt.DateFormat = None,
    overwrite: Annotated[
        bool, Option("--overwrite", help="Replace shards that are there.")
    ] = False,
    json: opt.Json = False,
) -> None:
    """Split a table into parts of rows; memory is needed for one part at a time.

    driftglm shard large.csv.gz -o shards --rows 100000
    """
    from driftglm.tables import write_shards
    from driftglm.tables.columns import parse_freq

    with progress_bar(None, "rows written", verbose=shows_progress()) as advance:
        manifest = write_shards(
            data,
            output,
            rows=rows,
            time=time,
            freq=parse_freq(freq),
            date_format=date_format,
            overwrite=overwrite,
            progress=advance,
        )
    if json:
        print_json(asdict(manifest))
        return
    steps = f", {len(manifest.steps)} steps" if manifest.steps else ""
    parts = "1 part" if len(manifest.parts) == 1 else f"{len(manifest.parts)} parts"
    say(f"{manifest.n_rows} rows in {parts}{steps}, written to {output}.")
