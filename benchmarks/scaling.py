"""How the time of a learned fit grows: sizes of panels and texts, storage, threads, start-up.

    python benchmarks/scaling.py [--write docs/scaling-tables.md]

Ten passes at a time, tol=0, whole fits: checks, storing X by column, directions, passes, forecast.
Every line changes one thing of the first. Seconds are of the processor, not of the clock, best of
three, so that other work on the machine counts little. Start-up is measured in new processes.
Threads are compared by the clock, medians of fits in turn: other work counts there, so they need an
idle machine.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time as clock
import warnings
from pathlib import Path

import numpy as np
from result_pages import write_page
from worlds import word_panel

from driftglm import DriftRegressor, DriftTextModel
from driftglm.priors import Learned
from driftglm.simulate import simulate_text

N_PASSES, N_REPEATS, N_TURNS = 10, 3, 5
PANEL = {"rows": 8000, "features": 3000, "steps": 8, "scales": 12}
TEXT = {"n_words": 1500, "docs_per_step": 40, "n_timesteps": 6}
START_UP = """
import time
began = time.process_time()
{first}
print(time.process_time() - began)
"""
FIRST_FIT = """
import numpy as np
from driftglm import DriftRegressor
{again}
X = np.random.default_rng(0).normal(size=(200, 5))
DriftRegressor().fit(X, X[:, 0], time=np.repeat(range(4), 50)).predict(X)
"""


def cpu_seconds(action):
    """Processor time of the best of a few."""
    times = []
    for _ in range(N_REPEATS):
        began = clock.process_time()
        action()
        times.append(clock.process_time() - began)
    return min(times)


def panel_seconds(rows, features, steps, scales, *, dtype=np.float64, scale=1.0):
    """A fit to words that occur or do not (times `scale`)."""
    X, y, time, _ = word_panel(0, rows, features, steps)
    X = (scale * X).astype(dtype)
    model = DriftRegressor(prior=Learned(n_scales=scales), max_iter=N_PASSES, tol=0.0)
    return cpu_seconds(lambda: model.fit(X, y, time=time)), X.nnz


def text_seconds(**sizes):
    """A fit to simulated text; twelve effects, so that no two documents are one context."""
    text = simulate_text(n_effects=12, tokens_per_doc=2000, **sizes)
    model = DriftTextModel(max_iter=N_PASSES, tol=0.0)
    return cpu_seconds(lambda: model.fit(text.counts, text.effects, time=text.time))


def panel_table():
    """Doubling one size at a time."""
    base, _ = panel_seconds(**PANEL)
    lines = ["| rows | features | steps | scales | entries | seconds | ratio |", "|---" * 7 + "|"]
    for name, size in [(None, 0), *PANEL.items(), ("rows", 2 * PANEL["rows"])]:
        sizes = PANEL | ({name: 2 * size} if name else {})
        took, nnz = panel_seconds(**sizes)
        shown = " | ".join(f"{each:,}" for each in sizes.values())
        lines.append(f"| {shown} | {nnz:,} | {took:.2f} | {took / base:.2f} |")
    return lines


def storage_table():
    """The same entries as ones, as other numbers, and in single precision."""
    lines = ["| entries | bytes an entry | seconds |", "|---|---|---|"]
    for label, size, options in (
        ("all one", 4, {}),
        ("other numbers", 12, {"scale": 2.0}),
        ("other numbers, float32", 8, {"scale": 2.0, "dtype": np.float32}),
    ):
        lines.append(f"| {label} | {size} | {panel_seconds(**PANEL, **options)[0]:.2f} |")
    return lines


def text_table():
    """Doubling one size of a text at a time."""
    base = text_seconds(**TEXT)
    lines = ["| words | documents a step | steps | seconds | ratio |", "|---" * 5 + "|"]
    for name, size in [(None, 0), *TEXT.items()]:
        sizes = TEXT | ({name: 2 * size} if name else {})
        took = text_seconds(**sizes)
        shown = " | ".join(f"{each:,}" for each in sizes.values())
        lines.append(f"| {shown} | {took:.2f} | {took / base:.2f} |")
    return lines


def jobs_table():
    """By the clock, with one thread and with two, in turn: whatever else runs meets both."""
    X, y, time, _ = word_panel(0, *(PANEL[name] for name in ("rows", "features", "steps")))
    text = simulate_text(n_effects=12, tokens_per_doc=2000, **TEXT)
    lines = ["| fit | seconds, n_jobs=1 | seconds, n_jobs=2 | ratio |", "|---" * 4 + "|"]
    for label, kind, (rows, target, steps) in (
        ("panel of the first line", DriftRegressor, (X, y, time)),
        ("text of the first line", DriftTextModel, (text.counts, text.effects, text.time)),
    ):
        took = {1: [], 2: []}
        for n_jobs in (1, 2) * N_TURNS:
            model = kind(max_iter=N_PASSES, tol=0.0, n_jobs=n_jobs)
            began = clock.perf_counter()
            model.fit(rows, target, time=steps)
            took[n_jobs].append(clock.perf_counter() - began)
        one, two = (statistics.median(took[n_jobs]) for n_jobs in (1, 2))
        lines.append(f"| {label} | {one:.2f} | {two:.2f} | {two / one:.2f} |")
    return lines


def start_up_table():
    """Processor seconds of new processes."""
    fit = FIRST_FIT.format(again="")
    cases = {
        "import driftglm": "import driftglm",
        "from driftglm import DriftRegressor": "from driftglm import DriftRegressor",
        "of which numpy, scipy, pandas, scikit-learn, numba": (
            "import numpy, scipy.sparse, scipy.optimize, pandas, sklearn.base, numba"
        ),
        "the same and a first fit, kernels compiled before": fit,
    }
    lines = ["| new process | seconds |", "|---|---|"]
    for label, code in cases.items():
        took = min(new_process(code) for _ in range(N_REPEATS))
        lines.append(f"| {label} | {took:.2f} |")
    return lines


def new_process(code):
    """Seconds some lines take there."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", START_UP.format(first=code)],
        capture_output=True, text=True, check=True, env=os.environ,
    )  # fmt: skip
    return float(done.stdout)


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    panel_seconds(400, 100, 4, 3)
    panel_seconds(400, 100, 4, 3, dtype=np.float32)
    simulate_and_compile()
    parts = []
    for title, make in (
        ("Rows, features, steps, scales of the prior", panel_table),
        ("Storage", storage_table),
        ("Text", text_table),
        ("Threads", jobs_table),
        ("Start-up", start_up_table),
    ):
        parts += [f"### {title}", "", *make(), ""]
        print("\n".join(parts[parts.index(f"### {title}") :]), flush=True)
    if arguments.write:
        write_page(arguments.write, "\n".join(parts))


def simulate_and_compile():
    """Nothing is compiled while it is timed."""
    text_seconds(n_words=100, docs_per_step=10, n_timesteps=3)


if __name__ == "__main__":
    main()
