"""Pictures of comparisons; matplotlib is imported only when one is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from driftglm.exceptions import DriftError

MARKERS = "os^Dv<>PX*"


def comparison_figure(frame: pd.DataFrame, label: str) -> Any:
    """Mean loss by test step, a line a model; direct labels tell lines apart without colour."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise DriftError("plots need matplotlib; install driftglm[plot].") from error
    figure = Figure(figsize=(7.0, 4.0), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(frame))
    for k, name in enumerate(frame.columns):
        marker = MARKERS[k % len(MARKERS)]
        axes.plot(places, frame[name].to_numpy(), marker=marker, label=str(name), linewidth=1.2)
    axes.set_xticks(places, [str(step) for step in frame.index])
    axes.set_xlabel(str(frame.index.name))
    axes.set_ylabel(label)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False)
    return figure
