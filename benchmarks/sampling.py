"""Draws of the joint posterior: calibrated, right under correlation, and fast enough.

    python benchmarks/sampling.py [sbc coverage scale series wages] --write PAGE

Without names all parts run, three quarters of an hour on one core. Parts that are not run keep
their section in the page. With `--cache FOLDER` data sets of the calibration, panels and series
that were sampled before are read, so that they may run in slices. `--guide docs/sampling.md` sets
the table of wages.
"""

import argparse
import csv
import multiprocessing
import pickle
import re
import resource
import time as clock
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from result_pages import stamp
from scipy.stats import chi2
from single_series import ORACLE, series_module
from worlds import paper_scale

from driftglm import DriftRegressor, Sampling
from driftglm.design import ColumnDesign
from driftglm.diagnostics.chains import effective_draws
from driftglm.families import Binomial, Gaussian, Poisson
from driftglm.fitting.row_draws import sampled_eta
from driftglm.objective import Bound, Intercepts, Noise
from driftglm.priors import Learned
from driftglm.priors.weights import prior_counts, start_weights
from driftglm.solvers import CAVISolver
from driftglm.solvers.gibbs import Chain
from driftglm.solvers.sampling import sample

HEAD = (
    "| noise, steps, coefficients (series) | covered, sampled | variational | shrinkTVP "
    "| RMSE, sampled | variational | shrinkTVP | effective draws | a second |"
)
N_STEPS, N_ROWS, N_FEATURES = 6, 40, 12
N_BINS, N_DRAWS, N_PARTS = 10, 99, 5
GRID = Learned(
    shares=(0.0, 0.5, 1.0), correlations=(0.0, 0.9), n_scales=4, prior_count=3.0, n_directions=0
)
SIZES = {"gaussian": 1.0, "binomial": 1.0, "poisson": 0.1}
"""Largest variance of a path, by family: an absolute grid."""
DEGREES, SCALE = 12.0, 0.5
"""Prior of the noise variance, which must be proper to be drawn from."""

# ------------------------------------------------- simulation-based calibration


def posed(X, y, codes, family, weight):
    """The problem: nothing centred, no directions, a column of ones with a path like any other."""
    design, _ = ColumnDesign.from_matrix(X, codes, N_STEPS)
    noise = Noise(given=1.0, reference=1.0)
    if family.has_noise:
        noise = Noise(given=None, reference=SCALE, degrees=DEGREES, least=1e-6)
    nothing = np.zeros((0, y.size)), np.zeros(0, bool), np.zeros(0)
    return Bound(
        design=design,
        family=family,
        intercepts=Intercepts(*nothing),
        noise=noise,
        y=y.astype(np.float64),
        weights=np.full(y.size, float(weight)),
        offset=np.zeros(y.size),
        static=np.zeros(N_FEATURES, bool),
        reference=SIZES[family.name],
        effective_rows=200.0,
        prior=GRID,
        unit=np.ones(N_FEATURES),
    )


def drawn_truth(bound, rng):
    """Paths, and components, from the prior."""
    components = bound.components()
    pi = start_weights(GRID, components, np.zeros(1, bool))
    weights = rng.dirichlet(prior_counts(GRID, components, pi)[0])
    k = rng.choice(components.count, N_FEATURES, p=weights)
    steps = np.arange(N_STEPS)
    beta = np.empty((N_FEATURES, N_STEPS))
    for i in range(N_FEATURES):
        law = components.static[k[i]], components.dynamic[k[i]], components.rho[k[i]]
        spread = law[0] + law[1] * law[2] ** np.abs(steps[:, None] - steps)
        beta[i] = rng.multivariate_normal(np.zeros(N_STEPS), spread, method="svd")
    return beta / bound.unit[:, None], ~components.is_zero[k]


