"""Single series, one row a step: paths of coefficients against shrinkTVP, and US inflation.

    python benchmarks/single_series.py [--seeds 11,12,13]

Series and the reference program's figures are read from beside the project; where they are absent
only the other parts run. With --seeds other series are drawn, for which there are no reference
figures. Inflation needs statsmodels.
"""

import argparse
import csv
import importlib.util
import time as clock
import warnings
from pathlib import Path

import numpy as np
from result_pages import stamp

from driftglm import DriftRegressor

ORACLE = Path(__file__).resolve().parents[2] / "shared" / "oracle"
FIGURES = (
    "rmse", "rmse_drift", "rmse_const", "rmse_zero",
    "cov", "cov_drift", "cov_const", "cov_zero", "width", "cpu",
)  # fmt: skip
QUANTILE = 1.6448536269514722
SHAPES = [(T, p) for T in (100, 200, 400) for p in (5, 10, 20)]


def series_module():
    """What draws the series, or None where it is absent."""
    path = ORACLE / "single_series.py"
    if not path.exists():
        return None
    spec = importlib.util.spec_from_file_location("oracle_series", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def figures_of(drawn, noise):
    """The figures of one series, as in shrinktvp.csv."""
    X, y, paths, kind, _ = drawn
    began = clock.process_time()
    model = DriftRegressor(noise=noise).fit(X, y, time=np.arange(len(y)))
    cpu = clock.process_time() - began
    squares, deviation = (model.coef_path_ - paths) ** 2, model.coef_std_path_
    inside = np.sqrt(squares) <= QUANTILE * deviation
    out = {"rmse": np.sqrt(squares.mean()), "cov": inside.mean(), "cpu": cpu}
    out["width"] = 2 * QUANTILE * deviation.mean()
    for name in ("drift", "const", "zero"):
        out[f"rmse_{name}"] = np.sqrt(squares[:, kind == name].mean())
        out[f"cov_{name}"] = inside[:, kind == name].mean()
    return out


def compare_paths(seeds):
    """Print means over the listed series, or over series of other seeds."""
    module = series_module()
    if module is None:
        print("the reference series are not here; skipped")
        return
    with (ORACLE / "shrinktvp.csv").open(newline="") as file:
        listed = list(csv.DictReader(file))
    print("| noise | method | series | " + " | ".join(FIGURES) + " |")
    print("|---" * (len(FIGURES) + 3) + "|")
    for noise in ("constant", "moving"):
        rows = [row for row in listed if row["noise"] == noise]
        cases = [(int(row["T"]), int(row["p"]), int(row["seed"])) for row in rows]
        if seeds:
            cases = [(T, p, seed) for T, p in SHAPES for seed in seeds]
        asked = "constant" if noise == "constant" else "auto"
        ours = [figures_of(module.series(*case, noise == "moving"), asked) for case in cases]
        show(noise, "driftglm", ours)
        if not seeds:
            show(noise, "shrinkTVP", rows)


def show(noise, method, results):
    """One line of means."""
    means = [np.mean([float(each[name]) for each in results]) for name in FIGURES]
    numbers = " | ".join(f"{value:.3f}" for value in means)
    print(f"| {noise} | {method} | {len(results)} | {numbers} |", flush=True)


def time_long_series():
    """Seconds of long series."""
    for n_steps, n_features in ((1000, 20), (10_000, 5)):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n_steps, n_features))
        paths = np.cumsum(0.1 * rng.normal(size=X.shape), axis=0)
        y = (X * paths).sum(axis=1) + rng.normal(size=n_steps)
        for extrapolate in ("forecast", "average"):
            began = clock.perf_counter()
            DriftRegressor(extrapolate=extrapolate).fit(X, y, time=np.arange(n_steps))
            seconds = clock.perf_counter() - began
            print(f"T = {n_steps}, p = {n_features}, {extrapolate}: {seconds:.2f} s")


def inflation():
    """Lags of US inflation and of its predictors, and next quarter's inflation."""
    import pandas as pd
    from statsmodels.datasets import macrodata

    data = macrodata.load_pandas().data
    frame = pd.DataFrame({"inflation": data["infl"]})
    for lag in range(1, 5):
        frame[f"lag {lag}"] = data["infl"].shift(lag)
    frame["unemployment"], frame["bill rate"] = data["unemp"].shift(1), data["tbilrate"].shift(1)
    for name, column in (("output", "realgdp"), ("money", "m1")):
        frame[name] = 400 * np.log(data[column]).diff().shift(1)
    return frame.dropna()


def forecast_inflation(n_last=60, window=40):
    """One-step-ahead forecasts of the last quarters: log density and error."""
    try:
        frame = inflation()
    except ImportError:
        print("statsmodels is not here; inflation is skipped")
        return
    y, X = frame["inflation"].to_numpy(), frame.drop(columns="inflation").to_numpy()
    time, ours, rolling = np.arange(y.size), [], []
    for t in range(y.size - n_last, y.size):
        model = DriftRegressor().fit(X[:t], y[:t], time=time[:t])
        error = y[t] - model.predict(X[t : t + 1], time=time[t : t + 1])[0]
        density = model.predict_distribution(X[t : t + 1], time=time[t : t + 1]).log_prob(
            y[t : t + 1]
        )
        ours.append((density[0], error))
        rolling.append(rolling_density(X[t - window : t + 1], y[t - window : t + 1]))
    for name, found in (("driftglm", ours), (f"rolling OLS, {window} quarters", rolling)):
        density, error = np.array(found).T
        rmse = np.sqrt(np.mean(error**2))
        print(f"inflation, {name}: mean log density {density.mean():.3f}, RMSE {rmse:.3f}")


def rolling_density(X, y):
    """Log density and error of the last row, least squares on the others."""
    rows = np.column_stack([np.ones(len(y)), X])
    coef, *_ = np.linalg.lstsq(rows[:-1], y[:-1], rcond=None)
    left = y[:-1] - rows[:-1] @ coef
    variance = left @ left / (len(left) - rows.shape[1])
    variance *= 1 + rows[-1] @ np.linalg.pinv(rows[:-1].T @ rows[:-1]) @ rows[-1]
    error = y[-1] - rows[-1] @ coef
    return -0.5 * (np.log(2 * np.pi * variance) + error**2 / variance), error


def main():
    """Print everything."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", default="", help="comma-separated, e.g. 11,12,13")
    seeds = [int(each) for each in parser.parse_args().seeds.split(",") if each]
    warnings.simplefilter("ignore")
    warm = np.random.default_rng(0).normal(size=(40, 4))
    DriftRegressor().fit(warm[:, :3], warm[:, 3], time=np.arange(40))  # compiles
    compare_paths(seeds)
    if not seeds:
        time_long_series()
        forecast_inflation()
    print(f"\n{stamp()}")


if __name__ == "__main__":
    main()
