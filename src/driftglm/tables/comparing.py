"""Models compared on a table: encoders are fitted again at every origin, to training rows only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from glob import escape
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline

from driftglm._typing import MatrixLike, VectorLike
from driftglm.baselines import LassoAll, LassoOne, RidgeAll, RidgeOne, RidgeTS, WithNormalErrors
from driftglm.data.timesteps import Freq
from driftglm.estimators.named import estimator_for
from driftglm.evaluation import Comparison, RollingOrigin, compare
from driftglm.evaluation.scores import SCORES
from driftglm.exceptions import DataError
from driftglm.families import family_named
from driftglm.fitting.settings import Seasonality
from driftglm.registry import PRIORS
from driftglm.tables.columns import near
from driftglm.tables.encoder import TableEncoder, TableSpec, encode, fit_encoder
from driftglm.tables.model import Training, read_training
from driftglm.tables.reading import Table, as_strings

BASELINES: dict[str, type[BaseEstimator]] = {
    "ridge-one": RidgeOne,
    "ridge-all": RidgeAll,
    "ridge-ts": RidgeTS,
    "lasso-one": LassoOne,
    "lasso-all": LassoAll,
}
DEFAULT = (*BASELINES, "exact", "variational", "learned")
Step: TypeAlias = pd.Period | int
Groups: TypeAlias = Mapping[str, Iterable[str]]
"""Columns, features or patterns of their names, by kind of feature."""
MOST_STEPS = 100_000  # of a range; more is a slip of the finger


class TableFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A frame's columns as features, for a scikit-learn Pipeline; see `fit_encoder`.

    They are a frame of `named` columns if a model tells its features apart by name.
    """

    def __init__(self, spec: TableSpec | None = None, *, named: bool = False) -> None:
        self.spec = spec
        self.named = named

    def fit(self, frame: pd.DataFrame, y: VectorLike = None) -> TableFeatures:
        """Learn levels and words."""
        del y
        spec = self.spec or TableSpec()
        # A level that no row of this origin has cannot be what others are compared with.
        known = [(name, k) for name, k in spec.reference if k in set(as_strings(frame[name]))]
        spec = replace(spec, reference=tuple(known))
        self.encoder_: TableEncoder = fit_encoder(Table(frame), spec)
        return self

    def transform(self, frame: pd.DataFrame) -> MatrixLike:
        """Features of the rows."""
        encoder, table = self.encoder_, Table(frame)
        return encoder.named(table) if self.named else encoder.matrix(table)

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """Names of the features, as in `TableModel`."""
        del input_features
        return np.array(self.encoder_.feature_names, dtype=object)


def contestants(
    names: Sequence[str],
    family: str,
    metric: object = "auto",
    seasonality: Seasonality = "auto",
) -> dict[str, BaseEstimator]:
    """Estimators by name: the baselines, columns brought to one scale, and drift models.

    A metric that scores distributions has the baselines with normal errors. The seasonality is that
    of the learned prior; others have none.
    """
    known = (*BASELINES, *PRIORS)
    out: dict[str, BaseEstimator] = {}
    for name in names:
        if name in BASELINES:
            out[name] = BASELINES[name](family=family, standardize=True)
            if metric in SCORES:
                out[name] = WithNormalErrors(out[name])
        elif name in PRIORS:
            own = {"seasonality": seasonality} if name == "learned" else {}
            out[name] = estimator_for(family, prior=name, **own)
        else:
            raise DataError(f"there is no model {name!r:.60}; {near(name, known)}")
    return out


def compare_table(
    table: Table,
    spec: TableSpec,
    splitter: RollingOrigin,
    *,
    models: Sequence[str] = DEFAULT,
    family: str = "auto",
    feature_groups: Groups | None = None,
    seasonality: Seasonality = "auto",
    **options: Any,
) -> tuple[Comparison, Training]:
    """Compare models by name on the rows of a table.

    Parameters
    ----------
    table, spec
        The rows, and which column plays which part.
    splitter
        Which steps are tested; its `freq` must be that of `spec`.
    models
        Names: ridge-one, ridge-all, ridge-ts, lasso-one, lasso-all, exact, variational, learned,
        fixed.
    family
        As in `fit_table`.
    feature_groups
        Kinds of features, for the learned prior alone: columns, features or patterns of their
        names, by name of the kind.
    seasonality
        Of the learned prior: steps a cycle, "auto" or None.
    **options
        Passed to `driftglm.evaluation.compare`, e.g. `cache_dir`.

    Returns
    -------
    Comparison, Training
        The outcome, and the rows it is about, encoded as a whole.
    """
    encoder, features_of_all = encode(table, spec)  # checks the table before anything is fitted
    data = read_training(table, spec, family, features_of_all)
    _check_classes(data, models)
    chosen = contestants(models, data.family, options.get("metric", "auto"), seasonality)
    X, kinds = data.X, _kinds(encoder, chosen, feature_groups)
    learned = any(each.kind == "levels" or each.fill is not None for each in encoder.columns)
    if encoder.vocabulary is not None or learned:
        # Words, levels and what stands for gaps must be those of the training rows.
        X = table.frame[[each.name for each in encoder.columns] + [spec.text] * bool(spec.text)]
        features, kinds = _of_features(spec, encoder), _by_name(encoder, feature_groups)
        chosen = {
            name: Pipeline([("features", TableFeatures(features)), ("model", model)])
            for name, model in chosen.items()
        }
        if kinds is not None:
            chosen["learned"].set_params(features__named=True, model__feature_groups=kinds)
    elif kinds is not None:
        chosen["learned"].set_params(feature_groups=kinds)
    if table.block is not None and X is not data.X:
        raise DataError(f"{table.name} mixes sparse features with texts; --drop the texts.")
    options |= data.extras
    if X is data.X:
        options["feature_names"] = encoder.feature_names
    return compare(chosen, X, data.y, data.time, splitter, **options), data


