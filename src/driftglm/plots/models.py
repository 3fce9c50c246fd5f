"""Figures of fitted models, which are asked for nothing but their public attributes."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from driftglm._typing import FloatArray
from driftglm.exceptions import DataError
from driftglm.plots import figures
from driftglm.plots.labels import Features, Names, feature_names_of
from driftglm.plots.style import shortened

if TYPE_CHECKING:  # matplotlib is an extra
    from matplotlib.figure import Figure

MOST_PANELS = 60
MOST_CLASSES = 8
FLAT = 2
INCLUDED = 0.5


class HasPaths(Protocol):
    """What a fitted model must have to be drawn."""

    coef_path_: FloatArray
    timesteps_: Any


def plot_paths(
    model: HasPaths, features: Features = None, top: int = 12, feature_names: Names = None
) -> Figure:
    """Coefficients over time, a small panel a feature, with 90 % bands if the model has them.

    Features that are more likely zero than not are grey; seasons are dotted lines of their own. Of
    more than 8 classes, those with the largest coefficients are shown.

    Parameters
    ----------
    model
        A fitted model with `coef_path_` and `timesteps_`.
    features
        Names, positions or a mask of the features to show, in that order; None: the `top` most
        important ones.
    top
        How many features if none are named.
    feature_names
        Names instead of those the model was fitted with.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from driftglm import DriftRegressor
    >>> from driftglm.plots import plot_paths
    >>> from driftglm.simulate import simulate_panel
    >>> panel = simulate_panel(n_features=4, n_active=2)
    >>> model = DriftRegressor(prior="fixed").fit(panel.X, panel.y, time=panel.time)
    >>> figure = plot_paths(model, top=2)
    >>> len(figure.axes) > 0
    True
    """
    values, names, chosen = _chosen(model, features, top, feature_names)
    if chosen.size > MOST_PANELS:
        raise DataError(
            f"{chosen.size} features are too many panels; name at most {MOST_PANELS}, or use "
            "plot_heatmap."
        )
    lines = _classes(model, values.shape[1])
    shown = _largest_classes(values[:, :, chosen])
    picked = np.ix_(np.arange(values.shape[0]), shown, chosen)
    seasons = getattr(model, "seasonal_path_", None)
    return figures.paths(
        list(model.timesteps_),
        values[picked],
        [names[i] for i in chosen],
        bands=_bands(model, picked),
        seasons=None if seasons is None else _by_class(seasons)[picked],
        lines=[lines[k] for k in shown],
        faint=_faint(model, shown, chosen),
    )


def plot_heatmap(
    model: HasPaths, features: Features = None, top: int = 40, feature_names: Names = None
) -> Figure:
    """Coefficients over time as colours, a row a feature and a panel a class.

    The parameters are those of `plot_paths`; any number of features can be shown.

    Examples
    --------
    >>> from driftglm import DriftRegressor
    >>> from driftglm.plots import plot_heatmap
    >>> from driftglm.simulate import simulate_panel
    >>> panel = simulate_panel(n_features=4, n_active=2)
    >>> model = DriftRegressor(prior="fixed").fit(panel.X, panel.y, time=panel.time)
    >>> figure = plot_heatmap(model, top=2)
    >>> len(figure.axes) > 0
    True
    """
    values, names, chosen = _chosen(model, features, top, feature_names)
    classes, shown = _classes(model, values.shape[1]), _largest_classes(values[:, :, chosen])
    return figures.heatmap(
        list(model.timesteps_),
        values[:, shown][:, :, chosen],
        [names[i] for i in chosen],
        panels=[classes[k] for k in shown],
    )


def plot_autocorrelation(
    model: HasPaths, features: Features = None, top: int = 30, feature_names: Names = None
) -> Figure:
    """Lag-1 autocorrelation of the features' paths, between 0 and 1.

    The parameters are those of `plot_paths`. Open dots are features that are more likely out than
    in. More than 60 features are counted in a histogram.

    Examples
    --------
    >>> from driftglm import DriftRegressor
    >>> from driftglm.plots import plot_autocorrelation
    >>> from driftglm.simulate import simulate_panel
    >>> panel = simulate_panel(n_features=4, n_active=2)
    >>> model = DriftRegressor(prior="fixed").fit(panel.X, panel.y, time=panel.time)
    >>> figure = plot_autocorrelation(model, top=2)
    >>> len(figure.axes) > 0
    True
    """
    values, names, chosen = _chosen(model, features, top, feature_names)
    rho = np.asarray(getattr(model, "autocorrelation_", np.nan))
    if rho.ndim == 0 or not hasattr(model, "inclusion_probability_"):
        raise DataError(
            f"{type(model).__name__} has no autocorrelation of every feature; fit a "
            "DriftRegressor, DriftClassifier or DriftPoissonRegressor."
        )
    classes = _classes(model, values.shape[1])
    rho, inclusion = (
        np.atleast_2d(part)[:, chosen].T.ravel() for part in (rho, model.inclusion_probability_)
    )
    rows = [
        names[i] if len(classes) == 1 else f"{shortened(names[i], 20)}: {shortened(label, 12)}"
        for i in chosen
        for label in classes
    ]
    return figures.autocorrelation(rho, inclusion, rows)


def plot_comparison(comparison: object, *, metric: Literal["within"] | None = None) -> Figure:
    """Mean loss of every model over the test steps; the same as `comparison.plot()`.

    Examples
    --------
    >>> from driftglm.baselines import RidgeAll, RidgeOne
    >>> from driftglm.evaluation import RollingOrigin, compare
    >>> from driftglm.plots import plot_comparison
    >>> from driftglm.simulate import simulate_panel
    >>> panel = simulate_panel(n_features=3, rows_per_step=30)
    >>> models = {"all": RidgeAll(1.0), "last": RidgeOne(1.0)}
    >>> result = compare(models, panel.X, panel.y, panel.time, RollingOrigin(n_test=2))
    >>> len(plot_comparison(result).axes[0].lines) >= 2
    True
    """
    if not hasattr(comparison, "plot"):
        raise DataError(
            f"comparison is a {type(comparison).__name__}; pass what evaluation.compare returned."
        )
    figure: Figure = comparison.plot(metric=metric)
    return figure


def plot_weights(weights: pd.DataFrame) -> Figure:
    """How much every forecaster is trusted over time; the same as `model.plot_weights()`.

    Examples
    --------
    >>> import pandas as pd
    >>> from driftglm.plots import plot_weights
    >>> weights = pd.DataFrame({"drifting": [0.6, 0.8], "held": [0.4, 0.2]}, index=[2004, "next"])
    >>> len(plot_weights(weights).axes)
    1
    """
    named = weights.set_axis([str(label) for label in weights.index], axis=0)
    return figures.comparison(named.rename_axis("step"), "weight in the forecast")


def plot_permutations(counts: pd.DataFrame) -> Figure:
    """What a model finds in shuffled data; the same as `permutation_check(...).plot()`.

    Examples
    --------
    >>> from driftglm import DriftRegressor
    >>> from driftglm.evaluation import permutation_check
    >>> from driftglm.plots import plot_permutations
    >>> from driftglm.simulate import simulate_panel
    >>> panel = simulate_panel(n_features=4, n_active=1, n_timesteps=3, rows_per_step=40)
    >>> check = permutation_check(DriftRegressor(), panel.X, panel.y, panel.time, n_shuffles=2)
    >>> len(plot_permutations(check.counts).axes) > 0
    True
    """
    data = counts[counts["shuffle"] == "none"].iloc[0]
    said = {
        "outcome": ("included", "included, y shuffled"),
        "time": ("drifting", "drifting, time shuffled"),
    }
    panels = {}
    for kind, (column, title) in said.items():
        found = counts.loc[counts["shuffle"] == kind, column].to_numpy(dtype=float)
        if found.size:
            panels[f"features {title}"] = found, float(data[column])
    return figures.permutations(panels)


def plot_words(model: object, effect: str | int, words: Features = None, k: int = 8) -> Figure:
    """Words of one effect over time; the same as `model.plot_words(effect)`.

    Examples
    --------
    >>> from driftglm import DriftTextModel
    >>> from driftglm.plots import plot_words
    >>> from driftglm.simulate import simulate_text
    >>> text = simulate_text(n_words=20, n_effects=1)
    >>> model = DriftTextModel(prior="fixed").fit(text.counts, text.effects, time=text.time)
    >>> len(plot_words(model, 0, k=2).axes) > 0
    True
    """
    if not hasattr(model, "plot_words"):
        raise DataError(f"model is a {type(model).__name__}; pass a fitted DriftTextModel.")
    figure: Figure = model.plot_words(effect, words, k)
    return figure


def _chosen(
    model: HasPaths, features: Features, top: int, feature_names: Names
) -> tuple[NDArray[Any], list[str], NDArray[Any]]:
    """Paths (T, n_classes, p), names (p,), and positions of the features to show."""
    if hasattr(model, "vocabulary_") and hasattr(model, "plot_words"):
        raise DataError("a text model has a path for every word; use plot_words(effect).")
    if not hasattr(model, "coef_path_"):
        raise DataError(
            f"{type(model).__name__} has no paths of coefficients to draw; fit it first, or use a "
            "model whose coefficients drift."
        )
    values = _by_class(model.coef_path_)
    names = feature_names_of(model, values.shape[2], feature_names)
    if features is not None:
        return values, names, _positions(features, names)
    if not isinstance(top, Integral) or top < 1:
        raise DataError(f"top={top!r}; pass how many features to show, 1 or more.")
    return values, names, _by_importance(model, values)[:top]


def _faint(model: HasPaths, shown: NDArray[Any], chosen: NDArray[Any]) -> NDArray[Any] | None:
    """Which paths are more likely zero than not."""
    inclusion = getattr(model, "inclusion_probability_", None)
    if inclusion is None:
        return None
    return np.asarray(np.atleast_2d(inclusion)[np.ix_(shown, chosen)] < INCLUDED)


def _bands(model: HasPaths, picked: tuple[NDArray[Any], ...]) -> NDArray[Any] | None:
    """(2, ...) ends of 90 % intervals; None of a model that has none."""
    if not hasattr(model, "coef_std_path_") or not hasattr(model, "coef_interval"):
        return None
    return np.stack([_by_class(ends)[picked] for ends in model.coef_interval()])


def _by_class(paths: ArrayLike) -> NDArray[Any]:
    """(T, n_classes, p) whatever the model."""
    values = np.asarray(paths)
    return values[:, None, :] if values.ndim == FLAT else values


def _by_importance(model: HasPaths, values: NDArray[Any]) -> NDArray[Any]:
    """Positions of all features, the most important first; of any class."""
    p = values.shape[2]
    if not hasattr(model, "summary"):
        size = np.sqrt(np.mean(values**2, axis=(0, 1)))
        return np.argsort(-size, kind="stable")
    # Positions for names, since names need not differ.
    table = model.summary(feature_names=range(p))
    order = table["feature"].astype(np.int64).to_numpy()
    # A class's tables follow one another; first in a class where all is zero is no merit.
    ranks = np.arange(order.size) % p + p * (table["inclusion_probability"].to_numpy() < INCLUDED)
    best = np.full(p, ranks.max())
    np.minimum.at(best, order, ranks)
    return np.argsort(best, kind="stable")


def _classes(model: HasPaths, n_classes: int) -> list[str]:
    labels = [""] if n_classes == 1 else getattr(model, "classes_", range(n_classes))
    return [str(label) for label in labels]


def _largest_classes(values: NDArray[Any]) -> NDArray[Any]:
    """As many classes as can be told apart, in their own order."""
    size = np.mean(values**2, axis=(0, 2))
    return np.sort(np.argsort(-size, kind="stable")[:MOST_CLASSES])


def _positions(features: ArrayLike, names: Sequence[str]) -> NDArray[Any]:
    """Positions of the features a user names, in the order given."""
    single = isinstance(features, str | Integral) and not isinstance(features, bool)
    given: Any = [features] if single else features
    items = np.asarray(list(given), dtype=object)
    if items.size == len(names) and all(isinstance(item, bool | np.bool_) for item in items):
        items = np.flatnonzero(items.astype(bool)).astype(object)
    known = {name: i for i, name in reversed(list(enumerate(names)))}
    found = []
    for item in items:
        whole = isinstance(item, Integral) and not isinstance(item, bool | np.bool_)
        position = known.get(str(item)) if not whole else int(item)
        if position is None or not -len(names) <= position < len(names):
            raise DataError(
                f"features has {item!r}, but the model has {len(names)} features "
                f"({', '.join(map(repr, names[:3]))}, ...); pass names, positions or a mask."
            )
        found.append(position % len(names))
    if not found:
        raise DataError("features names no feature; pass one or more, or None for the top ones.")
    return np.asarray(found, dtype=np.int64)
