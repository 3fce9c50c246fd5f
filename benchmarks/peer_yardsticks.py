"""Yardsticks: a pass against the memory's bandwidth, memory in matrices, text against L-BFGS."""

import json
import time as clock
import warnings
from dataclasses import replace
from unittest.mock import patch

import numba
import numpy as np
import peer_data
from learned_scale import timed
from peer_code import code_digest
from peer_fits.tables import OURS
from peer_text import lbfgs_text

from driftglm import DriftRegressor, DriftTextModel
from driftglm.evaluation.fingerprint import digest
from driftglm.exceptions import DataWarning
from driftglm.solvers import path_work

BYTES = 24
"""A value, a row number and what is read and written of the row, a nonzero and pass."""
CSC = 12
N_REPEATS = 5
CUT_AFTER = 5.5
"""L-BFGS for text is cut off after so many times what the learned fit takes."""


@numba.njit(fastmath=True)
def total(x):
    """A streaming read with one thread."""
    out = 0.0
    for i in range(x.size):
        out += x[i]
    return out


@numba.njit(fastmath=True, parallel=True)
def total_of_all(x):
    """A streaming read with all threads."""
    out = 0.0
    for i in numba.prange(x.size):
        out += x[i]
    return out


READS = {"one thread": total, "all threads": total_of_all}


def bandwidths(n_values):
    """Bytes a second of the best of a few streaming reads, by number of threads."""
    x = np.ones(n_values)
    out = {}
    for name, read in READS.items():
        read(x[:1000])
        least = min(timed(lambda read=read: read(x))[0] for _ in range(N_REPEATS))
        out[name] = 8 * n_values / least
    return out


def yardsticks(results, shapes, arguments, folder):
    """A line a yardstick, for those whose data are there."""
    lines = []
    if "paper" in results:
        lines += [*pass_lines(arguments, folder), *memory_lines(results["paper"], shapes["paper"])]
    if "beige_fomc" in results:
        lines += cached(folder, "text", arguments.quick, lambda: text_lines(arguments.quick))
    return lines


def pass_lines(arguments, folder):
    """(a) Seconds a pass against those of streaming the same bytes."""
    return cached(folder, "pass", arguments.quick, lambda: measure_pass(arguments.quick))


def measure_pass(quick):
    """Passes between two measurements of the bandwidth, all in this process."""
    data = peer_data.paper(quick=quick)
    small = slice(0, 200)
    full_passes(data.X[small, :50], data.y[small], np.repeat([0, 1], 100))
    n_values = 20_000_000 if quick else 100_000_000
    before = bandwidths(n_values)
    passes = full_passes(data.X, data.y, data.step)
    after = bandwidths(n_values)
    took = float(np.median(passes))
    n_bytes = BYTES * data.X.nnz
    shown = []
    for name in READS:
        rate = (before[name] + after[name]) / 2
        shown.append(
            f"{rate / 1e9:.1f} GB/s (mean of {before[name] / 1e9:.1f} before and "
            f"{after[name] / 1e9:.1f} after), {n_bytes / rate:.3f} s for {BYTES} bytes a nonzero; "
            f"the median pass takes {took * rate / n_bytes:.1f} times that"
        )
    said = f"A full pass of the learned fit at paper scale: {took:.3f} s (median of {len(passes)}; "
    said += (
        f"least {min(passes):.3f}, largest {max(passes):.3f}). A pass updates one feature after "
    )
    said += f"the other, so its yardstick is a streaming read with one thread (numba): {shown[0]}."
    return [said, f"For information, a streaming read with all threads: {shown[1]}."]


def full_passes(X, y, time):
    """Seconds of every pass of a fit that updates all features, shared directions included."""
    update, seconds = path_work.PathWork._update, []  # noqa: SLF001

    def measured(work, order):
        took, _ = timed(lambda: update(work, order))
        if order.size == X.shape[1]:
            seconds.append(took)

    with patch.object(path_work.PathWork, "_update", measured):
        DriftRegressor().fit(X, y, time=time)
    return seconds


def memory_lines(of_set, shape):
    """(b) Peak of the learned fit above what was there before, in CSC matrices."""
    ours = next((r for r in of_set if r.peer == OURS and r.memory is not None), None)
    if ours is None:
        return []
    matrix = CSC * shape[-1]
    return [
        (
            f"Peak memory of the learned fit at paper scale: {ours.memory / 1e6:.0f} MB above that "
            f"before, {ours.memory / matrix:.2f} CSC matrices ({matrix / 1e6:.0f} MB each)."
        )
    ]


def text_lines(quick):
    """(c) The learned text fit against L-BFGS under the exact prior."""
    data = peer_data.real("beige_fomc", quick=quick)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tiny = peer_data.real("beige_fomc", quick=True)
        few = np.arange(tiny.y.shape[0]) % 20 == 0
        tiny = replace(tiny, X=tiny.X[few][:, :40], y=tiny.y[few], step=tiny.step[few])
        fit_text(tiny.X, tiny.y, tiny.step)
        lbfgs_text(tiny, limit=0.0)
        seconds, _ = timed(lambda: fit_text(data.X, data.y, data.step))
    found = lbfgs_text(data, limit=20.0 if quick else CUT_AFTER * seconds)
    reached = "" if found.reached else "not "
    said = f"Text (beige_fomc): the learned fit takes {seconds:.1f} s; L-BFGS under the exact "
    said += f"prior, with BLAS's own number of threads, {found.seconds:.1f} s "
    said += f"({found.n_evaluations} evaluations, {reached}down to a "
    said += f"relative gradient of 1e-4: {found.relative:.1e}), of which the start, a ridge fit, "
    said += f"{found.start_seconds:.1f} s. The learned fit takes {seconds / found.seconds:.2f} of "
    said += f"the time of both, {seconds / (found.seconds - found.start_seconds):.2f} of that of "
    said += "L-BFGS without its start."
    return [said]


def fit_text(counts, effects, time):
    """A learned text model with all threads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return DriftTextModel(n_jobs=-1).fit(counts, effects, time=time)


def cached(folder, name, quick, measure):
    """Lines from the folder of results, or measured now."""
    path = folder / f"yardstick-{name}.json"
    key = digest(code_digest(), name, quick)
    if path.exists() and (stored := json.loads(path.read_text()))["key"] == key:
        return stored["lines"]
    began = clock.perf_counter()
    lines = measure()
    path.write_text(json.dumps({"key": key, "lines": lines}))
    print(f"yardstick {name}: {clock.perf_counter() - began:.0f} s", flush=True)
    return lines
