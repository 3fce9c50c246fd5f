"""What the exact posterior of one coefficient path covers, all but its law being known.

A path is zero, constant or drifting by one of the laws of the library's grid. Given what the other
paths are, the weights of laws integrate out: a law is as likely as its share of the prior's
features and of the other paths. Every law is then a dense Gaussian computation: no passes, no
bound, no code of a fit.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtr
from scipy.stats import norm

from driftglm.priors import Learned
from driftglm.priors.weights import prior_counts, start_weights

LEVEL = 0.9
ZERO_LIKE = 3
"""Of the other four columns of a panel three are zero; the fourth is constant."""
STRONG = 5.0
"""Standard errors, of the constant estimate, from which a path cannot be zero."""


@dataclass(frozen=True)
class Laws:
    """Covariances (K, T, T) of the laws, what they are, and their probabilities (K,)."""

    covariance: np.ndarray
    kind: np.ndarray
    chance: np.ndarray

    @classmethod
    def of(cls, variance, n_rows, n_steps, constant=0.7, counts=None):
        """Of a panel whose y has this variance; the other column that matters is `constant`.

        `counts` are the features the prior counts for: zero, constant, drifting; None: its own.
        """
        grid = Learned().components(variance, n_rows, n_steps)
        kind = np.where(grid.is_zero, "zero", np.where(grid.is_static, "constant", "drifting"))
        pi = start_weights(Learned(), grid, np.zeros(1, dtype=bool))
        added = prior_counts(Learned(), grid, pi)[0]
        if counts is not None:
            for name, count in zip(("zero", "constant", "drifting"), counts, strict=True):
                added[kind == name] *= count / added[kind == name].sum()
        other = np.zeros(grid.count)
        flat = kind == "constant"
        other[flat] = norm.pdf(constant, scale=np.sqrt(grid.static[flat]))
        chance = added + ZERO_LIKE * (kind == "zero") + other / other.sum()
        steps = np.arange(n_steps)
        away = np.abs(steps[:, None] - steps)
        covariance = grid.static[:, None, None] + np.zeros(away.shape)
        covariance += grid.dynamic[:, None, None] * grid.rho[:, None, None] ** away
        return cls(covariance, kind, chance / chance.sum())

    def drawn(self, n, rng):
        """(n, T) paths and (n,) what they are."""
        which = rng.choice(self.chance.size, n, p=self.chance)
        values, vectors = np.linalg.eigh(self.covariance)
        roots = vectors * np.sqrt(np.maximum(values, 0.0))[:, None]
        normal = rng.normal(size=(n, self.covariance.shape[1]))
        return np.einsum("nts,ns->nt", roots[which], normal), self.kind[which]

    def posterior(self, information, linear):
        """(n, K) probabilities, (n, K, T) means and (K, T) deviations; `linear` is (n, T)."""
        eye = np.eye(len(information))
        inner = eye + self.covariance @ information
        variance = np.linalg.solve(inner, self.covariance)
        means = np.einsum("kts,ns->nkt", variance, linear)
        fit = 0.5 * np.einsum("nkt,nt->nk", means, linear) - 0.5 * np.linalg.slogdet(inner)[1]
        log_phi = fit + np.log(self.chance)
        phi = np.exp(log_phi - log_phi.max(axis=1, keepdims=True))
        spread = np.sqrt(np.maximum(np.einsum("ktt->kt", variance), 0.0))
        return phi / phi.sum(axis=1, keepdims=True), means, spread


def read(laws, information, linear, truth, rng):
    """What intervals of paths hold: (n, T) by quantiles and by deviations, drift and width.

    At zero, where a probability sits, a quantile is drawn. Width: deviations over that of a
    constant.
    """
    phi, means, spread = laws.posterior(information, linear)
    away = np.where(spread > 0, truth[:, None] - means, 0.0)
    below = ndtr(away / np.where(spread > 0, spread, 1.0))
    point = laws.kind == "zero"
    at = truth[:, None]
    below[:, point] = np.where(at > 0, 1.0, np.where(at < 0, 0.0, rng.random((len(at), 1, 1))))
    reached = np.einsum("nk,nkt->nt", phi, below)
    mean = np.einsum("nk,nkt->nt", phi, means)
    deviation = np.sqrt(np.einsum("nk,nkt->nt", phi, spread**2 + means**2) - mean**2)
    tail, reach = (1 - LEVEL) / 2, norm.ppf((1 + LEVEL) / 2)
    return {
        "quantiles": ((tail <= reached) & (reached <= 1 - tail)).mean(axis=1),
        "deviations": (np.abs(truth - mean) <= reach * deviation).mean(axis=1),
        "drift": phi[:, laws.kind == "drifting"].sum(axis=1),
        "width": deviation.mean(axis=1) * np.sqrt(information.sum()),
    }


def of_rows(X, y, step, group, j):
    """Information (T, T) and linear term (T,) of path j; unit variances of rows and of groups.

    Levels of steps and the constant coefficients of other columns are unknown, their priors flat.
    """
    by_step = (step[:, None] == np.arange(step.max() + 1)).astype(float)
    members = np.bincount(group)

    def solved(z):
        sums = np.array([np.bincount(group, each) for each in np.atleast_2d(z.T)])
        return z - (sums / (1.0 + members)).T[group].reshape(z.shape)

    path, rest = X[:, [j]] * by_step, np.column_stack([by_step, np.delete(X, j, axis=1)])
    cross = rest.T @ solved(path)
    taken = np.linalg.solve(rest.T @ solved(rest), np.column_stack([cross, rest.T @ solved(y)]))
    n_steps = by_step.shape[1]
    information = path.T @ solved(path) - cross.T @ taken[:, :n_steps]
    return information, path.T @ solved(y) - cross.T @ taken[:, n_steps]


def exact_panel(X, y, step, group, truth):
    """`read` of the second column of a panel, and whether least squares of a constant holds it."""
    information, linear = of_rows(X, y, step, group, 1)
    laws = Laws.of(y.var(), y.size, len(information))
    path = np.full((1, len(linear)), truth)
    values = read(laws, information, linear[None], path, np.random.default_rng(0))
    known, reach = information.sum(), norm.ppf((1 + LEVEL) / 2)
    constant = abs(linear.sum() / known - truth) <= reach / np.sqrt(known)
    return {name: float(each[0]) for name, each in values.items()} | {"constant": float(constant)}


PRIORS = {
    "the library's prior": None,
    "as many constant as drifting": (3.0, 1.5, 1.5),
    "one of thirty drifting": (3.0, 2.9, 0.1),
}


def simulated(n, information=129.0, n_steps=6, variance=2.7, seed=0):
    """Coverage by prior of constants, of walks, and of paths drawn from the prior itself.

    The information of a step is what 150 rows and unknown effects leave.
    """
    rng, known = np.random.default_rng(seed), information * np.eye(n_steps)
    walks = np.cumsum(rng.normal(size=(n, n_steps)), axis=1)
    truths = {"constant .5": np.full((n, n_steps), 0.5)}
    truths |= {f"walk from .5 in moves of {s}": 0.5 + s * walks for s in (0.05, 0.1, 0.2)}
    out = []
    for label, counts in PRIORS.items():
        laws = Laws.of(variance, 150 * n_steps, n_steps, counts=counts)
        drawn, kind = laws.drawn(n, rng)
        for name, truth in {**truths, "drawn from the prior": drawn}.items():
            noise = np.sqrt(information) * rng.normal(size=truth.shape)
            linear = truth * information + noise
            found = pd.DataFrame(read(laws, known, linear, truth, rng))
            rows = {name: np.ones(n, dtype=bool)}
            if name.startswith("drawn"):
                strong = np.abs(linear.sum(axis=1)) > STRONG * np.sqrt(n_steps * information)
                rows["drawn, and strong"] = strong
                rows |= {f"drawn, strong and {k}": strong & (kind == k) for k in np.unique(kind)}
            for row, which in rows.items():
                if which.sum() > n // 100:
                    out.append({"prior": label, "path": row, **found[which].mean()})
    return pd.DataFrame(out)
