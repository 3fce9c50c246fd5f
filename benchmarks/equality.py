"""Do all fits still give the numbers they gave? For changes that must not move any.

    python benchmarks/equality.py store FILE [--only TEXT] [--skip TEXT]
    python benchmarks/equality.py check FILE [--only TEXT] [--skip TEXT]
    python benchmarks/equality.py time --against OTHER_SRC [--rounds 3]

`store` runs the fits of `equality_cases.py` and keeps what they say in an npz file: paths,
inclusion, predictions, intervals, summaries, how the objective began and ended, passes. `check`
runs them again with the code at hand, prints the largest difference of every fit and ends with
code 1 if one is above its tolerance. Differences are relative to the largest entry of the array
they are in: 1e-10 in one process, 1e-8 on Dask workers. Whole numbers (passes) and texts (classes,
kinds, the order of included features) must be the same.

--only and --skip choose fits by a part of their name, e.g. --only dask: or --skip validate:, and
may be repeated. The data of beige_fomc are looked for as in `beige_fomc.py`; without them its
fits are left out, in both modes. The code under test is what Python imports: set PYTHONPATH to
the src of another tree to test that one. It was written for one machine; other versions of
numpy or another processor may change digits by themselves.

`time` compares the speed of two trees: processes of this tree's src and of OTHER_SRC in turn, each
with learned fits at the paper's scale and a text fit of 30 passes, after small fits that load the
compiled kernels. Medians over the rounds, and this tree's over the other's.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time as clock
import traceback
import warnings
from pathlib import Path

import numba
import numpy as np
import scipy
import scipy.sparse as sp
import sklearn
from threadpoolctl import threadpool_limits

HERE = Path(__file__).resolve()
MARK = " | "
ABOUT = "about"
RUN_SECONDS = 900
N_REPEATS = 3
"""Learned fits in a process, of which the median counts: each takes two seconds."""
TEXT_PASSES = 30


# -------------------------------------------------------------------------- store, check


def chosen(only, skip):
    """The cases whose names fit."""
    from equality_cases import all_cases

    cases = all_cases()
    names = [case.name for case in cases]
    if len(set(names)) < len(names):
        sys.exit("two cases have one name.")
    return [
        case
        for case in cases
        if (not only or any(word in case.name for word in only))
        and not any(word in case.name for word in skip)
    ]


def figures(case):
    """What a case says, and how long it took."""
    began = clock.perf_counter()
    # With several threads BLAS adds up in another order, and ridge-ts feels it.
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        found = case.run()
    seconds = clock.perf_counter() - began
    return None if found is None else {k: np.asarray(v) for k, v in found.items()}, seconds


def about():
    """Versions the figures depend on."""
    import driftglm

    return {
        "source": str(Path(driftglm.__file__).parent),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "numba": numba.__version__,
        "processor": platform.machine(),
    }


def store(path, only, skip):
    """Run and keep; the exit code."""
    stored, failed, began = {}, 0, clock.perf_counter()
    stored[ABOUT] = np.asarray(json.dumps(about()))
    cases = chosen(only, skip)
    for case in cases:
        try:
            found, seconds = figures(case)
        except Exception:  # noqa: BLE001 (the others are still worth running)
            failed += 1
            print(f"{case.name}: FAILED\n{traceback.format_exc()}", flush=True)
            continue
        if found is None:
            print(f"{case.name}: no data, left out", flush=True)
            continue
        for name, value in found.items():
            if value.dtype.kind not in "fiubU":
                sys.exit(f"{case.name}: {name} is of type {value.dtype}, not numbers or texts.")
            stored[f"{case.name}{MARK}{name}"] = value
        print(f"{case.name}: {len(found)} arrays, {seconds:.2f} s", flush=True)
    with Path(path).open("wb") as file:
        np.savez_compressed(file, **stored)
    seconds = clock.perf_counter() - began
    print(f"\n{len(cases) - failed} of {len(cases)} fits stored in {seconds:.0f} s: {path}")
    return int(failed > 0)


def difference(found, stored):
    """(absolute, relative to the largest entry); infinite where they cannot be compared."""
    if found.shape != stored.shape or found.dtype.kind != stored.dtype.kind:
        return np.inf, np.inf
    if found.dtype.kind != "f":
        same = np.array_equal(found, stored)
        return (0.0, 0.0) if same else (np.inf, np.inf)
    finite = np.isfinite(stored)
    if not np.array_equal(finite, np.isfinite(found)):
        return np.inf, np.inf
    if not np.array_equal(found[~finite], stored[~finite], equal_nan=True):
        return np.inf, np.inf
    if not finite.any():
        return 0.0, 0.0
    most = float(np.abs(found[finite].astype(float) - stored[finite].astype(float)).max())
    scale = float(np.abs(stored[finite]).max())
    return most, most / scale if scale > 0 else most


def compare_figures(found, stored):
    """The largest absolute and relative difference, and the array of the latter."""
    if set(found) != set(stored):
        return np.inf, np.inf, f"arrays there or not: {sorted(set(found) ^ set(stored))}"
    pairs = {name: difference(found[name], stored[name]) for name in stored}
    worst = max(pairs, key=lambda name: pairs[name][1])
    return max(pair[0] for pair in pairs.values()), pairs[worst][1], worst


def read_stored(path):
    """Arrays by case and name, and the versions they were made with."""
    stored = {}
    with np.load(path, allow_pickle=False) as file:
        for key in file.files:
            case, _, name = key.partition(MARK)
            stored.setdefault(case, {})[name] = file[key]
    return stored, json.loads(str(stored.pop(ABOUT)[""]))


def check(path, only, skip):
    """Run again and compare; the exit code."""
    began = clock.perf_counter()
    stored, then = read_stored(path)
    for name, value in about().items():
        if name != "source" and value != then.get(name):
            print(f"{name} is {value}, stored with {then.get(name)}: digits may differ for it.")
    print(f"{'absolute':>9} {'relative':>9} {'allowed':>8}")
    bad, differences = [], []
    cases = chosen(only, skip)
    for case in cases:
        expected = stored.pop(case.name, None)
        line = f"{'':>9} {'':>9} {'':>8}"
        try:
            found, seconds = figures(case)
        except Exception as error:  # noqa: BLE001 (as above)
            print(f"{line} DIFFERENT {case.name}: {type(error).__name__}: {error}", flush=True)
            bad.append(case.name)
            continue
        if found is None or expected is None:
            why = "no data here" if found is None else "not stored"
            print(f"{line} left out  {case.name}: {why}", flush=True)
            continue
        absolute, relative, where = compare_figures(found, expected)
        is_same = relative <= case.tolerance
        differences.append(relative)
        said = "OK       " if is_same else "DIFFERENT"
        tail = f" ({where})" if relative > 0 else ""
        print(
            f"{absolute:9.1e} {relative:9.1e} {case.tolerance:8.0e} {said} {case.name}{tail}, "
            f"{seconds:.2f} s",
            flush=True,
        )
        if not is_same:
            bad.append(case.name)
    if not only and not skip:
        for name in stored:
            print(f"{'':>28} DIFFERENT {name}: stored, but no longer a case")
            bad.append(name)
    seconds = clock.perf_counter() - began
    print(
        f"\n{len(differences)} fits compared in {seconds:.0f} s, {differences.count(0.0)} of them "
        f"the same to the last digit, largest relative difference {max(differences, default=0):.1e}"
        f"; {len(bad)} different{': ' if bad else '.'}{'; '.join(bad)}"
    )
    return int(bool(bad))


# ----------------------------------------------------------------------------------- time


def write_data(folder):
    """The data of both fits, made once."""
    from equality_cases import documents
    from worlds import paper_scale

    (X, y, time), _ = paper_scale()
    sp.save_npz(folder / "X.npz", X, compressed=False)
    np.savez(folder / "rows.npz", y=y, time=time)
    docs = documents(2500, 20, 8, 60, 400)
    sp.save_npz(folder / "counts.npz", docs.counts, compressed=False)
    np.savez(folder / "documents.npz", effects=docs.effects, time=docs.time)


def fit_both(folder):
    """Seconds of both fits, after small ones; printed as JSON."""
    from driftglm import DriftRegressor, DriftTextModel

    warnings.simplefilter("ignore")
    X, counts = (sp.load_npz(folder / name).tocsr() for name in ("X.npz", "counts.npz"))
    with np.load(folder / "rows.npz") as file:
        y, time = file["y"], file["time"]
    with np.load(folder / "documents.npz") as file:
        effects, years = file["effects"], file["time"]
    some = np.linspace(0, y.size - 1, 600).astype(int)
    DriftRegressor().fit(X[some][:, :100], y[some], time=time[some])
    DriftTextModel(max_iter=3).fit(counts[:, :150], effects, time=years)
    seconds = []
    for _ in range(N_REPEATS):
        began = clock.perf_counter()
        rows = DriftRegressor().fit(X, y, time=time)
        seconds.append(clock.perf_counter() - began)
    began = clock.perf_counter()
    text = DriftTextModel(max_iter=TEXT_PASSES).fit(counts, effects, time=years)
    out = {"learned": statistics.median(seconds), "text": clock.perf_counter() - began}
    print(json.dumps(out | {"passes": [int(rows.n_iter_), int(text.n_iter_)]}))


def in_process(source, mode, folder):
    """What a mode of this script prints with another tree's code."""
    environment = os.environ | {"PYTHONPATH": str(source)}
    command = [sys.executable, str(HERE), mode, str(folder)]
    done = subprocess.run(  # noqa: S603
        command, env=environment, capture_output=True, text=True, check=False, timeout=RUN_SECONDS
    )
    if done.returncode:
        sys.exit(f"{source}: {done.stderr.strip()[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def compare_times(against, rounds):
    """Both trees in turn."""
    sources = {"this": HERE.parents[1] / "src", "other": Path(against).resolve()}
    for source in sources.values():
        if not (source / "driftglm" / "__init__.py").exists():
            sys.exit(f"{source} holds no driftglm.")
    seconds = {name: {"learned": [], "text": []} for name in sources}
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        write_data(folder)
        for source in sources.values():
            in_process(source, "fit-both", folder)  # compiles what is not yet compiled
        for number in range(rounds):
            order = list(sources) if number % 2 == 0 else list(reversed(sources))
            for name in order:
                found = in_process(sources[name], "fit-both", folder)
                for fit in ("learned", "text"):
                    seconds[name][fit].append(found[fit])
                print(
                    f"round {number + 1}, {name}: learned {found['learned']:.2f} s, text "
                    f"{found['text']:.2f} s, passes {found['passes']}",
                    flush=True,
                )
    print("\n| fit | this, s | other, s | this / other |\n|---|---|---|---|")
    for fit in ("learned", "text"):
        this, other = (statistics.median(seconds[name][fit]) for name in ("this", "other"))
        print(f"| {fit} | {this:.2f} | {other:.2f} | {this / other:.3f} |")
    return 0


def main():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    modes = parser.add_subparsers(dest="mode", required=True)
    for mode in ("store", "check"):
        one = modes.add_parser(mode)
        one.add_argument("file")
        one.add_argument("--only", action="append", default=[], metavar="TEXT")
        one.add_argument("--skip", action="append", default=[], metavar="TEXT")
    timed = modes.add_parser("time")
    timed.add_argument("--against", required=True, metavar="OTHER_SRC")
    timed.add_argument("--rounds", type=int, default=3)
    modes.add_parser("fit-both").add_argument("folder", type=Path)
    options = parser.parse_args()
    if options.mode == "time":
        return compare_times(options.against, options.rounds)
    if options.mode == "fit-both":
        fit_both(options.folder)
        return 0
    run = store if options.mode == "store" else check
    try:
        return run(options.file, options.only, options.skip)
    finally:
        if "equality_cases" in sys.modules:
            sys.modules["equality_cases"].CLUSTER.stop()


if __name__ == "__main__":
    sys.exit(main())
