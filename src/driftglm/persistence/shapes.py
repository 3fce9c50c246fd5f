"""What must agree inside the records of a file; kernels do not check it."""

from __future__ import annotations

from typing import Any

MOST_STEPS = 10**6
"""A time axis makes its labels when it is made, so that a forged length could fill memory."""

# Letters stand for lengths that must agree within a record.
_PATHS = {"beta": "it", "importance": None}
SHAPES: dict[str, dict[str, str | None]] = {
    "SharedFit": {"mean": "i", "root": "ir"},
    "Columns": {"always_in": "p", "center": "tp"},
    "Components": {"static": "k", "dynamic": "k", "rho": "k"},
    "Forecaster": {"noise": "t"},
    "InterceptFit": {
        "mean": "lt",
        "variance": "lt",
        "dynamics": "lc",
        "h": "lt",
        "b": "lt",
        "scale": "l",
        "static": "l",
    },
    "ModeFit": _PATHS | {"alive": "i", "static": "i", "rho": "i"},
    "PosteriorFit": _PATHS
    | {
        "variance": "it",
        "phi": "ik",
        "log_pi": "gk",
        "grid_positions": "k",
        "unit": "i",
        "h": "it",
        "b": "it",
    },
    "Rows": {
        "X": "np",
        "y": "n",
        "codes": "n",
        "weights": "n",
        "exposure": "n",
        "always_in": "p",
        "static": "p",
    },
    "TextPosterior": {
        "mean": "vft",
        "variance": "vft",
        "h": "vft",
        "b": "vft",
        "phi": "vfk",
        "divergence": "vf",
        "log_pi": "gk",
        "log_rate": "n",
    },
    "TextMode": {"beta": "vft", "log_rate": "n"},
}
"""By record, the axes of its fields; None: not an array of fixed axes."""


def agrees(name: str, record: Any) -> bool:
    """Whether a record fits the records it is made of."""
    if name == "Forecaster":
        lengths = {fit.n_timesteps for fit in record.fits}
        return lengths == {record.noise.size} and bool((record.noise > 0).all())
    if name == "PosteriorFit":
        expected = record.components.count, record.components.n_timesteps
        return _same_steps(record) and expected == (record.phi.shape[1], record.beta.shape[1])
    if name == "TextPosterior":
        expected = record.components.count, record.components.n_timesteps
        return expected == (record.phi.shape[2], record.mean.shape[2])
    if name == "Rows":
        codes = record.codes
        return not codes.size or bool(codes.min() >= 0 and codes.max() < record.n_timesteps)
    return name != "ModeFit" or _same_steps(record)


def _same_steps(fit: Any) -> bool:
    steps = fit.beta.shape[1], fit.intercepts.mean.shape[1], fit.columns.center.shape[0]
    return len(set(steps)) == 1 and fit.beta.shape[0] == fit.shared.mean.shape[0]
