"""Two kinds of features: what hyperpriors of their own are worth on simulated panels.

    python benchmarks/kinds.py [--seeds 10] [--first 100] [--designs NAME ...] [--write PAGE]

1,000 sparse words, 30 of which matter, and 20 dense columns that drift. A model that knows the two
kinds (`feature_groups=`) against one that does not, mean squared error of the step after the last.
"""

import argparse
import os
import platform
import time as clock
import warnings
from dataclasses import dataclass, replace

import numba
import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from result_pages import write_page

from driftglm import DriftRegressor

N_WORDS, N_MACRO, N_ACTIVE = 1000, 20, 30
FIRST_SEED = 100
"""The designs were settled with a look at seeds below."""

INTRODUCTION = f"""# Two kinds of features

Simulated panels of 10 steps: {N_WORDS:,} words, each in about 3 % of the rows, {N_ACTIVE} of which
have a constant effect (standard deviation .3), and {N_MACRO} dense standard normal columns whose
effects all drift (stationary, autocorrelation .9 a step). Noise has variance 1. Both models are
`DriftRegressor()` as it comes; *own hyperpriors* has
`feature_groups={{"words": ..., "macro": ...}}`.

    python benchmarks/kinds.py --first {{first}} --write docs/results/kinds.md

Mean squared error of the step after the last, mean of {{seeds}} seeds; *known* is what it would be
with the true coefficients of that step.
"""


@dataclass(frozen=True)
class World:
    """Where panels are drawn from."""

    n_rows: int = 100
    n_steps: int = 10
    macro: float = 0.3
    word: float = 0.3
    rho: float = 0.9
    drifts: bool = True

    def draw(self, seed):
        """X, y, steps and the true eta; the last step is for testing."""
        rng = np.random.default_rng(seed)
        steps = np.repeat(np.arange(self.n_steps + 1), self.n_rows)
        share = 0.03 * np.exp(0.5 * rng.normal(size=N_WORDS))
        words = sp.csr_matrix((rng.random((steps.size, N_WORDS)) < share).astype(float))
        macro = rng.normal(size=(steps.size, N_MACRO))
        beta = np.zeros(N_WORDS)
        beta[rng.choice(N_WORDS, N_ACTIVE, replace=False)] = self.word * rng.normal(size=N_ACTIVE)
        path = self.macro * rng.normal(size=(self.n_steps + 1, N_MACRO))
        for t in range(1, self.n_steps + 1):
            path[t] = self.rho * path[t - 1] + np.sqrt(1 - self.rho**2) * path[t]
            if not self.drifts:
                path[t] = path[0]
        eta = words @ beta + np.einsum("ni,ni->n", macro, path[steps])
        y = eta + rng.normal(size=eta.size)
        return sp.csr_matrix(sp.hstack([words, macro])), y, steps, eta


DESIGNS = {
    "as described": World(),
    "weaker columns (.15)": World(macro=0.15),
    "stronger columns (.6)": World(macro=0.6),
    "50 rows a step": World(n_rows=50),
    "300 rows a step": World(n_rows=300),
    "slow drift (.98 a step)": World(rho=0.98),
    "constant columns": World(drifts=False),
}
ALIKE = "two kinds that are alike (words, at random)"


def kinds_of(seed, *, alike):
    """Which columns are of which kind."""
    if alike:
        first = np.random.default_rng(seed).random(N_WORDS + N_MACRO) < 0.5
        return {"one": first, "other half": ~first}
    words = np.arange(N_WORDS + N_MACRO) < N_WORDS
    return {"words": words, "macro": ~words}


def evaluate(world, seed, *, alike=False):
    """Losses of the test step without and with kinds, and with the truth."""
    warnings.simplefilter("ignore")
    X, y, steps, eta = world.draw(seed)
    past, now = np.flatnonzero(steps < world.n_steps), np.flatnonzero(steps == world.n_steps)
    found = []
    for groups in (None, kinds_of(seed, alike=alike)):
        model = DriftRegressor(feature_groups=groups).fit(X[past], y[past], time=steps[past])
        found.append(np.mean((y[now] - model.predict(X[now])) ** 2))
    return [*found, np.mean((y[now] - eta[now]) ** 2)]


def line(name, losses):
    """A row of the table."""
    alone, kinds, known = losses.mean(axis=0)
    wins = int((losses[:, 1] < losses[:, 0]).sum())
    change, middle = 100 * (kinds / alone - 1), 100 * np.median(losses[:, 1] / losses[:, 0] - 1)
    cells = f"{alone:.3f} | {kinds:.3f} | {change:+.1f} % | {middle:+.1f} % "
    cells += f"| {wins} of {len(losses)} | {known:.3f}"
    return f"| {name} | {cells} |"


def main():
    """A line a design."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10, help="panels of every design")
    parser.add_argument("--first", type=int, default=FIRST_SEED, help="the first seed")
    parser.add_argument("--designs", nargs="+", default=[*DESIGNS, ALIKE], help="their names")
    parser.add_argument("--jobs", type=int, default=2, help="fits at a time")
    parser.add_argument("--write", default="", help="the page to write")
    options = parser.parse_args()
    began = clock.perf_counter()
    head = (
        "| design | one hyperprior | own hyperpriors | change | median change | better in | known |"
    )
    lines = [head, "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    print("\n".join(lines), flush=True)
    designs = {name: (world, False) for name, world in DESIGNS.items()}
    designs[ALIKE] = replace(World(), macro=0.0), True
    for name in options.designs:
        world, alike = designs[name]
        seeds = range(options.first, options.first + options.seeds)
        tasks = (delayed(evaluate)(world, seed, alike=alike) for seed in seeds)
        lines.append(line(name, np.array(Parallel(n_jobs=options.jobs)(tasks))))
        print(lines[-1], flush=True)
    minutes = (clock.perf_counter() - began) / 60
    machine = f"Python {platform.python_version()}, numba {numba.__version__}, {os.cpu_count()}"
    lines.append(f"\n{minutes:.0f} minutes, {options.jobs} fits at a time ({machine} cores).")
    if options.write:
        top = INTRODUCTION.replace("{seeds}", str(options.seeds))
        top = top.replace("{first}", str(options.first))
        write_page(options.write, "\n".join([top, *lines]))


if __name__ == "__main__":
    main()
