"""The data on which peers are compared: simulated worlds, paper scale, real sets at one origin."""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from peer_fits import PeerData
from real_sets import SETS, load_set
from worlds import paper_scale, reference_worlds, word_panel

from driftglm.evaluation.contestants import split_pipeline
from driftglm.simulate import simulate_panel

WORLDS = ("const", "rw", "mixed", "switch")
FREE = 10.0
"""Peers have no common way to leave a column unpenalised: it is made this much larger."""
ABOUT = {
    "small": "A panel drawn from the model: 20 features, 8 steps of 60 rows; small enough "
    "for all. One draw, in which the intercept's last jump is most of everyone's error.",
    "const": "Simulated world: 40 of 1,000 binary features matter, all constant; 8 steps of 300.",
    "rw": "The same, coefficients are random walks.",
    "mixed": "The same, a quarter each constant, random walk, autoregression, switch.",
    "switch": "The same, coefficients switch on or change sign at one step.",
    "paper": "The paper's size: 10,000 binary words, nine steps, sparse.",
    "mda10k_vol": "Words of annual reports and the past volatility (times ten, which all but frees "
    "it of a penalty; driftglm is told to keep it), year 2023 predicted.",
    "elec2": "Whether the price of electricity goes up, the last of 30-day steps predicted.",
    "bike_hour": "Bikes rented in an hour, the last month predicted.",
    "beige_fomc": "Words of the Beige Book and the FOMC by source and state, 2006 predicted.",
}


def load(name, *, quick=False):
    """A data set, or None where it is absent."""
    if name == "small":
        return small()
    if name == "paper":
        return paper(quick=quick)
    return world(name, quick=quick) if name in WORLDS else real(name, quick=quick)


def small():
    """Few features: the only set on which state space models can compete."""
    panel = simulate_panel(n_features=20, n_active=6, rows_per_step=60, n_timesteps=8)
    return PeerData(
        "small", "gaussian", panel.X, panel.y, panel.time, panel.X_next, panel.y_next
    )  # fmt: skip


def world(name, *, quick):
    """One of the four reference worlds."""
    worlds = reference_worlds()
    if worlds is None:
        return None
    sizes = {"rows_per_step": 60, "n_features": 60, "n_active": 10, "n_steps": 5} if quick else {}
    X, y, time, X_next, y_next, _, _ = worlds.scenario(name, 0, **sizes)
    return PeerData(name, "gaussian", X, y, time, X_next, y_next)


def paper(*, quick):
    """Paper scale, or a sparse panel of the same kind and little size."""
    if quick:
        X, y, time, _ = word_panel(0, 1500, 300, 6)
        past = time < time.max()
        (X, y, time), (X_next, y_next) = (X[past], y[past], time[past]), (X[~past], y[~past])
    else:
        (X, y, time), (X_next, y_next) = paper_scale()
    return PeerData("paper", "gaussian", X, y, time, X_next, y_next)


def real(name, *, quick):
    """A real set at its last origin: fitted to all steps before the last one."""
    found = load_set(name, quick=quick)
    if found is None:
        return None
    fold = found.splitter.folds(found.time, found.time.size)[-1]
    select, _, _ = split_pipeline(found.models["learned"])
    X, X_next = found.X[fold.train], found.X[fold.test]
    if select is not None:
        X, X_next = select.fit_transform(X), select.transform(X_next)
    _, step = np.unique(found.time[fold.train], return_inverse=True)
    y = np.asarray(found.y, dtype=np.float64)
    data = PeerData(name, FAMILY[name], X, y[fold.train], step, X_next, y[fold.test])
    if name in {"elec2", "bike_hour"}:
        return standardised(data)
    data = replace(data, X=sp.csr_matrix(X), X_next=sp.csr_matrix(X_next))
    return with_free_column(data) if name == "mda10k_vol" else data


def standardised(data):
    """Columns over their standard deviation in the training rows."""
    deviation = data.X.std(axis=0)
    deviation[deviation == 0.0] = 1.0
    return replace(data, X=data.X / deviation, X_next=data.X_next / deviation)


def with_free_column(data):
    """The last column (past volatility) made larger, and named as one to keep."""
    last = data.X.shape[1] - 1
    scale = sp.diags(np.append(np.ones(last), FREE))
    X, X_next = sp.csr_matrix(data.X @ scale), sp.csr_matrix(data.X_next @ scale)
    return replace(data, X=X, X_next=X_next, always_in=(last,))


FAMILY = {
    "mda10k_vol": "gaussian",
    "elec2": "binomial",
    "bike_hour": "poisson",
    "beige_fomc": "text",
}
NAMES = ("small", *WORLDS, "paper", *SETS)
