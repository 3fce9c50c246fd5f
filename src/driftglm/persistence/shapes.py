"""What must agree inside the records of a file; kernels do not check it."""

from __future__ import annotations

from typing import Any

MOST_STEPS = 10**6
"""A time axis makes its labels when it is made, so that a forged length could fill memory."""

SHAPES: dict[str, dict[str, str]] = {
    "SharedFit": {"i": "mean", "ir": "root"},
    "Columns": {"p": "always_in", "tp": "center"},
    "Components": {"k": "static dynamic rho"},
    "Forecaster": {"t": "noise"},
    "InterceptFit": {"lt": "mean variance h b", "lc": "dynamics", "l": "scale static"},
    "ModeFit": {"it": "beta", "i": "alive static rho"},
    "PosteriorFit": {
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
    "Rows": {"np": "X", "n": "y codes weights exposure", "p": "always_in static"},
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
    if name == "Forecaster":
        lengths = {fit.n_timesteps for fit in record.fits}
        return lengths == {record.noise.size} and bool((record.noise > 0).all())
    if name in {"PosteriorFit", "TextPosterior"}:
        path = record.beta if name == "PosteriorFit" else record.mean
        expected = record.components.count, record.components.n_timesteps
        if expected != (record.phi.shape[-1], path.shape[-1]):
            return False
    if name in {"Rows", "RowChecks"}:
        codes = record.codes
        n_steps = record.n_timesteps if name == "Rows" else record.deviance.size
        return not codes.size or bool(codes.min() >= 0 and codes.max() < n_steps)
    return name not in {"ModeFit", "PosteriorFit"} or _same_steps(record)


def _same_steps(fit: Any) -> bool:
    steps = fit.beta.shape[1], fit.intercepts.mean.shape[1], fit.columns.center.shape[0]
    return len(set(steps)) == 1 and fit.beta.shape[0] == fit.shared.mean.shape[0]
