"""`driftglm bench`: peers side by side on a simulated world."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Annotated, Any

import typer

from driftglm.cli import options as opt
from driftglm.cli.console import print_json, progress, say, say_table

PACKAGES = ("driftglm", "numpy", "scipy", "scikit-learn", "numba", "skglm", "adelie")
SMALL = 1e-10


def command(
    features: Annotated[int, typer.Option(metavar="N", min=10, help="Features.")] = 300,
    rows: Annotated[int, typer.Option(metavar="N", min=10, help="Rows a step.")] = 200,
    steps: Annotated[int, typer.Option(metavar="N", min=3, help="Steps.")] = 10,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the simulated world.")] = 0,
    json: opt.Json = False,
) -> None:
    """Time and test error of driftglm and its peers, predicting the step after the last.

    driftglm bench --features 300 --rows 200
    """
    from driftglm.simulate import simulate_panel

    panel = simulate_panel(
        n_features=features, rows_per_step=rows, n_timesteps=steps, random_state=seed
    )
    contest = _contestants()
    results = []
    with progress(len(contest), "fitting") as advance:
        for name, run in contest.items():
            results.append({"model": name} | _measured(run, panel))
            advance(1)
    versions = {name: found for name in PACKAGES if (found := _version(name)) is not None}
    world = {"features": features, "rows_per_step": rows, "steps": steps, "seed": seed}
    if json:
        print_json({"world": world, "versions": versions, "results": results})
        return
    least = min(result["test_mse"] for result in results)
    body = [
        [
            result["model"],
            f"{result['seconds']:.2f}",
            f"{result['test_mse']:.4f}" + "*" * (result["test_mse"] == least),
            f"{result['nonzeros']}",
        ]
        for result in results
    ]
    title = f"step after the last, {steps} steps of {rows} rows, {features} features (* best)"
    say_table(["model", "seconds", "test mse", "nonzeros"], body, title)
    say(", ".join(f"{name} {found}" for name, found in versions.items()))


def _contestants() -> dict[str, Callable[[Any], Any]]:
    """Functions from a panel to a fitted model; peers that are not installed are left out."""
    from sklearn.linear_model import LassoCV, RidgeCV

    from driftglm import DriftRegressor

    def drift(panel: Any) -> Any:
        return DriftRegressor().fit(panel.X, panel.y, time=panel.time)

    def pooled(make: Callable[[], Any]) -> Callable[[Any], Any]:
        return lambda panel: make().fit(panel.X, panel.y)

    def newest(make: Callable[[], Any]) -> Callable[[Any], Any]:
        def run(panel: Any) -> Any:
            last = panel.time == panel.time.max()
            return make().fit(panel.X[last], panel.y[last])

        return run

    def lasso() -> Any:
        return LassoCV(cv=5, max_iter=20_000)

    def ridge() -> Any:
        return RidgeCV([10.0**k for k in range(-2, 6)])

    out = {
        "driftglm, learned": drift,
        "lasso, all steps (scikit-learn)": pooled(lasso),
        "lasso, newest step (scikit-learn)": newest(lasso),
        "ridge, all steps (scikit-learn)": pooled(ridge),
        "ridge, newest step (scikit-learn)": newest(ridge),
    }
    if find_spec("skglm") is not None:
        out["MCP, all steps (skglm)"] = pooled(_skglm)
    if find_spec("adelie") is not None:
        out["group lasso over time (adelie)"] = _adelie
    return out


def _skglm() -> Any:
    from importlib import import_module

    return import_module("skglm").MCPRegression(alpha=0.05)


def _adelie(panel: Any) -> Any:
    """Coefficients per step as deviations, one group a feature; the strength by validation."""
    from importlib import import_module

    import numpy as np

    ad = import_module("adelie")
    steps = np.unique(panel.time)
    blocks = [panel.X * (panel.time == step)[:, None] for step in steps]
    wide = np.asfortranarray(np.stack(blocks, axis=2).reshape(panel.y.size, -1))
    groups = np.arange(panel.X.shape[1]) * len(steps)
    found = ad.cv_grpnet(X=wide, glm=ad.glm.gaussian(panel.y), groups=groups, progress_bar=False)
    state = found.fit(wide, ad.glm.gaussian(panel.y), groups=groups, progress_bar=False)
    paths = state.betas[-1].toarray().reshape(-1, len(steps))
    return _Linear(paths[:, -1], float(state.intercepts[-1]))


class _Linear:
    """A linear predictor as scikit-learn has them."""

    def __init__(self, coef: Any, intercept: float) -> None:
        self.coef_, self.intercept_ = coef, intercept

    def predict(self, X: Any) -> Any:
        """Predictions."""
        return X @ self.coef_ + self.intercept_


def _measured(run: Callable[[Any], Any], panel: Any) -> dict[str, Any]:
    import numpy as np

    began = clock.perf_counter()
    model = run(panel)
    seconds = clock.perf_counter() - began
    error = float(np.mean((panel.y_next - model.predict(panel.X_next)) ** 2))
    included = getattr(model, "inclusion_probability_", None)
    if included is None:
        included = np.abs(np.ravel(model.coef_)) > SMALL
    return {"seconds": seconds, "test_mse": error, "nonzeros": int(np.sum(included > 0.5))}  # noqa: PLR2004


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
