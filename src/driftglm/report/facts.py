"""What produced the page: settings, shapes, how the solver ended, versions."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import version

import numpy as np

from driftglm.estimators import DriftTextModel
from driftglm.estimators.base import DriftEstimator
from driftglm.evaluation import Comparison
from driftglm.report.encode import significant

LONGEST = 300


def facts(
    model: DriftEstimator | DriftTextModel | None,
    comparison: Comparison | None,
    settings: Mapping[str, object] | None,
) -> list[dict[str, object]]:
    """Sections of pairs (what, value), in the order they are shown."""
    sections: dict[str, Mapping[str, object]] = {"Given with this report": settings or {}}
    if model is not None:
        sections |= {"Fit": _fit(model), type(model).__name__: model.get_params(deep=False)}
    if comparison is not None:
        sections["Comparison"] = _compared(comparison)
    sections["Versions"] = _versions()
    return [
        {"title": title, "rows": [[str(name), shown(value)] for name, value in pairs.items()]}
        for title, pairs in sections.items()
        if pairs
    ]


def shown(value: object) -> str:
    """A setting as text; long ones are described or cut."""
    if isinstance(value, str):
        text = value
    elif isinstance(value, np.ndarray | list | tuple) and np.size(value) > 20:  # noqa: PLR2004
        text = f"{type(value).__name__} of {len(value):,}"
    elif isinstance(value, float):
        text = f"{value:.6g}"
    else:
        text = repr(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _fit(model: DriftEstimator | DriftTextModel) -> dict[str, str]:
    steps = [str(step) for step in model.timesteps_]
    span = f", {steps[0]} to {steps[-1]}" if len(steps) > 1 else ""
    out = {"timesteps": f"{len(steps):,}{span}"}
    is_text = isinstance(model, DriftTextModel)
    if is_text:
        out |= {"effects": f"{model.n_features_in_:,}", "words": f"{len(model.vocabulary_):,}"}
        out["different contexts"] = f"{model.n_contexts_:,}"
    else:
        out["features"] = f"{model.n_features_in_:,}"
    if hasattr(model, "classes_"):
        out["classes"] = f"{len(model.classes_):,}"
    out["extrapolation"] = getattr(model, "extrapolate_", "")
    if trusted := model.trust_sentence():
        out["trust"] = trusted
    if not is_text and (seasons := model.season_sentence()):
        out["seasons"] = seasons
    family = None if is_text else model.family_
    if family is not None and family.noise_label is not None and family.has_dispersion:
        meaning = f" ({family.noise_meaning})" if family.noise_meaning else ""
        out[f"{family.noise_label}{meaning}"] = significant(model.noise_, 4)
    out["converged"] = "yes" if model.converged_ else "no"
    out["iterations"] = f"{model.n_iter_:,} ({model.stop_reason_})"
    if len(model.objective_history_):
        out["objective at the end"] = f"{float(model.objective_history_[-1]):,.6g}"
    return out


def _compared(comparison: Comparison) -> dict[str, str]:
    out = {
        "metric": comparison.label,
        "test steps": ", ".join(str(step) for step in comparison.steps),
        "test rows": f"{comparison.rows.size:,}",
    }
    for name, chosen in comparison.params.items():
        if any(chosen):
            texts = dict.fromkeys(
                ", ".join(f"{k} = {shown(v)}" for k, v in params.items()) or "none"
                for params in chosen
            )
            out[f"parameters of {name}"] = "; ".join(texts)
    return out


def _versions() -> dict[str, str]:
    import vl_convert

    names = ["driftglm", "numpy", "scipy", "pandas", "scikit-learn", "vl-convert-python"]
    out = {"Python": platform.python_version()} | {name: version(name) for name in names}
    out["plots"] = (
        f"Vega {vl_convert.get_vega_version()}, "
        f"Vega-Lite {vl_convert.get_vegalite_versions()[-1]}, "
        f"Vega-Embed {vl_convert.get_vega_embed_version()} (BSD-3-Clause)"
    )
    return out
