"""What averaging forecasters costs: simulated worlds, and time and memory at the paper's scale.

    python benchmarks/history_worlds.py [--seeds 3] [--first 0]

Squared error of the next step in the reference worlds, averaged and forecast; then, at the paper's
scale, seconds (the fastest of three, in turn) and peak memory, each in a process of its own.
"""

import argparse
import subprocess
import sys
import time as clock

import numpy as np
from worlds import paper_scale, reference_worlds

from driftglm import DriftRegressor

WAYS = ("average", "forecast")
MEMORY = """
import resource, sys
sys.path.insert(0, {folder!r})
from worlds import paper_scale
from driftglm import DriftRegressor
(X, y, time), _ = paper_scale()
DriftRegressor(extrapolate={how!r}).fit(X, y, time=time)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def worlds(first, n_seeds):
    """Errors by world."""
    module = reference_worlds()
    if module is None:
        print("the reference worlds are not here; skipped")
        return
    for kind in ("const", "rw", "mixed", "switch"):
        errors = {how: [] for how in WAYS}
        for seed in range(first, first + n_seeds):
            X, y, time, X_next, y_next, _, _ = module.scenario(kind, seed)
            for how in WAYS:
                model = DriftRegressor(extrapolate=how).fit(X, y, time=time)
                errors[how].append(np.mean((model.predict(X_next) - y_next) ** 2))
        means = [np.mean(errors[how]) for how in WAYS]
        print(f"{kind}: average {means[0]:.4f}, forecast {means[1]:.4f}", flush=True)


def scale():
    """Time and memory at the paper's scale."""
    (X, y, time), _ = paper_scale()
    seconds = {how: [] for how in WAYS}
    DriftRegressor().fit(X[:600, :200], y[:600], time=np.arange(600) % 6)
    for _ in range(3):
        for how in WAYS:
            began = clock.perf_counter()
            DriftRegressor(extrapolate=how).fit(X, y, time=time)
            seconds[how].append(clock.perf_counter() - began)
    best = {how: min(found) for how, found in seconds.items()}
    ratio = best["average"] / best["forecast"]
    print(f"seconds: {best['average']:.2f} against {best['forecast']:.2f}, {ratio:.2f} times")
    peaks = {}
    for how in WAYS:
        code = MEMORY.format(folder=sys.path[0], how=how)
        command = [sys.executable, "-c", code]
        said = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
        peaks[how] = int(said.stdout) / 1024
    ratio = peaks["average"] / peaks["forecast"]
    print(f"peak MB: {peaks['average']:.0f} against {peaks['forecast']:.0f}, {ratio:.2f} times")


def main():
    """Print everything."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=0)
    args = parser.parse_args()
    worlds(args.first, args.seeds)
    scale()


if __name__ == "__main__":
    main()