def one_set(name, rng, seed, weight):
    """Ranks of what was drawn, probabilities of inclusion and what is included."""
    family = {"gaussian": Gaussian(), "binomial": Binomial(bound=False), "poisson": Poisson()}[name]
    codes = np.repeat(np.arange(N_STEPS), N_ROWS)
    X = rng.normal(size=(codes.size, N_FEATURES))
    X[:, 1] = 0.8 * X[:, 2] + 0.6 * X[:, 1]
    X[:, 0] = 1.0
    bound = posed(X, np.zeros(codes.size), codes, family, 1.0)
    beta, included = drawn_truth(bound, rng)
    eta = np.einsum("ni,ni->n", X, beta.T[codes])
    noise = 1.0
    if family.has_noise:
        noise = 0.5 * DEGREES * SCALE / rng.standard_gamma(0.5 * DEGREES)
    y = family.draw(eta, noise, rng)
    bound = posed(X, y, codes, family, weight)
    found = CAVISolver().solve(bound, bound.start_posterior(), max_iter=60, tol=1e-3)
    how = Sampling(draws=N_DRAWS, warmup=150, chains=1, thin=5)
    record = sample(bound, found.state, how, seed=seed)[0]
    paths = np.zeros((N_DRAWS, N_FEATURES, N_STEPS))
    paths[:, record.kept] = record.paths
    truth, draws = {}, {}
    for i, t in ((0, 0), (1, 2), (2, 5), (7, 3)):
        truth[f"beta {i} {t}"], draws[f"beta {i} {t}"] = beta[i, t], paths[:, i, t]
    for t in (0, 3, 5):
        row = rng.normal(size=N_FEATURES)
        truth[f"x'beta {t}"], draws[f"x'beta {t}"] = row @ beta[:, t], paths[:, :, t] @ row
    if family.has_noise:
        truth["noise"], draws["noise"] = noise, record.others["noise"][:, 0]
    ranks = {
        # Single precision rounds draws, and zero is zero.
        key: int((draws[key] < np.float32(value)).sum())
        + int(rng.integers(int((draws[key] == np.float32(value)).sum()) + 1))
        for key, value in truth.items()
    }
    return ranks, Inclusion.of(found.state, record, included)


@dataclass
class Inclusion:
    """What one data set says about inclusion.

    `order` (p,) is known before any draw is made; `happened` and `predicted` (p,) are the truth and
    the draws' probabilities, `drawn` (S, p) what was in in every draw.
    """

    order: np.ndarray
    happened: np.ndarray
    predicted: np.ndarray
    drawn: np.ndarray

    @classmethod
    def of(cls, state, record, included):
        """From the draws of one chain."""
        zero = state.components.is_zero
        drawn = np.zeros((record.done, included.size))
        drawn[:, record.kept] = ~zero[record.component[: record.done]]
        predicted = record.phi[:, ~zero].sum(axis=1) / record.done
        return cls(state.inclusion, included, predicted, drawn)


def cached_set(key, cache):
    """One data set: from a file, if it was sampled before."""
    name, weight, seed, s = key

    def make():
        ranks, inclusion = one_set(name, np.random.default_rng([seed, s]), s, weight)
        return ranks, vars(inclusion)

    ranks, inclusion = cached(cache, f"{name}-{weight:g}-{seed}-{s}", make)
    return ranks, Inclusion(**inclusion)


def cached(folder, name, make):
    """What `make` returns: from a file, if it was made before."""
    if folder is None:
        return make()
    path = folder / f"{name}.pickle"
    if not path.exists():
        found = make()
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(found))
    return pickle.loads(path.read_bytes())  # noqa: S301 (written above)


def calibrated(name, n_sets, weight=1.0, seed=0, cache=None):
    """P values by quantity, the least after Holm, and that of the reliability of inclusion."""
    sets = [cached_set((name, weight, seed, s), cache) for s in range(n_sets)]
    p_values = {key: uniform([ranks[key] for ranks, _ in sets]) for key in sets[0][0]}
    least = min(p_values.values()) * len(p_values)
    return p_values, min(least, 1.0), reliable([inclusion for _, inclusion in sets])


