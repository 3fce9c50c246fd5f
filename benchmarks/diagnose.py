"""How often `diagnose` finds what was planted, and how often something where nothing was.

    python benchmarks/diagnose.py [--clean 200] [--families 100] [--planted 20] [--seed 0] [--hard]

Panels are drawn from the model, of sizes that differ from panel to panel: 6 to 40 steps of 30 to
300 rows and 5 to 200 features. A fault is planted by changing y; the model is then fitted as a user
would fit it, and asked by `model.diagnose()`. A fault counts as found if its own check is among the
findings. Panels of counts and of two classes are clean ones only.
With `--hard`, faults are planted that are too small, or that leave too little, to be found always.
"""

import argparse
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
from scipy.signal import lfilter

from driftglm import DriftGLM
from driftglm.simulate import Panel, simulate_panel

UNITS = {4: "Q", 12: "M"}
"""Steps that make a year, and what pandas calls them."""


@dataclass(frozen=True)
class Case:
    """A panel, how it is fitted and how many steps make a year (None: steps are numbers)."""

    panel: Panel
    family: str = "gaussian"
    fit_intercept: bool = True
    period: int | None = None

    @property
    def time(self):
        """Steps as a user has them."""
        if self.period is None:
            return self.panel.time
        unit = UNITS[self.period]
        first = pd.Period("2001-01", unit).ordinal
        return pd.PeriodIndex.from_ordinals(first + self.panel.time, freq=unit)

    def checks_with_findings(self):
        """Names of the checks that find something."""
        model = DriftGLM(family=self.family, fit_intercept=self.fit_intercept)
        model.fit(self.panel.X, self.panel.y, time=self.time)
        return set(model.diagnose()["check"])

    @property
    def noise(self):
        """The errors that were drawn."""
        return self.panel.y - self.panel.mean

    def with_noise(self, noise, **changes):
        """The same panel with other errors."""
        return replace(self, panel=replace(self.panel, y=self.panel.mean + noise), **changes)


def clean(rng, steps=(6, 12, 24, 40), rows=(30, 100, 300), family="gaussian", **fixed):
    """A panel the model is right about."""
    n_timesteps = int(rng.choice(steps))
    panel = simulate_panel(
        n_timesteps=n_timesteps,
        rows_per_step=int(rng.choice(rows)),
        n_features=int(rng.choice((5, 20, 50, 200))),
        n_active=int(rng.integers(1, 9)),
        rate=float(rng.choice((0.0, 20.0, 100.0))),
        scale=float(rng.choice((0.1, 0.25, 0.5))),
        family=family,
        random_state=rng,
        **fixed,
    )
    period = rng.choice((None, 4, 12)) if n_timesteps >= 24 else None
    return Case(panel, family=family, period=period)


def dependent_rows(rng):
    """Errors of rows next to each other follow an AR(1) of 0.3 inside a step."""
    case = clean(rng)
    noise = case.noise
    for step in np.unique(case.panel.time):
        own = case.panel.time == step
        noise[own] = lfilter([np.sqrt(1 - 0.3**2)], [1, -0.3], noise[own])
    return case.with_noise(noise)


def step_effect(rng):
    """Every step has an effect of its own that persists (0.8), and no intercept is fitted."""
    case = clean(rng, intercept=0.0)
    n = int(case.panel.time.max()) + 1
    effect = 0.3 * lfilter([np.sqrt(1 - 0.8**2)], [1, -0.8], rng.normal(size=n + 20))[20:]
    return case.with_noise(case.noise + effect[case.panel.time], fit_intercept=False)


def heavy_tails(rng):
    """Student errors with 3 degrees of freedom."""
    case = clean(rng)
    return case.with_noise(0.5 * rng.standard_t(3, case.panel.y.size) / np.sqrt(3))


def moving_noise(rng):
    """The standard deviation of the noise is log-normal over steps (0.4)."""
    case = clean(rng)
    scale = np.exp(0.4 * rng.normal(size=int(case.panel.time.max()) + 1))
    return case.with_noise(case.noise * scale[case.panel.time])


def season(rng, size=0.5):
    """A season of twelve months, as large as the noise; the intercept path may follow it."""
    case = clean(rng, steps=(48, 72), rows=(5, 10, 30))
    shape = size * rng.normal(size=12)
    return case.with_noise(case.noise + shape[case.panel.time % 12], period=12)


def wild_step(rng, share=0.3):
    """Three in ten rows of one step are off by about five standard deviations."""
    case = clean(rng, steps=(6, 12, 24))
    time = case.panel.time
    wrong = (time == rng.integers(time.max() + 1)) & (rng.random(time.size) < share)
    return case.with_noise(case.noise + wrong * 2.5 * rng.normal(size=time.size))


def shifted_step(rng, steps=(24, 40)):
    """One of 24 or 40 steps is shifted by five standard deviations; the intercept follows it."""
    case = clean(rng, steps=steps)
    time = case.panel.time
    return case.with_noise(case.noise + 2.5 * (time == rng.integers(1, time.max())))


def skewed(rng, rows=(100, 300)):
    """Errors of a shifted gamma distribution of shape 2; at least 600 rows."""
    case = clean(rng, rows=rows)
    return case.with_noise(0.5 * (rng.gamma(2.0, size=case.panel.y.size) - 2) / np.sqrt(2))


FAULTS = {
    "neighbours": dependent_rows,
    "steps": step_effect,
    "tails": heavy_tails,
    "noise": moving_noise,
    "season": season,
    "wild step": wild_step,
    "shifted step": shifted_step,
    "pit": skewed,
}

HARD = {
    "an intercept is fitted": ("steps", lambda rng: replace(step_effect(rng), fit_intercept=True)),
    "season 0.7 of the noise": ("season", partial(season, size=0.35)),
    "season 0.5 of the noise": ("season", partial(season, size=0.25)),
    "2 in 10 rows are wild": ("wild step", partial(wild_step, share=0.2)),
    "1 of 12 steps is shifted": ("shifted step", partial(shifted_step, steps=(12,))),
    "skewed, 30 rows a step": ("pit", partial(skewed, rows=(30,))),
}


def found_in(make, n_panels, seed):
    """How many panels have a finding, and how many have each."""
    names = [make(np.random.default_rng([seed, i])).checks_with_findings() for i in range(n_panels)]
    return sum(map(bool, names)), Counter(name for each in names for name in each)


def main():
    """Print how often faults are found, and how often there is one where none was planted."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--clean", type=int, default=200, help="panels without a fault")
    parser.add_argument("--families", type=int, default=100, help="such of counts and of classes")
    parser.add_argument("--planted", type=int, default=20, help="panels of each fault")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hard", action="store_true", help="faults that are hard to find")
    options = parser.parse_args()
    faults = HARD if options.hard else {check: (check, make) for check, make in FAULTS.items()}
    for name, (check, make) in faults.items():
        _, counts = found_in(make, options.planted, options.seed)
        others = ", ".join(f"{other} {n}" for other, n in counts.most_common() if other != check)
        print(
            f"{name:<25} found in {counts[check]:>3} of {options.planted}   also: {others or '-'}"
        )
    for family in ("gaussian", "poisson", "binomial"):
        n_panels = options.clean if family == "gaussian" else options.families
        anything, counts = found_in(partial(clean, family=family), n_panels, options.seed)
        print(f"{'clean ' + family:<25} any in {anything:>5} of {n_panels}   {dict(counts)}")


if __name__ == "__main__":
    main()
