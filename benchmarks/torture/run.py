"""Try to break driftglm: bad calls, mutated files, nasty problems, kills, a full disk.

    python benchmarks/torture/run.py                        # all of it, up to half an hour
    python benchmarks/torture/run.py --share 0.05 --seed 3  # a twentieth, another seed
    python benchmarks/torture/run.py --only files archives
    python benchmarks/torture/run.py --only files --share 0.05 --seed 3 --into found.jsonl
    python benchmarks/torture/run.py --sum found.jsonl      # the table of all runs so far

The last two do it in slices: twenty seeds of a twentieth each are as much as all of it at once.
Every attack is drawn from the seed, and a failure is named by it. Exit code 1: something failed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import arrays
import commands
import files
import folders
import problems
import tables
import workers
from tally import HEADER, Tally

ATTACKS: dict[str, tuple[int, Callable[[int, int, Path], Tally]]] = {
    "calls": (1000, commands.attack_calls),
    "files": (10_000, files.attack_files),
    "manifests": (200, commands.attack_manifests),
    "archives": (300, files.attack_archives),
    "tables": (400, tables.attack_tables),
    "arrays": (600, lambda n, seed, _: arrays.attack_arrays(n, seed)),
    "folders": (40, folders.attack_folders),
    "regressor": (400, lambda n, seed, _: problems.attack_rows("regressor", n, seed)),
    "classifier": (400, lambda n, seed, _: problems.attack_rows("classifier", n, seed)),
    "counts": (400, lambda n, seed, _: problems.attack_rows("counts", n, seed)),
    "text": (400, lambda n, seed, _: problems.attack_text(n, seed)),
    "saves": (50, commands.attack_saves),
    "comparisons": (51, commands.attack_comparisons),
    "disk": (1, lambda _, seed, folder: commands.attack_disk(seed, folder)),
    "workers": (20, lambda n, seed, _: workers.attack_workers(n, seed)),
}


def main() -> int:
    """Run the attacks and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--share", type=float, default=1.0, help="of the full number of attacks")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", choices=ATTACKS, default=list(ATTACKS))
    parser.add_argument("--into", type=Path, help="file to add the figures to")
    parser.add_argument("--sum", type=Path, help="print the table of such a file, and run nothing")
    given = parser.parse_args()
    print(HEADER, flush=True)
    if given.sum is not None:
        return _sum(given.sum)
    failures: list[str] = []
    for name in given.only:
        count, attack = ATTACKS[name]
        with tempfile.TemporaryDirectory() as folder:
            tally = attack(max(round(count * given.share), 1), given.seed, Path(folder))
        print(tally.line(), flush=True)
        failures += tally.shown()
        if given.into is not None:
            with given.into.open("a") as stream:
                stream.write(json.dumps(tally.stored()) + "\n")
    print("\n".join(["", *failures]) if failures else "\nNothing failed.")
    return int(bool(failures))


def _sum(path: Path) -> int:
    """Print the table of all runs that were added to a file, and every failure."""
    runs = [json.loads(line) for line in path.read_text().splitlines()]
    kinds = list(dict.fromkeys(each["kind"] for each in runs))
    whole = [Tally.of(kind, [each for each in runs if each["kind"] == kind]) for kind in kinds]
    for tally in whole:
        print(tally.line())
    failures = [f"  {tally.kind}: {each}" for tally in whole for each in tally.failures]
    print("\n".join(["", *failures]) if failures else "\nNothing failed.")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
