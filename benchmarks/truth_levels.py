"""What the exact posterior says of a factor with and without one of its levels.

One factor at a time, all else (intercept, steps, other columns) taken out of y and of the levels by
least squares, noise known. Each level is zero with probability .5, else normal, all with one
variance from a grid whose six values are equally likely beforehand. The posterior is a sum over
every set of levels and every variance: there is nothing to converge and nothing is factorised.
"""

import numpy as np
import pandas as pd

VARIANCES = np.array([0.003, 0.01, 0.03, 0.1, 0.3, 1.0])
"""Of coefficients, in noise variances."""
AT_ONCE = 4096
ZERO = 0.5
"""Inclusion up to which a level is next to zero."""


def exact(gram, products, variances):
    """(p,) inclusion and mean by enumeration; `gram` and `products` in units of the noise."""
    p = len(products)
    sets = (np.arange(2**p)[:, None] >> np.arange(p) & 1).astype(float)
    evidence, means = [], []
    for variance in variances:
        variance = np.broadcast_to(variance, p)  # noqa: PLW2901
        for some in np.array_split(sets, max(1, len(sets) // AT_ONCE)):
            precision = some[:, :, None] * gram * some[:, None, :] + np.diag(1.0 / variance)
            given = some * products
            mean = np.linalg.solve(precision, given[:, :, None])[:, :, 0]
            size = np.linalg.slogdet(precision)[1] + np.log(variance).sum()
            evidence.append(0.5 * ((given * mean).sum(axis=1) - size))
            means.append(mean)
    weight = np.exp(np.concatenate(evidence) - max(map(np.max, evidence)))
    weight /= weight.sum()
    return weight @ np.tile(sets, (len(variances), 1)), weight @ np.concatenate(means)


def alone(X, y, time, levels):
    """Levels and y without what the other columns and the steps explain, noise and spread of y."""
    steps = pd.get_dummies(pd.Series(time), dtype=float).to_numpy()
    others = np.column_stack([steps, X.drop(columns=levels)])
    u, size, _ = np.linalg.svd(others / np.linalg.norm(others, axis=0), full_matrices=False)
    basis = u[:, size > 1e-8]  # full sets of other levels are collinear
    left, target = (part - basis @ (basis.T @ part) for part in (X[levels].to_numpy(), y))
    residual = target - left @ np.linalg.lstsq(left, target, rcond=None)[0]
    return left, target, float(np.mean(residual**2)), float(np.std(y - residual))


def of_factor(X, y, time, levels, fits):
    """One row a level: what dropping it does to the exact posterior, and to ours of all columns.

    `fits` gives (inclusion, predictions) of the fit to some columns, by their names.
    """
    left, target, noise, spread = alone(X, y, time, levels)
    gram, products, variances = left.T @ left / noise, left.T @ target / noise, noise * VARIANCES
    every = np.arange(len(levels))
    inclusion, mean = exact(gram, products, variances)
    all_in, first = fits(list(X))
    rows = []
    for gone in every:
        kept = np.delete(every, gone)
        found, coef = exact(gram[np.ix_(kept, kept)], products[kept], variances)
        apart = left @ mean - left[:, kept] @ coef
        ours, then = fits([name for name in X if name != levels[gone]])
        gap = (ours - all_in.drop(levels[gone])).abs()
        same = gap.index.isin(levels)
        rows.append({
            "dropped": levels[gone],
            "its inclusion": inclusion[gone],
            "predictions": np.sqrt(np.mean(apart**2)) / spread,
            "inclusion": np.abs(found - inclusion[kept]).max(),
            "ours: predictions": np.sqrt(np.mean((then - first) ** 2)) / first.std(),
            "ours: inclusion": gap[same].max(),
            "ours: other columns": gap[~same].max(),
        })  # fmt: skip
    return pd.DataFrame(rows)


def sampled(X, dropped, fits):
    """A row a set of levels dropped: what that does to a sampled and to a factorised posterior.

    `dropped` are pairs of levels that go and of all columns of their factors; `fits` are functions
    by name, as in `of_factor`.
    """
    rows = []
    whole = {name: fit(list(X)) for name, fit in fits.items()}
    for gone, levels in dropped:
        row = {"dropped": ", ".join(gone)}
        for name, fit in fits.items():
            found, then = fit([column for column in X if column not in gone])
            inclusion, first = whole[name]
            gap = (found - inclusion[found.index]).abs()
            same = gap.index.isin(levels)
            row |= {
                f"{name}: predictions": np.sqrt(np.mean((then - first) ** 2)) / first.std(),
                f"{name}: levels": gap[same].max(),
                f"{name}: other columns": gap[~same].max(),
            }
        rows.append(row)
    return pd.DataFrame(rows)


def two_factors(seed):
    """X, y, time: three levels that go along with eight others, half of all without an effect."""
    rng = np.random.default_rng(seed)
    time = np.repeat(np.arange(8), 150)
    together = rng.dirichlet(np.full(3, 0.7), 8)
    many = rng.integers(0, 8, time.size)
    few = np.array([rng.choice(3, p=together[k]) for k in many])
    effects = [
        size * rng.normal(size=n) * (rng.random(n) < 0.5) for n, size in ((3, 0.25), (8, 0.35))
    ]
    numbers = rng.normal(size=(time.size, 4))
    X = pd.DataFrame(numbers, columns=[f"x{j}" for j in range(4)])
    X = X.join(pd.get_dummies(pd.Series(few), prefix="few", dtype=float))
    X = X.join(pd.get_dummies(pd.Series(many), prefix="many", dtype=float))
    eta = effects[0][few] + effects[1][many] + numbers @ [0.3, 0.1, 0.0, 0.0]
    return X, eta + rng.normal(size=time.size), time


def against_draws(X, fits):
    """How far inclusion and predictions of the other fits are from those of the first, sampled."""
    (truth, first), *others = [fit(list(X)) for fit in fits.values()]
    row = {}
    for name, (inclusion, found) in zip(list(fits)[1:], others, strict=True):
        gap = (inclusion - truth).abs()
        row |= {
            f"{name}: inclusion": gap.mean(),
            f"{name}: most": gap.max(),
            f"{name}: predictions": np.sqrt(np.mean((found - first) ** 2)) / first.std(),
        }
    return row


def moved(X, levels, fits):
    """By how much columns that are no levels move at most when one is dropped, each in turn.

    The last of the fits looks at the level alone that moves those of the fit before it most.
    """
    found, worst = {}, levels[0]
    for name, fit in fits.items():
        whole, _ = fit(list(X))
        gaps = {}
        for gone in levels if name != list(fits)[-1] else [worst]:
            then, _ = fit([column for column in X if column != gone])
            rest = [column for column in X if column not in levels]
            gaps[gone] = (then - whole)[rest].abs().max()
        worst = max(gaps, key=gaps.get)
        found[f"{name}: others move"] = gaps[worst]
    return found


def summed_up(table):
    """Largest differences where the level dropped is next to zero, and elsewhere."""
    said = []
    near = table["its inclusion"] <= ZERO
    for what, part in (("at most .5", table[near]), ("above .5", table[~near])):
        worst = part.max(numeric_only=True)
        said.append(
            f"{len(part)} levels whose inclusion is {what}: exact predictions differ by up to "
            f"{worst['predictions']:.3f} of their spread, inclusion of other levels by up to "
            f"{worst['inclusion']:.2f}; ours {worst['ours: predictions']:.3f}, "
            f"{worst['ours: inclusion']:.2f}, and {worst['ours: other columns']:.2f} for columns "
            "that are no levels of the factor."
        )
    return " ".join(said)
