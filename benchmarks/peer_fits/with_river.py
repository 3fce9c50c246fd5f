"""river: stochastic gradients, one pass over the rows in their order."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from peer_fits.data import SMALL, Linear, PeerData, mean_loss

RATES = (0.1, 0.03, 0.01, 0.003, 0.001, 1e-4, 1e-5)


class Online:
    """A linear model with plain gradient steps; dense columns are standardised on the way."""

    def prepare(self, data: PeerData) -> PeerData:
        """The rows in the order of their steps."""
        order = np.argsort(data.step, kind="stable")
        return replace(data, X=data.X[order], y=data.y[order], step=data.step[order])

    def fit(self, data: PeerData) -> Linear:
        """The learning rate on the last training step, then all rows."""
        last = np.flatnonzero(data.step == data.step.max())
        before = np.flatnonzero(data.step < data.step.max())
        errors = {}
        for rate in RATES:
            linear = _passed(data, before, rate)
            if linear is not None:
                error = mean_loss(data.family, data.y[last], linear.predict(data.X[last]))
                errors[rate] = error if np.isfinite(error) else np.inf
        every = np.arange(data.y.size)
        for rate in sorted(errors, key=errors.__getitem__):
            found = _passed(data, every, rate)
            if found is not None:
                return replace(found, chosen=f"learning rate {rate}")
        raise ArithmeticError("diverges with every learning rate")


def _passed(data: PeerData, rows: Any, rate: float) -> Linear | None:
    """One pass; None where it diverges."""
    with contextlib.suppress(OverflowError), np.errstate(all="ignore"):
        return _stepped(data, rows, rate)
    return None


def _stepped(data: PeerData, rows: Any, rate: float) -> Linear:
    optim = import_module("river.optim")
    kinds = import_module("river.linear_model")
    optimizer = optim.SGD(rate)
    if data.family == "binomial":
        model = kinds.LogisticRegression(optimizer=optimizer)
    else:
        losses = {"gaussian": optim.losses.Squared, "poisson": optim.losses.Poisson}
        model = kinds.LinearRegression(optimizer=optimizer, loss=losses[data.family]())
    scaler = None if data.sparse else import_module("river.preprocessing").StandardScaler()
    for row, y in zip(_dicts(data.X[rows]), data.y[rows].tolist(), strict=True):
        known = row
        if scaler is not None:
            scaler.learn_one(row)
            known = scaler.transform_one(row)
        model.learn_one(known, bool(y) if data.family == "binomial" else y)
    return _linear(data, model, scaler)


def _linear(data: PeerData, model: Any, scaler: Any) -> Linear:
    n_features = data.X.shape[1]
    coef = np.array([model.weights.get(i, 0.0) for i in range(n_features)])
    intercept = float(model.intercept)
    if scaler is not None:
        deviation = np.sqrt([scaler.vars[i] for i in range(n_features)])
        coef = np.divide(coef, deviation, out=np.zeros(n_features), where=deviation > 0)
        intercept -= float(coef @ [scaler.means[i] for i in range(n_features)])
    return Linear(data.family, coef, intercept, int((np.abs(coef) > SMALL).sum()))


def _dicts(X: Any) -> Iterator[dict[int, float]]:
    if isinstance(X, np.ndarray):
        for row in X:
            yield dict(enumerate(row.tolist()))
        return
    for first, last in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        part = slice(first, last)
        yield dict(zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True))
