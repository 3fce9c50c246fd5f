"""Try to break driftglm: bad calls, mutated files, nasty problems, kills, a full disk.

    python benchmarks/torture/run.py --jobs 2               # all of it, a quarter of an hour
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
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import arrays
import commands
import files
import folders
import problems
import tables
import workers
from tally import HEADER, Tally

ATTACKS: dict[str, tuple[int, Callable[[int, int, Path], Tally]]] = {
    "files": (10_000, files.attack_files),
    "text": (400, lambda n, seed, _: problems.attack_text(n, seed)),
    "comparisons": (51, commands.attack_comparisons),
    "calls": (1000, commands.attack_calls),
    "classifier": (400, lambda n, seed, _: problems.attack_rows("classifier", n, seed)),
    "regressor": (400, lambda n, seed, _: problems.attack_rows("regressor", n, seed)),
    "counts": (400, lambda n, seed, _: problems.attack_rows("counts", n, seed)),
    "workers": (20, lambda n, seed, _: workers.attack_workers(n, seed)),
    "saves": (50, commands.attack_saves),
    "tables": (400, tables.attack_tables),
    "disk": (1, lambda _, seed, folder: commands.attack_disk(seed, folder)),
    "arrays": (600, lambda n, seed, _: arrays.attack_arrays(n, seed)),
    "folders": (40, folders.attack_folders),
    "manifests": (200, commands.attack_manifests),
    "archives": (300, files.attack_archives),
}


def main() -> int:
    """Run the attacks and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--share", type=float, default=1.0, help="of the full number of attacks")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", choices=ATTACKS, default=list(ATTACKS))
    parser.add_argument("--into", type=Path, help="file to add the figures to")
    parser.add_argument("--sum", type=Path, help="print the table of such a file, and run nothing")
    parser.add_argument("--jobs", type=int, default=1, help="attacks at a time")
    parser.add_argument("--one", choices=ATTACKS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        return _one(given.one, given.share, given.seed)
    print(HEADER, flush=True)
    if given.sum is not None:
        return _sum(given.sum)
    failures: list[str] = []
    for stored in _all(given.only, given.share, given.seed, given.jobs):
        tally = Tally.of(stored["kind"], [stored])
        print(tally.line(), flush=True)
        failures += tally.shown()
        if given.into is not None:
            with given.into.open("a") as stream:
                stream.write(json.dumps(stored) + "\n")
    print("\n".join(["", *failures]) if failures else "\nNothing failed.")
    return int(bool(failures))


def _all(names: list[str], share: float, seed: int, n_jobs: int) -> Iterator[dict[str, Any]]:
    """The attacks as they end, each in a process of its own, which it may well bring down."""
    wait, running = [name for name in ATTACKS if name in names], {}
    with ThreadPoolExecutor(n_jobs) as pool:
        for name in wait:
            running[pool.submit(_alone, name, share, seed)] = name
        for done in as_completed(running):
            yield done.result()


def _alone(name: str, share: float, seed: int) -> dict[str, Any]:
    """One attack in another process, and what it found; that it died, if it did."""
    call = [sys.executable, __file__, "--one", name, "--share", str(share), "--seed", str(seed)]
    began = time.perf_counter()
    ended = subprocess.run(call, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603
    if ended.returncode == 0:
        return json.loads(ended.stdout.splitlines()[-1])
    failures = [f"seed {seed}: the process ended with {ended.returncode}"]
    took = time.perf_counter() - began
    return {"kind": name, "held": {}, "failures": failures, "seconds": took, "cpu": 0.0}


def _one(name: str, share: float, seed: int) -> int:
    """Run an attack in this process and print what it found as JSON."""
    count, attack = ATTACKS[name]
    with tempfile.TemporaryDirectory() as folder:
        tally = attack(max(round(count * share), 1), seed, Path(folder))
    print(json.dumps(tally.stored()), flush=True)
    return 0


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
