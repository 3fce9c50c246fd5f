"""Forecasts of the step after the last in four simulated worlds, learned prior against peers.

    python benchmarks/simulated_worlds.py [--seeds 0 1 2] [--no-adelie] [--write PAGE]

Needs the reference worlds beside the project; skips cleanly where they are absent. Test MSE is the
mean over seeds. Peers are tuned by five-fold cross-validation; adelie's group lasso runs on the
time-expanded design with one group a feature, in the environment of `make bench`.
"""

import argparse
import time as clock
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from result_pages import stamp, write_page
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV, RidgeCV
from worlds import reference_worlds

from driftglm import DriftRegressor

KINDS = ("const", "rw", "mixed", "switch")
STRENGTHS = np.geomspace(1e-1, 1e5, 19)
OURS = {"learned (default)", "learned, forecast", "learned, hold", "truth at T", "exact"}
PAGE = """# Four simulated worlds

The learned prior against lasso and ridge on all steps and on the last (five-fold cross-validation),
adelie's group lasso on the time-expanded design (one group a feature, five-fold
cross-validation), the exact prior, and the truth of the last step used for the next. T = 8, 300
rows a step, 1,000 binary features of which 40 are active; mean of seeds {seeds}.

    python benchmarks/simulated_worlds.py --write docs/results/simulated-worlds.md

{table}

The default averages four forecasters by how well each predicted earlier steps; *forecast* lets
coefficients drift one step on, *hold* keeps those of the last step.

{quality}
"""


def errors_of_peers(X, y, time, X_next, y_next, *, adelie):
    """Test MSE of the pooled and last-step baselines and of the group lasso."""
    last = time == time.max()
    out = {}
    for name, rows in (("one", last), ("all", np.ones(y.size, bool))):
        lasso = LassoCV(cv=5, n_jobs=2).fit(X[rows], y[rows])
        ridge = RidgeCV(STRENGTHS, cv=5).fit(X[rows], y[rows])
        out[f"lasso-{name}"] = np.mean((y_next - lasso.predict(X_next)) ** 2)
        out[f"ridge-{name}"] = np.mean((y_next - ridge.predict(X_next)) ** 2)
    if adelie:
        out["group lasso (adelie)"] = group_lasso_error(X, y, time, X_next, y_next)
    return out


def group_lasso_error(X, y, time, X_next, y_next):
    """One group a feature on the design expanded to feature x step."""
    import adelie as ad

    n_rows, n_features = X.shape
    n_steps = int(time.max()) + 1
    row, column = np.nonzero(X)
    expanded = sp.csc_matrix(
        (X[row, column], (row, column * n_steps + time[row])), shape=(n_rows, n_features * n_steps)
    )
    dense = np.asfortranarray(expanded.toarray())
    groups = np.arange(0, n_features * n_steps, n_steps)
    cv = ad.cv_grpnet(
        X=dense, glm=ad.glm.gaussian(y=y), groups=groups, n_folds=5, seed=0, n_threads=2,
        progress_bar=False, intercept=True,
    )  # fmt: skip
    state = cv.fit(dense, ad.glm.gaussian(y=y), groups=groups, n_threads=2, progress_bar=False)
    beta = np.asarray(state.betas[-1].todense()).ravel().reshape(n_features, n_steps)
    prediction = X_next @ beta[:, -1] + state.intercepts[-1]
    return np.mean((y_next - prediction) ** 2)


def one_world(worlds, kind, seed, *, adelie):
    """All figures of one simulated data set."""
    X, y, time, X_next, y_next, paths, _ = worlds.scenario(kind, seed)
    began = clock.perf_counter()
    model = DriftRegressor().fit(X, y, time=time)
    seconds = clock.perf_counter() - began
    drifting = DriftRegressor(extrapolate="forecast").fit(X, y, time=time)
    interval = model.predict_interval(X_next)
    covered = np.mean((interval[:, 0] <= y_next) & (y_next <= interval[:, 1]))
    chosen, active = model.inclusion_probability_ > 0.5, paths.any(axis=1)
    held = X_next @ model.coef_path_[-1] + model.intercept_path_[-1]
    exact = DriftRegressor(prior="exact").fit(X, y, time=time)
    predictions = {
        "learned (default)": model.predict(X_next),
        "learned, forecast": drifting.predict(X_next),
        "learned, hold": held,
        "truth at T": X_next @ paths[:, -2],
        "exact": exact.predict(X_next),
    }
    out = {name: np.mean((y_next - each) ** 2) for name, each in predictions.items()}
    out |= errors_of_peers(X, y, time, X_next, y_next, adelie=adelie)
    precision = (chosen & active).sum() / max(chosen.sum(), 1)
    recall = (chosen & active).sum() / active.sum()
    return out, (precision, recall, covered, seconds)


def page(table, quality, seeds):
    """The page: errors by world, then what else was counted."""
    lines = ["| test MSE at T+1 | " + " | ".join(KINDS) + " |", "|---" * (len(KINDS) + 1) + "|"]
    for name in table[KINDS[0]]:
        cells = " | ".join(f"{table[kind][name]:.4f}" for kind in KINDS)
        lines.append(f"| {name} | {cells} |")
    said = []
    for kind in KINDS:
        best = min(value for name, value in table[kind].items() if name not in OURS)
        precision, recall, covered, seconds = quality[kind]
        said.append(
            f"- {kind}: {table[kind]['learned (default)'] / best - 1:+.1%} against the best peer; "
            f"selection precision {precision:.3f}, recall {recall:.3f}; 90 % intervals cover "
            f"{covered:.3f}; {seconds:.2f} s a fit"
        )
    named = ", ".join(map(str, seeds))
    return PAGE.format(seeds=named, table="\n".join(lines), quality="\n".join(said))


def main():
    """Print the page, or write it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--no-adelie", action="store_true")
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    worlds = reference_worlds()
    if worlds is None:
        print("the reference worlds are not here; nothing to do")
        return
    warnings.simplefilter("ignore", ConvergenceWarning)
    table, quality = {}, {}
    for kind in KINDS:
        results = [
            one_world(worlds, kind, seed, adelie=not arguments.no_adelie)
            for seed in arguments.seeds
        ]
        table[kind] = {name: np.mean([r[0][name] for r in results]) for name in results[0][0]}
        quality[kind] = np.mean([r[1] for r in results], axis=0)
    text = page(table, quality, arguments.seeds)
    print(text)
    if arguments.write:
        write_page(arguments.write, text)
    else:
        print(stamp())


if __name__ == "__main__":
    main()