def uniform(ranks):
    """P value of equal bins."""
    counts = np.bincount(np.array(ranks) * N_BINS // (N_DRAWS + 1), minlength=N_BINS)
    expected = len(ranks) / N_BINS
    return float(chi2.sf(((counts - expected) ** 2 / expected).sum(), N_BINS - 1))


def reliable(sets):
    """P value of what is included in five equal bins, against what was predicted.

    Bins are by the variational probability: the draws' own would sort their errors into the outer
    bins. Features of a data set are in or out together, as they share weights and resemble each
    other; how much so, and how uncertain the predictions are, the draws say.
    """
    ends = np.quantile(np.concatenate([each.order for each in sets]), [0.2, 0.4, 0.6, 0.8])
    surprise, spread = np.zeros(N_PARTS), np.zeros((N_PARTS, N_PARTS))
    for each in sets:
        part = np.eye(N_PARTS)[np.searchsorted(ends, each.order)]
        surprise += (each.happened - each.predicted) @ part
        count = each.drawn.sum(axis=1)
        draws = effective_draws(count[None])[0] if np.ptp(count) > 0 else len(count)
        spread += np.cov((each.drawn @ part).T) * (1.0 + 1.0 / draws)
    # Where many are certainly in, a bin may be empty.
    known = np.linalg.matrix_rank(spread, hermitian=True)
    return float(chi2.sf(surprise @ np.linalg.pinv(spread, hermitian=True) @ surprise, known))


def run_sbc(n_sets, cache=None):
    """Whether the truth is anywhere among the draws, for three families and one that must fail."""
    said = (
        f"{n_sets} data sets each, drawn from the prior: {N_FEATURES} features, {N_STEPS} steps of "
        f"{N_ROWS} rows, an absolute grid, no centring, dispersion 1. Chi-square of the ranks of "
        f"the truth among {N_DRAWS} draws in {N_BINS} bins; uniform where p > .01 after Holm."
    )
    lines = [
        said,
        "",
        "| family | quantities | least p after Holm | p of inclusion's reliability |",
        "|---|---|---|---|",
    ]
    cases = [(name, 1.0) for name in SIZES] + [("gaussian", 2.5)]
    for name, weight in cases:
        p_values, least, inclusion = calibrated(name, n_sets, weight, cache=cache)
        shown = name if weight == 1.0 else f"{name}, rows counted {weight} times (must fail)"
        lines.append(f"| {shown} | {len(p_values)} | {least:.3g} | {inclusion:.3g} |")
        print(lines[-1], {key: round(p, 3) for key, p in p_values.items()}, flush=True)
    return lines


# ------------------------------------------------------------------ correlation


def correlated_panel(correlation, seed, n_features=60, n_active=8, n_steps=8, n_rows=100):
    """Neighbouring columns of a correlation; half the active paths walk."""
    rng = np.random.default_rng([7, seed])
    codes = np.repeat(np.arange(n_steps), n_rows)

    def columns(n):
        z = rng.normal(size=(n, n_features))
        for j in range(1, n_features):
            z[:, j] = correlation * z[:, j - 1] + np.sqrt(1 - correlation**2) * z[:, j]
        return z

    paths = np.zeros((n_steps, n_features))
    active = rng.choice(n_features, n_active, replace=False)
    for j, i in enumerate(active):
        walk = np.cumsum(rng.normal(size=n_steps)) * 0.15 if j % 2 else 0.0
        paths[:, i] = rng.normal() * 0.5 + walk
    X = columns(codes.size)
    y = (X * paths[codes]).sum(axis=1) + rng.normal(size=codes.size)
    return X, y, codes, paths, columns(300)


def one_panel(correlation, seed):
    """Shares covered, sampled and mean field, and the squared errors of both."""
    X, y, codes, paths, new = correlated_panel(correlation, seed)
    steps = np.random.default_rng(seed).integers(8, size=len(new))
    sampled, plain = both_fits(X, y, codes)
    inside, inside_plain = [], []
    for t in range(8):
        rows = new[steps == t]
        truth = rows @ paths[t]
        draws = sampled_eta(sampled, rows, t, np.random.default_rng(seed))
        low, high = np.quantile(draws, [0.05, 0.95], axis=0)
        inside += list((low <= truth) & (truth <= high))
        step = plain.at(t)
        reach = 1.645 * np.sqrt(step.variance_of(rows))
        inside_plain += list(np.abs(step.mean_of(rows) - truth) <= reach)
    errors = [((fit.coef_path() - paths) ** 2).sum() for fit in (sampled, plain)]
    return [np.mean(inside), np.mean(inside_plain), *errors]


def run_coverage(n_panels, cache=None):
    """Intervals of x'beta, and errors of paths, where columns are correlated."""
    said = (
        f"{n_panels} panels each: 8 steps of 100 rows, 60 features, 8 active of which half walk, "
        "noise 1; 90 % intervals of x'beta of 300 new rows at random steps, and the squared error "
        "of all paths. 2 chains of 400 draws. (The variational fit is the mean-field one: with 800 "
        "rows paths are judged jointly otherwise.) Rows of a panel share its coefficients: the "
        "standard error is that of panels. Paths are not drawn from the prior; where they are, "
        "calibration says what is covered."
    )
    lines = [
        said,
        "",
        "| correlation | covered, sampled | mean field | error, sampled / mean field | ratio |",
        "|---|---|---|---|---|",
    ]
    for correlation in (0.9, 0.8, 0.5, 0.0):
        found = [
            cached(cache, f"panel-{correlation:g}-{seed}", partial(one_panel, correlation, seed))
            for seed in range(n_panels)
        ]
        one, two, error, other = np.mean(found, axis=0)
        off, _, _, _ = np.std(found, axis=0, ddof=1) / np.sqrt(n_panels)
        lines.append(
            f"| {correlation:g} | {one:.3f} +- {off:.3f} | {two:.3f} | {error:.3f} / {other:.3f} | "
            f"{error / other:.2f} |"
        )
        print(lines[-1], flush=True)
    return lines


def both_fits(X, y, codes):
    """The sampled fit, and the mean-field one it started from."""
    how = Sampling(draws=400, warmup=200)
    sampled = DriftRegressor(extrapolate="forecast", seasonality=None, inference=how)
    sampled.fit(X, y, time=codes)
    plain = DriftRegressor(extrapolate="forecast", seasonality=None)
    mean_field(plain, X, y, codes)
    return sampled._fits[0], plain._fits[0]  # noqa: SLF001


def mean_field(model, X, y, time):
    """Fit a model whose paths are not judged jointly at the end."""
    from driftglm.fitting import posteriors

    joint = posteriors.joint_posterior
    posteriors.joint_posterior = lambda *end, **_: (end[1], None)
    try:
        return model.fit(X, y, time=time)
    finally:
        posteriors.joint_posterior = joint


# ------------------------------------------------------------------------ scale


WARMUP = 100


def fit_at_scale(n_draws, queue):
    """One fit in a process of its own: CPU seconds, peak memory in MB, those of every sweep."""
    warnings.simplefilter("ignore")
    (X, y, time), _ = paper_scale()
    sweeps, own = [], Chain.sweep

    def timed(self, sums):
        started = clock.thread_time()
        own(self, sums)
        sweeps.append(clock.thread_time() - started)

    Chain.sweep = timed
    how = "variational" if not n_draws else Sampling(draws=n_draws, warmup=WARMUP, chains=1)
    began = clock.process_time()
    DriftRegressor(extrapolate="forecast", inference=how).fit(X, y, time=time)
    seconds = clock.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    queue.put((seconds, peak, sweeps, X.shape, int(X.nnz)))


def run_scale(n_draws):
    """Time and memory at the paper's scale."""
    found = []
    context = multiprocessing.get_context("spawn")
    for count in (0, n_draws):
        queue = context.Queue()
        process = context.Process(target=fit_at_scale, args=(count, queue))
        process.start()
        found.append(queue.get())
        process.join()
    (plain, memory, _, shape, entries), (total, more, sweeps, *_) = found
    drawn = (
        f"- with {n_draws} kept draws after {WARMUP} sweeps of warm-up: {total:.0f} s; a sweep "
        f"takes {np.median(sweeps):.3f} s (median; least {min(sweeps):.3f}), "
        f"{1 / np.median(sweeps):.1f} a second; {sum(sweeps[-n_draws:]):.0f} s for the kept draws"
    )
    size = (
        f"{shape[0]:,} rows, {shape[1]:,} binary columns, {entries:,} ones, one chain, one thread. "
        "Seconds are of CPU, those of fits with what they compile."
    )
    lines = [
        size,
        "",
        f"- variational fit: {plain:.0f} s, peak memory {memory:.0f} MB",
        drawn,
        f"- peak memory {more:.0f} MB, {more / memory:.2f} times that of the variational fit",
    ]
    print("\n".join(lines), flush=True)
    return lines


# ----------------------------------------------------------------------- series


def one_series(noise, n_steps, n_features, seed):
    """Coverage, then errors of paths, sampled and variational; effective draws, and a second."""
    X, y, paths, *_ = series_module().series(
        n_steps, n_features, seed, moving_noise=noise == "moving"
    )
    how = {"noise": "drift" if noise == "moving" else "constant", "extrapolate": "forecast"}
    plain = DriftRegressor(**how).fit(X, y, time=np.arange(n_steps))
    began = clock.process_time()
    sampled = DriftRegressor(**how, inference=Sampling()).fit(X, y, time=np.arange(n_steps))
    seconds = clock.process_time() - began
    row = [_covered(sampled, paths), _covered(plain, paths)]
    row += [np.sqrt(((m.coef_path_ - paths) ** 2).mean()) for m in (sampled, plain)]
    effective = np.nanmin(sampled.summary()["effective_draws"])
    return [*row, effective, effective / seconds]


def run_series(cache=None):
    """One row a step: coverage, and effective draws a second."""
    said = (
        "The reference series of shrinkTVP, one row a step, all there are of a kind; 2 chains of "
        "1,000 draws after 200 sweeps, told whether the noise moves. Effective draws are the least "
        "of any coefficient at five steps, bulk and tails; a second of CPU, of the whole fit."
    )
    lines = [said, "", HEAD, "|---" * HEAD.count(" |") + "|"]
    with (ORACLE / "shrinktvp.csv").open(newline="") as file:
        series = list(csv.DictReader(file))
    found = {}
    for each in series:
        key = each["noise"], int(each["T"]), int(each["p"])
        name = "series-" + "-".join(map(str, (*key, each["seed"])))
        own = cached(cache, name, partial(one_series, *key, int(each["seed"])))
        theirs = [float(each["cov"]), float(each["rmse"])]
        found.setdefault(key, []).append([*own[:2], theirs[0], *own[2:4], theirs[1], *own[4:]])
    for (noise, n_steps, n_features), rows in found.items():
        name = f"{noise}, T = {n_steps}, {n_features} coefficients ({len(rows)})"
        lines.append(_row(name, np.mean(rows, axis=0)))
    for noise in ("constant", "moving"):
        rows = np.concatenate([rows for key, rows in found.items() if key[0] == noise])
        lines.append(_row(f"mean, {noise} ({len(rows)})", rows.mean(axis=0)))
    print("\n".join(lines[2:]), flush=True)
    return lines


def _row(name, figures):
    return f"| {name} | " + " | ".join(f"{each:.3g}" for each in figures) + " |"


def _covered(model, paths):
    lower, upper = model.coef_interval()
    return float(((lower <= paths) & (paths <= upper)).mean())


# ------------------------------------------------------------------------ wages


WAGES = ("educ", "union", "married", "hours", "occ9")


def run_wages(guide=None):
    """Log wages of a panel: mean field, variational, sampled, sampled with men as groups."""
    from truth import wagepan

    X, y, time, person = wagepan()
    models = [
        mean_field(DriftRegressor(), X, y, time),
        DriftRegressor().fit(X, y, time=time),
        DriftRegressor(inference=Sampling()).fit(X, y, time=time),
        DriftRegressor(inference=Sampling()).fit(X, y, time=time, groups=person),
    ]
    tables = [model.summary().set_index("feature") for model in models]
    said = (
        "2 chains of 1,000 draws: mean field / variational / sampled / sampled with men as groups."
    )
    lines = [
        f"wagepan, {said}",
        "",
        "| | inclusion | drift probability | coefficient 1987 | its deviation | effective draws |",
        "|---|---|---|---|---|---|",
    ]
    for name in WAGES:
        i = list(X.columns).index(name)
        columns = [
            [f"{table.loc[name, key]:.{n}f}" for table in tables]
            for key, n in (("inclusion_probability", 2), ("drift_probability", 2))
        ]
        columns.append([f"{model.coef_path_[-1, i]:.3g}" for model in models])
        columns.append([f"{model.coef_std_path_[-1, i]:.2g}" for model in models])
        columns.append([f"{table.loc[name, 'effective_draws']:.0f}" for table in tables[2:]])
        lines.append(f"| {name} | " + " | ".join(" / ".join(each) for each in columns) + " |")
    print("\n".join(lines), flush=True)
    if guide is not None:
        old, new = guide.read_text(), "\n".join(lines[2:])
        guide.write_text(
            re.sub(r"\| \| inclusion.*?\n(?!\|)", lambda _: f"{new}\n", old, flags=re.DOTALL)
        )
    return lines


# ------------------------------------------------------------------------- page

PARTS = {
    "sbc": ("Simulation-based calibration", lambda args: run_sbc(args.sets, args.cache)),
    "coverage": ("Under correlation", lambda args: run_coverage(args.panels, args.cache)),
    "scale": ("Paper scale", lambda _: run_scale(500)),
    "series": ("Single series", lambda args: run_series(args.cache)),
    "wages": ("Wages", lambda args: run_wages(args.guide)),
}


def main():
    """Run the parts asked for, and write their sections."""
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--panels", type=int, default=40)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--guide", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in args.parts or PARTS:
        title, run = PARTS[name]
        section = "\n".join([*run(args), "", stamp()])
        if args.write:
            write(args.write, title, section)


def write(path, title, section):
    """The page with one section anew; the others are kept as they are now."""
    old = path.read_text() if path.exists() else ""
    sections = dict(re.findall(r"## (.*?)\n\n(.*?)\n*(?=\n## |\Z)", old, re.DOTALL))
    sections[title] = section
    titles = [title for title, _ in PARTS.values() if title in sections]
    body = "\n\n".join(f"## {title}\n\n{sections[title].strip()}" for title in titles)
    head = "# Draws of the joint posterior\n\n    python benchmarks/sampling.py --write PAGE"
    path.write_text(f"{head}\n\n{body}\n")


if __name__ == "__main__":
    main()
