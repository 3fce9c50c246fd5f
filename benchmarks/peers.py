"""driftglm and its peers on the same data in one run: time, test loss, nonzeros, memory.

    python benchmarks/peers.py [--data small paper] [--peers driftglm "skglm lasso"]
                               [--limit SECONDS] [--cache DIR] [--write docs/results/peers.md]
                               [--no-yardsticks] [--quick]

Every fit runs in a process of its own, after a tiny one that warms compilers up, and is cut off
after a time limit: --limit, or at paper scale 600 s for the contestants that have to be there
(`MUST`), 60 s for the other lassos of all steps (`LASSOS`) and 30 s for the rest; 60 s for text;
6 s on smaller data, but 200 s for glum's ridge over time on the world rw, where it needs them. At
paper scale fits of less than ten seconds are made three times, and the least time counts. The
whole run is meant to take less than 40 minutes on two idle cores; the page says what it took. With
--cache, a run that was killed goes on where it was: results are used again while data, settings,
versions and code are the same. Data that are absent are left out; see `peer_data`.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time as clock
from dataclasses import asdict
from pathlib import Path

import peer_data
from peer_code import code_digest
from peer_fits import Result, chosen, run_peers
from peer_fits.process import ABSENT, CUT, FAILED, ONE_THREAD
from peer_fits.registry import versions
from peer_page import draw, page
from peer_yardsticks import yardsticks
from result_pages import write_page

from driftglm.evaluation.fingerprint import data_digest, digest

MUST = (
    "driftglm learned",
    "skglm lasso",
    "skglm group lasso",
    "sklearn Lasso(.001)",
    "sklearn Lasso(.001) no intercept",
    "adelie group lasso",
)
"""Paper scale is about these: they get the time they need."""
LASSOS = ("sklearn lasso-all", "celer lasso", "adelie lasso", "glum lasso", "glmnet lasso")
"""The other lassos of all steps, which are slow there rather than hopeless."""
LONG, LASSO, MIDDLE, SHORT, TEXT = 600.0, 60.0, 30.0, 6.0, 60.0
SPECIAL = {("rw", "glum ridge-ts"): 200.0}
"""Nine fits of up to 16 s: never done in six seconds, and one world is enough to see it."""
N_FITS = 3
"""At paper scale, of fits that take less than ten seconds; the least time counts."""
PAPER_ONLY = ("sklearn Lasso(.001)", "sklearn Lasso(.001) no intercept")


class Store:
    """Results as files; one is used again if nothing that it depends on has changed."""

    def __init__(self, folder, data):
        self.folder, self.name = folder, data.name
        folder.mkdir(parents=True, exist_ok=True)
        parts = (data.X, data.y, data.step, data.X_next, data.y_next)
        self.data = [data_digest(part) for part in parts]

    def ask(self, peer, run, limit):
        """The stored result, or that of a new run; one cut off earlier than now is run again."""
        path = self.folder / f"{self.name}-{digest(peer.name)[:12]}.json"
        key = self.key(peer)
        if path.exists():
            stored = json.loads(path.read_text())
            result = Result(**stored["result"])
            if stored["key"] == key and (result.status != CUT or stored["limit"] >= limit):
                return result
        result = run()
        if result.status not in {ABSENT, FAILED}:
            part = path.with_suffix(".part")
            part.write_text(json.dumps({"key": key, "limit": limit, "result": asdict(result)}))
            part.rename(path)
        return result

    def key(self, peer):
        """Hash of the data, the peer's settings and version, and the code that runs it."""
        return digest(self.data, asdict(peer), peer.version, code_digest())


def limit_of(data, peer, given):
    """Seconds for one fit."""
    if given is not None:
        return given
    if data.name != "paper":
        usual = TEXT if data.family == "text" else SHORT
        return SPECIAL.get((data.name, peer.name), usual)
    if peer.name in MUST:
        return LONG
    return LASSO if peer.name in LASSOS else MIDDLE


