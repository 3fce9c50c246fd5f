"""The learned prior at the paper's scale, with and without shared directions, against lassos.

    python benchmarks/learned_scale.py

One run, two cores. scikit-learn's Lasso and skglm's see the pooled CSC data without an intercept;
the learned fit is whole: input checks, sorting, fitting, forecasting. Peak memory is that of a fit
in a process of its own.
"""

import multiprocessing
import resource
import time as clock
import warnings

import numpy as np
import psutil
from result_pages import stamp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso
from worlds import paper_scale

from driftglm import DriftRegressor
from driftglm.priors import Learned


def timed(action):
    """Seconds taken and what came out."""
    began = clock.perf_counter()
    result = action()
    return clock.perf_counter() - began, result


def compare(train, test):
    """Learned against lassos: time and test MSE."""
    (X, y, time), (X_next, y_next) = train, test
    pooled = X.tocsc()
    print("\n| model | seconds | test MSE | nonzero |\n|---|---|---|---|")
    small = slice(0, 200)
    DriftRegressor().fit(X[small, :50], y[small], time=np.repeat([0, 1], 100))
    seconds, model = timed(lambda: DriftRegressor().fit(X, y, time=time))
    ours = np.mean((y_next - model.predict(X_next)) ** 2)
    n_in = int((model.inclusion_probability_ > 0.5).sum())
    print(f"| learned ({model.n_iter_} passes) | {seconds:.1f} | {ours:.4f} | {n_in} |")
    plain = DriftRegressor(prior=Learned(n_directions=0))
    plain_seconds, _ = timed(lambda: plain.fit(X, y, time=time))
    error = np.mean((y_next - plain.predict(X_next)) ** 2)
    print(f"| learned, no shared directions | {plain_seconds:.1f} | {error:.4f} | |")
    held = np.mean((y_next - X_next @ model.coef_path_[-1] - model.intercept_path_[-1]) ** 2)
    print(f"| learned, hold | | {held:.4f} | |")
    lasso_seconds, best = {}, np.inf
    for strength in (0.001, 0.002, 0.003, 0.005):
        lasso = Lasso(alpha=strength, fit_intercept=False, max_iter=1000, tol=1e-4)
        lasso_seconds[strength], _ = timed(lambda lasso=lasso: lasso.fit(pooled, y))
        error = np.mean((y_next - lasso.predict(X_next)) ** 2)
        best = min(best, error)
        n_in = int((lasso.coef_ != 0).sum())
        print(
            f"| Lasso({strength}) | {lasso_seconds[strength]:.1f} | {error:.4f} | {n_in} |",
            flush=True,
        )
    try:
        import skglm
    except ImportError:
        print("| skglm | not installed | | |")
    else:
        peer = skglm.Lasso(alpha=0.001, fit_intercept=False, tol=1e-4)
        peer.fit(pooled[:200, :50], y[:200])
        peer_seconds, _ = timed(lambda: peer.fit(pooled, y))
        error = np.mean((y_next - X_next @ peer.coef_) ** 2)
        n_in = int((peer.coef_ != 0).sum())
        print(f"| skglm Lasso(0.001) | {peer_seconds:.1f} | {error:.4f} | {n_in} |")
    print(
        f"\nlearned / Lasso(0.001) time: {seconds / lasso_seconds[0.001]:.2f}; "
        f"test MSE {ours / best - 1:+.1%} of the best lasso"
    )


def memory(queue):
    """Peak RSS of a fit above that before it, and the size of the CSC matrix."""
    (X, y, time), _ = paper_scale()
    small = slice(0, 200)
    DriftRegressor().fit(X[small, :50], y[small], time=np.repeat([0, 1], 100))
    before = psutil.Process().memory_info().rss
    DriftRegressor().fit(X, y, time=time)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    queue.put((X.nnz * 12, before, peak))


def main():
    """Memory first, then time and error."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=memory, args=(queue,))
    process.start()
    csc, before, peak = queue.get()
    process.join()
    print(
        f"CSC matrix {csc / 1e6:.0f} MB, RSS before {before / 1e6:.0f} MB, peak {peak / 1e6:.0f} "
        f"MB: {(peak - before) / csc:.2f} matrices above"
    )
    compare(*paper_scale())
    print(f"\n{stamp()}")


if __name__ == "__main__":
    main()