def _kinds(
    encoder: TableEncoder, chosen: Mapping[str, BaseEstimator], groups: Groups | None
) -> dict[str, Any] | None:
    """Positions of the features of every kind; names are checked before anything is fitted."""
    if groups is None:
        return None
    if "learned" not in chosen:
        raise DataError(
            "feature groups are for the model 'learned' alone; name it, or leave the groups out."
        )
    return dict(encoder.kinds(groups))


def _by_name(encoder: TableEncoder, groups: Groups | None) -> dict[str, Any] | None:
    """The same as patterns of names: levels and words are not the same at every origin."""
    if groups is None:
        return None
    ends = {each.name: "=*" for each in encoder.columns if each.kind == "levels"}
    if encoder.spec.text is not None:
        ends[encoder.spec.text] = ":*"
    out = {}
    for kind, chosen in groups.items():
        patterns: list[str] = []
        for name in chosen:
            whole = [each for each in ends if fnmatchcase(each, name) or each == name]
            patterns += [escape(each) + ends[each] for each in whole]
            features = encoder.feature_names
            if name in features or any(fnmatchcase(each, name) for each in features):
                patterns.append(name)
        out[kind] = patterns
    return out


def _check_classes(data: Training, models: Sequence[str]) -> None:
    """Baselines tell two classes apart, drift models any number."""
    n_classes = len(set(data.y.tolist())) if family_named(data.family).target == "classes" else 0
    binary = [name for name in models if name in BASELINES]
    if n_classes > 2 and binary:  # noqa: PLR2004
        raise DataError(
            f"the target has {n_classes} classes, and {', '.join(binary)} are for two; name models "
            "for more (--models learned,exact,variational), or merge classes."
        )


def _of_features(spec: TableSpec, encoder: TableEncoder) -> TableSpec:
    """The part of a spec that is about features alone.

    What a column is was decided on all rows; the rows of an origin are not asked again.
    """
    levels = tuple(each.name for each in encoder.columns if each.kind == "levels")
    return TableSpec(
        text=spec.text,
        categorical=levels,
        vocabulary=spec.vocabulary,
        missing=spec.missing,
        reference=spec.reference,
        rare=spec.rare,
        terms=spec.terms,
    )


def parse_steps(text: str, freq: Freq) -> list[Step]:
    """Steps as they are typed: "2003,2004" or "2003:2005", also of periods ("2004-01:2004-06")."""
    out: list[Step] = []
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        ends = [end.strip() for end in part.split(":")]
        if len(ends) > 2 or not all(ends):  # noqa: PLR2004
            raise DataError(f"steps {part!r:.60}; write 2003,2004 or 2003:2005.")
        out += _between(_step(ends[0], freq), _step(ends[-1], freq), freq)
    if not out:
        raise DataError(f"steps {text!r:.60} name none; write 2003,2004 or 2003:2005.")
    return out


def _between(first: Step, last: Step, freq: Freq) -> list[Step]:
    """All steps from the first to the last, both included."""
    start, stop = (step.ordinal if isinstance(step, pd.Period) else step for step in (first, last))
    if stop - start > MOST_STEPS:
        raise DataError(f"from {first} to {last} are more than {MOST_STEPS} steps; name fewer.")
    if isinstance(first, pd.Period):
        return list(pd.period_range(first, periods=max(0, stop - start + 1)))
    return list(range(start, stop + 1, freq if isinstance(freq, int) else 1))


def _step(text: str, freq: Freq) -> Step:
    try:
        return pd.Period(text, freq=freq) if isinstance(freq, str) else int(text)
    except ValueError as error:
        kind = f"a period of freq {freq}" if isinstance(freq, str) else "a whole number"
        raise DataError(f"{text!r:.60} is no step; {kind} is needed.") from error
