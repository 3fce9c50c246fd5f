"""Block solver against L-BFGS, the paper's algorithm, at the paper's scale, in one run.

    python benchmarks/paper_scale.py [--lbfgs-iterations 300]

Both start from the same paths (pooled ridge, every path nonzero) and raise the same floored
objective with the exact prior. Times are of the solvers alone; the starting fit is shared. The
memory line is of a whole fit in a process of its own.
"""

import argparse
import multiprocessing
import resource
import time as clock

import numpy as np
from result_pages import stamp
from worlds import paper_scale

from driftglm import DriftRegressor
from driftglm.families import Gaussian
from driftglm.fitting.rows import Rows
from driftglm.fitting.starts import start_paths
from driftglm.objective import Noise, Objective
from driftglm.priors import Exact
from driftglm.solvers import BlockSolver, LBFGSSolver


def compare_solvers(train, test, n_iterations):
    """Print one row per solver."""
    X, y, time = train
    n_features, n_steps = X.shape[1], int(time.max()) + 1
    none = np.zeros(n_features, dtype=bool)
    rows = Rows(
        X,
        y,
        time.astype(np.int64),
        np.ones(y.size),
        n_steps,
        none,
        none,
        intercept=False,
        family=Gaussian(),
        exposure=np.zeros(y.size),
    )
    design, order = rows.design()
    objective = Objective(
        design=design,
        family=Gaussian(),
        intercepts=rows.intercepts(order),
        noise=Noise(None, rows.scale.noise),
        y=y[order],
        weights=np.ones(y.size),
        offset=np.zeros(y.size),
        static=none,
        reference=rows.scale.reference,
        effective_rows=rows.scale.effective_rows,
        prior=Exact(),
    )
    began = clock.perf_counter()
    start = start_paths("ridge-all", rows.start_data(), n_steps)
    print(f"\nstarting fit (pooled ridge): {clock.perf_counter() - began:.1f} s")
    state = objective.start(start)
    print("\n| solver | iterations | seconds | floored objective | test MSE | nonzero paths |")
    print("|---|---|---|---|---|---|")
    seconds = {}
    for solver, most in ((BlockSolver(), 1000), (LBFGSSolver(), n_iterations)):
        # A first, short run compiles what is not yet in the cache.
        solver.solve(objective, state, max_iter=1, tol=1e-4)
        began = clock.perf_counter()
        result = solver.solve(objective, state, max_iter=most, tol=1e-4)
        name = type(solver).__name__
        seconds[name] = clock.perf_counter() - began
        last = result.state.beta[:, -1]
        error = np.mean((test[1] - test[0] @ last) ** 2)
        n_live = int((np.abs(last) > 1e-8).sum())
        print(
            f"| {name} | {result.n_iter} ({result.reason.value}) | {seconds[name]:.1f} "
            f"| {result.history[-1]:.1f} | {error:.4f} | {n_live} |"
        )
    ratio = seconds["BlockSolver"] / seconds["LBFGSSolver"]
    print(f"\nblock / L-BFGS time: {ratio:.3f}")


def peak_memory(queue):
    """Peak RSS of a fit above that before it, in units of the CSC matrix."""
    (X, y, time), _ = paper_scale()
    warm = np.random.default_rng(0).normal(size=(20, 2))
    DriftRegressor(prior="exact", init="zero").fit(warm, warm[:, 0], time=np.repeat([0, 1], 10))
    csc_bytes = X.nnz * 12 + 4 * (X.shape[1] + 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    now = current_rss()
    began = clock.perf_counter()
    DriftRegressor(prior="exact", init="zero", fit_intercept=False).fit(X, y, time=time)
    took = clock.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    queue.put((csc_bytes, now, max(peak, before), took))


def current_rss():
    """Resident memory of this process in bytes."""
    import psutil

    return psutil.Process().memory_info().rss


def main():
    """Run both parts and print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--lbfgs-iterations", type=int, default=300)
    arguments = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=peak_memory, args=(queue,))
    process.start()
    csc, before, peak, took = queue.get()
    process.join()
    print(
        f"whole fit (exact prior, init='zero'): {took:.1f} s; CSC matrix {csc / 1e6:.0f} MB, "
        "RSS before "
        f"{before / 1e6:.0f} MB, peak {peak / 1e6:.0f} MB: "
        f"{(peak - before) / csc:.2f} matrices above"
    )
    train, test = paper_scale()
    print(
        f"training rows {train[0].shape[0]}, features {train[0].shape[1]}, nonzeros {train[0].nnz}"
    )
    compare_solvers(train, test, arguments.lbfgs_iterations)
    print(f"\n{stamp()}")


if __name__ == "__main__":
    main()
