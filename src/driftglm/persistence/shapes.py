"""What must agree inside the records of a file; kernels do not check it."""

from __future__ import annotations

from typing import Any

import numpy as np

MOST_STEPS = 10**6
"""A time axis makes its labels when it is made, so that a forged length could fill memory."""

SHAPES: dict[str, dict[str, str]] = {
    "SharedFit": {"i": "mean", "ir": "root"},
    "Columns": {"p": "always_in", "tp": "center"},
    "ColumnNotes": {"p": "still time_only ids twin correlation narrow"},
    "ColumnSizes": {"p": "importance spread within still"},
    "Components": {"k": "static dynamic rho"},
    "SeasonalComponents": {"k": "static dynamic rho seasonal recurrence"},
    "Draws": {
        "m": "features",
        "csmt": "paths",
        "csm": "static component",
        "cslt": "intercepts",
        "csr": "shared",
        "ir": "basis",
        "cst": "noise",
        "cs": "noise_level noise_component shape n_included",
        "ia": "ahead",
    },
    "Forecaster": {"t": "noise"},
    "History": {"sk": "weights", "k": "prior"},
    "TextForecasters": {"bv": "bases"},
    "StepScores": {"nk": "log_density", "n": "weight", "k": "mean"},
    "InterceptFit": {"lt": "mean variance h b", "lc": "dynamics", "l": "scale static offset"},
    "GroupFit": {"g": "mean variance", "c": "keys cell_mean cell_variance"},
    "JointFit": {
        "m": "features static",
        "tmm": "correlation",
        "mr": "dynamic",
        "r": "rho",
        "gg": "gram",
    },
    "Kinds": {"p": "codes"},
    "KindsFit": {"p": "codes", "g": "size share"},
    "ModeFit": {"it": "beta", "i": "alive static rho"},
    "NoisePath": {"kt": "mean variance h b", "k": "divergence phi"},
    "PosteriorFit": {
        "it": "beta variance h b",
        "ik": "phi",
        "gk": "log_pi",
        "k": "grid_positions",
        "i": "unit",
    },
    "SampledFit": {
        "it": "beta variance h b",
        "ik": "phi",
        "gk": "log_pi",
        "k": "grid_positions",
        "i": "unit",
    },
    "RowChecks": {
        "n": "residual codes",
        "t": "deviance null_deviance",
        "p": "minimum maximum",
    },
    "Rows": {"np": "X", "n": "codes weights exposure", "p": "always_in static"},
    "TextPosterior": {
        "vft": "mean variance h b",
        "vfk": "phi",
        "vf": "divergence",
        "gk": "log_pi",
        "n": "log_rate",
    },
    "TextMode": {"vft": "beta", "n": "log_rate"},
}
"""By record and axes, the fields; one letter is one length within a record."""


def agrees(name: str, record: Any) -> bool:
    """Whether a record fits the records it is made of."""
    alone = {"Forecaster": _same_noise, "History": _same_forecasters, "GroupFit": _sound_groups}
    alone |= dict.fromkeys(("Kinds", "KindsFit"), _known_kinds)
    if name in alone:
        return alone[name](record)
    if name == "Rows" and not _has_targets(record):
        return False
    if name == "SampledFit" and not _same_draws(record):
        return False
    if name in {"PosteriorFit", "SampledFit", "TextPosterior"}:
        path = record.mean if name == "TextPosterior" else record.beta
        expected = record.components.count, record.components.n_timesteps
        if expected != (record.phi.shape[-1], path.shape[-1]):
            return False
    if name in {"Rows", "RowChecks"}:
        return _known_rows(name, record)
    return name not in {"ModeFit", "PosteriorFit", "SampledFit"} or _same_steps(record)


def _known_rows(name: str, record: Any) -> bool:
    """Whether rows belong to steps there are, and votes to rows."""
    codes = record.codes
    n_steps = record.n_timesteps if name == "Rows" else record.deviance.size
    votes = codes if name == "Rows" or record.votes is None else record.votes
    known = not codes.size or bool(codes.min() >= 0 and codes.max() < n_steps)
    return known and votes.shape == codes.shape


def _same_noise(forecaster: Any) -> bool:
    lengths = {fit.n_timesteps for fit in forecaster.fits}
    if forecaster.noise_path is not None:
        lengths.add(forecaster.noise_path.mean.shape[1])
    return lengths == {forecaster.noise.size} and bool((forecaster.noise > 0).all())


def _sound_groups(fit: Any) -> bool:
    """Whether cells are in order, and of groups there are."""
    group = fit.keys // max(fit.stride, 1)
    rising = fit.keys.size > 0 and bool((np.diff(fit.keys) > 0).all())
    known = rising and group[0] >= 0 and group[-1] < fit.mean.size
    return known and fit.stride > 0 and fit.prior.shape == (2,) and bool((fit.prior >= 0).all())


def _same_forecasters(history: Any) -> bool:
    """Whether all is about the same forecasters and as many steps."""
    count = len(history.names)
    sizes = {each.mean.size for each in history.scores} | {history.weights.shape[1]}
    known = bool(np.isfinite(history.weights).all() and (history.weights >= 0).all())
    return sizes == {count} and len(history.weights) == len(history.scores) + 1 and known


def _same_draws(fit: Any) -> bool:
    """Whether draws are of paths and components there are, at as many steps."""
    compared = fit.agreement
    if compared is not None and compared.shape != (2, fit.columns.always_in.size):
        return False
    draws, (n_paths, n_steps) = fit.draws, fit.beta.shape
    features, component = draws.features, draws.component
    known = not features.size or (features.min() >= 0 and features.max() < n_paths)
    law = not component.size or (component.min() >= 0 and component.max() < fit.components.count)
    own = draws.intercepts.shape[2] == fit.intercepts.scale.size
    lengths = draws.paths.shape[-1], draws.ahead.shape, draws.basis.shape[0]
    some = draws.paths.shape[0] * draws.paths.shape[1] > 0 and bool((draws.noise > 0).all())
    return bool(known and law and own and some) and lengths == (n_steps, (n_paths, 2), n_paths)


def _known_kinds(record: Any) -> bool:
    """Whether every column is of a kind that has a name."""
    count = len(record.names)
    found = getattr(record, "size", None)  # what they are worth is known after a fit
    sized = found is None or found.size == count
    return sized and bool(((record.codes >= 0) & (record.codes < count)).all())


def _has_targets(rows: Any) -> bool:
    """Whether y has a number a row, or successes and failures."""
    columns = (2,) if rows.family.takes_trials else ()
    return bool(rows.y.shape == (rows.codes.size, *columns))


def _same_steps(fit: Any) -> bool:
    steps = fit.beta.shape[1], fit.intercepts.mean.shape[1], fit.columns.center.shape[0]
    same = len(set(steps)) == 1 and fit.beta.shape[0] == fit.shared.mean.shape[0]
    return same and _same_features(fit)


def _same_features(fit: Any) -> bool:
    joint = getattr(fit, "joint", None)  # a mode has none
    if joint is None:
        return True
    known = ((joint.features >= 0) & (joint.features < fit.columns.always_in.size)).all()
    size = joint.static.size * (1 + joint.rho.size)
    lengths = joint.correlation.shape[0], joint.gram.shape[0]
    return bool(known) and lengths == (fit.beta.shape[1], size)
