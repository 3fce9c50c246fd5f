"""The four real data sets: how they are read, split and fitted, in one place for all benchmarks.

The data are not part of the project; they are looked for in the folder named by DRIFTGLM_DATA, or
in ../shared/data beside the project. A set that is absent is None.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from driftglm import DriftClassifier, DriftPoissonRegressor, DriftRegressor, DriftTextModel
from driftglm.baselines import LassoAll, LassoOne, RidgeAll, RidgeOne, RidgeTS
from driftglm.evaluation import RollingOrigin, compare
from driftglm.experiments.words import WordSelector

ROOT = Path(__file__).resolve().parents[1]
PAST = [-1]
"""The past volatility is the last column, and always in."""
QUICK_WORDS = 200
WINDOWS = ("ridge-3", "ridge-6", "lasso-3", "lasso-6")


@dataclass(frozen=True)
class RealSet:
    """Rows, splits and contestants.

    Parameters
    ----------
    about
        One sentence for a page.
    models
        The contestants; the same names in every set.
    intervals
        Whether `predict_interval` is about y itself, so that coverage can be counted.
    digits
        Digits of the loss that are worth showing.
    reference
        Models shown for comparison that do not compete.
    earlier
        Steps before the test steps on which intervals are counted as well.
    """

    about: str
    X: Any
    y: Any
    time: np.ndarray
    splitter: RollingOrigin
    models: dict[str, Any]
    intervals: bool = False
    digits: int = 4
    reference: dict[str, Any] = field(default_factory=dict)
    earlier: tuple[int, ...] = ()

    def contest(self, models, **options):
        """These models on this set; `options` as in `compare`."""
        return compare(models, self.X, self.y, self.time, self.splitter, **options)


def data_folder(name, probe=""):
    """Where a data set lies, or None; `probe` is a file that must be there."""
    given = os.environ.get("DRIFTGLM_DATA")
    path = (Path(given) if given else ROOT.parent / "shared" / "data") / name
    return path if (path / probe).exists() else None


def load_set(name, *, quick=False):
    """A data set by name, or None where it is absent; `quick`: few rows, words and test steps."""
    return SETS[name](quick)


def contestants(estimator, *, baseline=None, drift=None, selector=None):
    """Nine baselines and three priors, behind a selector of words where one is given."""
    same, drift = baseline or {}, drift or {}
    models = {
        "ridge-one": RidgeOne(**same),
        "ridge-3": RidgeAll(window=3, **same),
        "ridge-6": RidgeAll(window=6, **same),
        "ridge-all": RidgeAll(**same),
        "ridge-ts": RidgeTS(**same),
        "lasso-one": LassoOne(**same),
        "lasso-3": LassoAll(window=3, **same),
        "lasso-6": LassoAll(window=6, **same),
        "lasso-all": LassoAll(**same),
        "exact": estimator(prior="exact", **drift),
        "variational": estimator(prior="variational", **drift),
        "learned": estimator(**drift),
    }
    if selector is None:
        return models
    return {name: make_pipeline(selector, model) for name, model in models.items()}


def with_dummies(table, numbers, kinds):
    """Numeric columns and a dummy for every value of the others, as numbers."""
    parts = [table[numbers].astype(float)]
    parts += [pd.get_dummies(table[kind], prefix=kind, dtype=float) for kind in kinds]
    return pd.concat(parts, axis=1).to_numpy()


def elec2(quick=False):
    """Electricity prices."""
    folder = data_folder("elec2")
    if folder is None:
        return None
    table = pd.read_csv(folder / "elec2.csv.gz")
    numbers = ["nswprice", "nswdemand", "vicprice", "vicdemand", "transfer"]
    X = with_dummies(table, numbers, ["half_hour", "dow"])
    # Every fifth half hour still meets all 48 of them.
    rows = slice(None, None, 5 if quick else 1)
    return RealSet(
        "Whether the price of electricity goes up: 45,312 half hours, 30 days a step.",
        X[rows],
        table["up"].to_numpy().astype(int)[rows],
        table["timestep"].to_numpy()[rows],
        RollingOrigin(dev=13, test=[14, 15] if quick else list(range(14, 31))),
        contestants(DriftClassifier, baseline={"family": "binomial", "standardize": True}),
    )


def bike_hour(quick=False):
    """Bike rentals."""
    folder = data_folder("bike_hour")
    if folder is None:
        return None
    table = pd.read_csv(folder / "bike_hour.csv.gz")
    kinds = ["hr", "weekday", "workingday", "weathersit", "holiday"]
    X = with_dummies(table, ["temp", "hum", "windspeed"], kinds)
    rows = slice(None, None, 5 if quick else 1)
    return RealSet(
        "Bikes rented in an hour: 17,379 hours, a month a step.",
        X[rows],
        table["cnt"].to_numpy().astype(float)[rows],
        table["timestep"].to_numpy()[rows],
        RollingOrigin(dev=7, test=[8, 9] if quick else list(range(8, 24))),
        contestants(DriftPoissonRegressor, baseline={"family": "poisson", "standardize": True}),
        intervals=True,
        earlier=(7,) if quick else tuple(range(3, 8)),
    )


def mda10k_vol(quick=False):
    """Annual reports; words are ranked anew in the training rows of every origin."""
    folder = data_folder("mda10k_vol", "counts.npz")
    if folder is None:
        return None
    reports = pd.read_csv(folder / "docs.csv.gz")
    counts = sp.load_npz(folder / "counts.npz").astype(np.float64)
    past = sp.csr_matrix(reports["logvol_m12"].to_numpy()[:, None])
    selector = WordSelector(first=101, last=100 + QUICK_WORDS if quick else 10_100, n_extra=1)
    always = {"always_in": PAST}
    past_only = make_pipeline(FunctionTransformer(last_column), LinearRegression())
    return RealSet(
        "Log volatility in the year after an annual report, from its words and from the year "
        "before: 3,127 reports, a filing year a step, 10,000 words ranked anew at every origin.",
        sp.csr_array(sp.hstack([counts, past])),
        reports["logvol_p12"].to_numpy(),
        reports["year"].to_numpy(),
        RollingOrigin(dev=2019, test=[2022, 2023] if quick else [2020, 2021, 2022, 2023]),
        contestants(DriftRegressor, baseline=always, drift=always, selector=selector),
        intervals=True,
        reference={"past only": past_only},
        earlier=(2019,) if quick else tuple(range(2008, 2020)),
    )


def last_column(X):
    """The past volatility alone."""
    return X[:, [-1]].toarray()


def beige_fomc(quick=False):
    """Beige Book and FOMC; words are ranked anew in the training documents of every origin."""
    # Imported here: it needs numba at once, and the other sets do not need it.
    from beige_fomc import FIRST, LAST, YEARS, find_data, load

    folder = find_data()
    if folder is None:
        return None
    counts, effects, years, _, _ = load(folder, YEARS[0])
    selector = WordSelector(first=FIRST, last=FIRST + QUICK_WORDS if quick else LAST, binary=False)
    return RealSet(
        "Which words a document of the Beige Book or the FOMC uses, given its source and 51 "
        "states: 1,244 documents, a year a step, 5,001 words ranked anew at every origin.",
        sp.csr_array(counts),
        effects,
        years,
        RollingOrigin(dev=2003, test=list(YEARS[-1:] if quick else YEARS)),
        contestants(DriftTextModel, baseline={"family": "text"}, selector=selector),
        digits=2,
    )


SETS = {
    "mda10k_vol": mda10k_vol,
    "elec2": elec2,
    "bike_hour": bike_hour,
    "beige_fomc": beige_fomc,
}
