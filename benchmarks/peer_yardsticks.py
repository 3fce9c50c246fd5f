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
from peer_text import lbfgs_text

from driftglm import DriftRegressor, DriftTextModel
from driftglm.evaluation.fingerprint import digest, library_fingerprint
from driftglm.exceptions import DataWarning
from driftglm.peers.tables import OURS
from driftglm.solvers import cavi

BYTES = 24
"""A value, a row number and what is read and written of the row, a nonzero and pass."""
CSC = 12
N_REPEATS = 5
CUT_AFTER = 6.0
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


def bandwidth(read, n_values):
    """Bytes a second of the best of a few streaming reads."""
    x = np.ones(n_values)
    read(x[:1000])
    return 8 * n_values / min(timed(lambda: read(x))[0] for _ in range(N_REPEATS))


def yardsticks(results, shapes, arguments, folder):
    """A line a yardstick, for those whose data are there."""
    lines = []
    if "paper" in results:
        lines += [*pass_lines(arguments, folder), *memory_lines(results["paper"], shapes["paper"])]
    if "beige_fomc" in results:
        lines += kept(folder, "text", arguments.quick, lambda: text_lines(arguments.quick))
    return lines


def pass_lines(arguments, folder):
    """(a) Seconds a pass against those of streaming the same bytes."""
    return kept(folder, "pass", arguments.quick, lambda: measure_pass(arguments.quick))


def measure_pass(quick):
    """Both in this process, one after the other."""
    data = peer_data.paper(quick=quick)
    small = slice(0, 200)
    full_passes(data.X[small, :50], data.y[small], np.repeat([0, 1], 100))
    took = float(np.median(full_passes(data.X, data.y, data.step)))
    n_bytes = BYTES * data.X.nnz
    lines = []
    for read, said in ((total, "one thread"), (total_of_all, "all threads")):
        rate = bandwidth(read, 20_000_000 if quick else 100_000_000)
        lines.append(
            f"A full pass of the learned fit at paper scale: {took:.3f} s (median), "
            f"{took * rate / n_bytes:.1f} times the {n_bytes / rate:.3f} s of {BYTES} bytes a "
            f"nonzero at the {rate / 1e9:.1f} GB/s of a streaming read (numba, {said})."
        )
    return lines


def full_passes(X, y, time):
    """Seconds of every pass of a fit that visits all features, levels and background included."""
    visit, seconds = cavi._Work._visit, []  # noqa: SLF001

    def measured(work, order):
        took, _ = timed(lambda: visit(work, order))
        if order.size == X.shape[1]:
            seconds.append(took)

    with patch.object(cavi._Work, "_visit", measured):  # noqa: SLF001
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
    said += f"prior {found.seconds:.1f} s ({found.n_evaluations} evaluations, {reached}down to a "
    said += f"relative gradient of 1e-4: {found.relative:.1e}), of which the start, a ridge fit, "
    said += f"{found.start_seconds:.1f} s. Ratio {seconds / found.seconds:.2f}."
    return [said]


def fit_text(counts, effects, time):
    """A learned text model with all threads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return DriftTextModel(n_jobs=-1).fit(counts, effects, time=time)


def kept(folder, name, quick, measure):
    """Lines from the folder of results, or measured now."""
    path = folder / f"yardstick-{name}.json"
    key = digest(library_fingerprint(), name, quick)
    if path.exists() and (stored := json.loads(path.read_text()))["key"] == key:
        return stored["lines"]
    began = clock.perf_counter()
    lines = measure()
    path.write_text(json.dumps({"key": key, "lines": lines}))
    print(f"yardstick {name}: {clock.perf_counter() - began:.0f} s", flush=True)
    return lines