def contestants(names, data, quick):
    """Those asked for; a lasso of one strength belongs to paper scale only."""
    peers = chosen(names, quick=quick, family=data.family)
    if names or data.name == "paper":
        return peers
    return [peer for peer in peers if peer.name not in PAPER_ONLY]


def measure(data, arguments, folder):
    """All peers on one data set."""
    store = Store(folder, data)

    def stored(peer, run):
        return store.ask(peer, run, limit_of(data, peer, arguments.limit))

    return run_peers(
        data,
        contestants(arguments.peers, data, arguments.quick),
        limit=lambda peer: limit_of(data, peer, arguments.limit),
        n_fits=N_FITS if data.name == "paper" else 1,
        stored=stored,
        advance=told,
    )


def told(result):
    """One line of progress on stderr."""
    figures = f"{result.seconds:.1f} s, loss {result.loss:.4f}, " if result.measured else ""
    print(f"{result.data}: {result.peer}: {result.status}, {figures}{result.note}", file=sys.stderr)


def machine():
    """One line about where this ran."""
    threads = "one BLAS and OpenMP thread for every contestant"
    if any(name in os.environ for name in ONE_THREAD):
        said = [f"{name}={os.environ.get(name, one)}" for name, one in ONE_THREAD.items()]
        threads = ", ".join(said)
    return (
        f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores; "
        f"{threads}; driftglm's n_jobs=-1 uses all cores where its work is not sequential"
    )


def loads(results):
    """One line that tells a quiet run from a disturbed one."""
    found = [r.load for of_set in results.values() for r in of_set if r.load is not None]
    if not found:
        return ""
    return (
        f" Load average (one minute) before fits: median {statistics.median(found):.1f}, largest "
        f"{max(found):.1f}, to which the fits of this run add one or two themselves."
    )


def run(arguments, folder):
    """Results and shapes by data set, and the yardsticks."""
    results, shapes = {}, {}
    for name in arguments.data:
        data = peer_data.load(name, quick=arguments.quick)
        if data is None:
            print(f"{name} is not here; left out.", file=sys.stderr)
            continue
        n_values = data.X.nnz if data.sparse else data.X.size
        shapes[name] = (*data.X.shape, data.n_steps, data.family, n_values)
        results[name] = measure(data, arguments, folder)
    measured = [] if arguments.no_yardsticks else yardsticks(results, shapes, arguments, folder)
    return results, shapes, measured


def main():
    """Compare, print the page, write it where asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=peer_data.NAMES, default=peer_data.NAMES)
    parser.add_argument("--peers", nargs="+", default=[], help="names, or first words of names")
    parser.add_argument("--limit", type=float, help="seconds for every fit")
    parser.add_argument("--cache", type=Path, help="folder of finished results, to go on from")
    parser.add_argument("--write", type=Path, help="the page; its plot is put beside it")
    parser.add_argument("--no-yardsticks", action="store_true", help="the tables only")
    parser.add_argument("--quick", action="store_true", help="small data, one peer a package")
    arguments = parser.parse_args()
    peers = chosen(arguments.peers)  # better to fail now than in an hour
    if arguments.write:
        arguments.write.parent.mkdir(parents=True, exist_ok=True)
    began = clock.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        results, shapes, measured = run(arguments, arguments.cache or Path(scratch))
    minutes = (clock.perf_counter() - began) / 60
    note = f"{machine()}. This run took {minutes:.0f} minutes"
    note += ", going on from finished fits where there were any." if arguments.cache else "."
    note += loads(results)
    plot = arguments.write.with_suffix(".svg") if arguments.write else None
    text = page(results, shapes, measured, (peers, versions(peers), note, plot and plot.name))
    print(text)
    if arguments.write:
        write_page(arguments.write, text)
        draw(results, plot)


if __name__ == "__main__":
    main()
