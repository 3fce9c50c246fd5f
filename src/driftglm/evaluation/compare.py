"""Compare models on the steps after an origin, each tuned on what came before."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.model_selection import ParameterGrid
from sklearn.utils.validation import _num_samples

from driftglm._typing import FloatArray, IntArray, MatrixLike, VectorLike
from driftglm._warnings import warn
from driftglm.data.groups import read_groups
from driftglm.data.timesteps import fit_axis
from driftglm.distributed.client import find_client
from driftglm.evaluation.cache import Cache, Piece
from driftglm.evaluation.comparison import Comparison
from driftglm.evaluation.contestants import (
    Data,
    check_models,
    goes_on,
    split_pipeline,
    takes_groups,
    takes_trials,
    tunes_in_chains,
)
from driftglm.evaluation.fingerprint import data_digest, digest, library_fingerprint
from driftglm.evaluation.metrics import LossFunction, Metric, find_metric
from driftglm.evaluation.scores import Score
from driftglm.evaluation.splits import Fold, RollingOrigin
from driftglm.evaluation.tasks import (
    ChainTask,
    FitTask,
    Runner,
    Task,
    UpdateTask,
    losses_of,
    mean_loss,
    observed_probability,
    run_by_name,
)
from driftglm.exceptions import DataError, DataWarning
from driftglm.files import StrPath
from driftglm.fitting.identity import OPENINGS
from driftglm.plots.labels import Names
from driftglm.registry import registered_outside, resolve

N_CLASSES = 2
Params = dict[str, Any]


def compare(  # noqa: PLR0913
    models: dict[str, BaseEstimator],
    X: MatrixLike,
    y: MatrixLike,
    time: ArrayLike,
    splitter: RollingOrigin,
    *,
    grids: Mapping[str, object] | None = None,
    metric: str | LossFunction = "auto",
    tune: Literal["dev", "origin"] = "dev",
    warm_start: bool = False,
    n_jobs: int | None = None,
    client: Any = None,
    cache_dir: StrPath | None = None,
    sample_weight: VectorLike = None,
    exposure: VectorLike = None,
    groups: VectorLike = None,
    feature_names: Names = None,
    verbose: bool | None = None,
) -> Comparison:
    """Predict every test step by every model fitted to the steps before it.

    Parameters
    ----------
    models : names and estimators: drift models, `driftglm.baselines`, any scikit-learn regressor
        or classifier, or a Pipeline. `time`, `sample_weight` and `exposure` reach the (last) step
        where its methods have such an argument; transformers are fitted to training rows only
    X, y, time : the rows. X is whatever the models take, a list of texts included; for text models
        X is the word counts and y the documents' effects. time as in `driftglm.DriftRegressor`
    splitter : which steps are the dev step and the test steps
    grids : by model, what to try: ``{"name": {"param": [values]}}`` as in scikit-learn's
        GridSearchCV. A baseline with ``strength=None`` has a wide grid; others are used as they are
    metric : "mse", "log_loss", "poisson" (deviance), "nll" (negative log-likelihood of documents),
        that of another registered family, a function (y, prediction) -> losses, or "auto": what
        suits the models. Scores of distributions: "crps", "log-score", "brier" (classes),
        "ranked-probability" (counts and classes), "interval-score" (of 90 % intervals), "quantile"
        (mean pinball loss), without models of points. To other metrics the prediction is, of a
        classifier, the probability of the class observed, and of a text model a log-likelihood
    tune : "dev": choose parameters once, by the error on the dev step of fits to the steps before;
        "origin": again for every test step, on the last step before it
    warm_start : let learned priors go on from one test step to the next by `update`; see the guide
    n_jobs : number of processes, or of what another joblib backend offers. Results are the same,
        to the last digit, for any number: each fit has one BLAS thread
    client : a `distributed.Client`, or "active" for the one started last: every fit is a task of
        its workers, done again if a worker dies, and `n_jobs` says nothing
    cache_dir : a folder for finished fits. A run that was killed goes on from there; results of
        other data, settings or versions are never mixed in; several runs may share it
    sample_weight, exposure : (n_rows,) weights for fits, tuning and the table's means; exposures
    groups : (n_rows,) ids of what rows have in common, for learned priors and `hold_out_groups`
    feature_names : names of the columns of X for warnings about them, where X has none
    verbose : show a progress bar on standard error; None: only on a terminal

    Examples
    --------
    >>> from driftglm.baselines import RidgeAll, RidgeOne
    >>> from driftglm.evaluation import RollingOrigin, compare
    >>> from driftglm.simulate import simulate_panel
    >>> panel = simulate_panel(n_features=5, rows_per_step=40)
    >>> models = {"all": RidgeAll(1.0), "last": RidgeOne(1.0)}
    >>> result = compare(models, panel.X, panel.y, panel.time, RollingOrigin(n_test=2))
    >>> result.table("frame").shape  # two test steps and all of them, two models
    (3, 2)
    >>> result.best
    'last'
    """
    models = check_models(models)
    _check_plan(splitter, tune)
    finals = {name: split_pipeline(m)[1] for name, m in models.items()}
    given = _read(X, y, time, splitter, sample_weight, exposure, feature_names)
    data = _with_trials(_with_groups(given, groups, finals, splitter), finals)
    parts = _candidates(models, grids), data, splitter, find_metric(metric, finals)
    runner = Runner(data, n_jobs, _open_cache(cache_dir, data), verbose, find_client(client))
    return Contest(models, *parts, warm_start).play(runner, tune)


@dataclass(frozen=True)
class Contest:
    """Models, what may be tuned about them, rows and splits."""

    models: dict[str, BaseEstimator]
    candidates: dict[str, list[Params]]
    data: Data
    splitter: RollingOrigin
    metric: Metric | Score
    warm_start: bool = False

    def play(self, runner: Runner, tune: str) -> Comparison:
        """Tune, then fit and predict every test step."""
        data = self.data
        folds = self.splitter.folds(data.time, data.codes.size, data.groups)
        tuned, pieces = self._first(runner, folds, tune)
        chosen = self._tasks(folds, {n: sets for n, sets in tuned.items() if n not in pieces})
        pieces |= run_by_name(runner, chosen, "fitting")
        found = {name: _by_fold(folds, pieces[name]) for name in self.models}
        left_out = _left_out(found, self.metric.name)
        remaining = {name: parts for name, parts in found.items() if name not in left_out}
        facts = {
            "params": {name: [_plain(params) for params in tuned[name]] for name in remaining},
            "seconds": {m: sum(f["seconds"] for f, _ in parts) for m, parts in remaining.items()},
            "warnings": _once({m: _said(folds, parts) for m, parts in remaining.items()})
            | left_out,
        }
        return self._comparison(folds, remaining, facts)

    def _tasks(self, folds: list[Fold], tuned: dict[str, list[Params]]) -> dict[str, list[Task]]:
        """Of every model a task a fold, or one for all where a fit goes on from the one before."""
        out: dict[str, list[Task]] = {}
        in_turn = {name for name in tuned if self.warm_start and goes_on(self.models[name])}
        in_turn &= set(tuned) if self._grow(folds) else set()
        # What takes longest comes first.
        for name in sorted(tuned, key=lambda name: name not in in_turn):
            model, sets = self.models[name], tuned[name]
            if name in in_turn and all(params is sets[0] for params in sets):
                out[name] = [UpdateTask(name, model, sets[0], self.metric, tuple(folds))]
            else:
                out[name] = [
                    FitTask(name, model, params, self.metric, fold)
                    for params, fold in zip(sets, folds, strict=True)
                ]
        return out

    def _grow(self, folds: list[Fold]) -> bool:
        """Whether every fold trains on the rows of the fold before and on later steps."""
        codes = self.data.codes
        return all(
            np.isin(one.train, two.train).all()
            and not (codes[np.setdiff1d(two.train, one.train)] <= codes[one.train].max()).any()
            for one, two in itertools.pairwise(folds)
        )

    def _comparison(
        self, folds: list[Fold], found: dict[str, list[Piece]], facts: dict[str, Any]
    ) -> Comparison:
        """The pieces of every model, one after the other, and their losses."""
        data, rows = self.data, np.concatenate([fold.test for fold in folds])
        arrays = {
            name: {key: np.concatenate([part[key] for _, part in parts]) for key in parts[0][1]}
            for name, parts in found.items()
        }
        return Comparison(
            axis=data.axis,
            rows=rows,
            codes=data.codes[rows],
            y=data.target(rows),
            weights=data.weights(rows),
            prediction={m: _shown(data, rows, each["prediction"]) for m, each in arrays.items()},
            loss={m: losses_of(self.metric, data, rows, each, m) for m, each in arrays.items()},
            metric=self.metric.name,
            label=self.metric.label,
            **facts,
            pit={name: each["pit"] for name, each in arrays.items() if "pit" in each},
            width={name: each["width"] for name, each in arrays.items() if "width" in each},
        )

    # ------------------------------------------------------------------- tuning

    def _first(
        self, runner: Runner, folds: list[Fold], tune: str
    ) -> tuple[dict[str, list[Params]], dict[str, list[Piece]]]:
        """Parameters of every model for every test fold, and pieces of those that had no choice.

        Their fits wait for nothing, and are made beside the searches of others.
        """
        tuned = {name: [sets[0]] * len(folds) for name, sets in self.candidates.items()}
        tuning = self._tuning_folds(folds, tune)
        searches = {n: self._tuning_tasks(n, tuning) for n in self.models if self._is_open(n)}
        ready = self._tasks(folds, {n: tuned[n] for n in self.models if n not in searches})
        pieces = run_by_name(runner, ready | searches, "tuning" if searches else "fitting")
        for name in searches:
            tried = iter(pieces.pop(name))
            choices = [self._choice(name, fold, tried) for fold in tuning]
            tuned[name] = choices * (len(folds) // len(choices))
        return tuned, pieces

    def _is_open(self, name: str) -> bool:
        """Whether there is something to choose."""
        return len(self.candidates[name]) > 1 or self._chains(name)

    def _tuning_folds(self, folds: list[Fold], tune: str) -> list[Fold]:
        """What models are tuned on: one fold for all test folds, or one for each; none if none is.

        Steps for it are asked for only if a model has something to choose.
        """
        rows = self.data.time, self.data.codes.size, self.data.groups
        if not any(self._is_open(name) for name in self.models):
            return []
        if tune == "dev":
            return [self.splitter.dev_fold(*rows)]
        return [self.splitter.fold_before(fold, *rows) for fold in folds]

    def _chains(self, name: str) -> bool:
        """Whether a baseline tunes itself: it has no grid, as a grid that is given is used."""
        return self.candidates[name] == [{}] and tunes_in_chains(self.models[name])

    def _tuning_tasks(self, name: str, folds: list[Fold]) -> list[Task]:
        model = self.models[name]
        if self._chains(name):
            return [ChainTask(name, model, self.metric, fold) for fold in folds]
        return [
            FitTask(name, model, params, self.metric, fold)
            for fold in folds
            for params in self.candidates[name]
        ]

    def _choice(self, name: str, fold: Fold, pieces: Iterator[Piece]) -> Params:
        """The best parameters on one fold, its pieces being next in line."""
        if self._chains(name):
            facts, _ = next(pieces)
            if facts["at_edge"]:
                warn(
                    f"model {name!r} chose {facts['params']} on step {fold.step}, an end of its "
                    "default grid, where the error still falls. Pass a grid of your own.",
                    DataWarning,
                )
            return dict(facts["params"])
        errors = [
            mean_loss(self.metric, self.data, fold.test, next(pieces)[1], name)
            for _ in self.candidates[name]
        ]
        return self.candidates[name][int(np.argmin(errors))]


def _check_plan(splitter: object, tune: str) -> None:
    if not isinstance(splitter, RollingOrigin):
        raise TypeError(f"splitter is a {type(splitter).__name__}; pass a RollingOrigin.")
    if tune not in {"dev", "origin"}:
        raise DataError(f"tune={tune!r}; pass 'dev' or 'origin'.")


def _read(
    X: MatrixLike,
    y: MatrixLike,
    time: ArrayLike,
    splitter: RollingOrigin,
    sample_weight: VectorLike,
    exposure: VectorLike,
    names: Names,
) -> Data:
    """Rows of equal number; sparse matrices in a form whose rows can be taken."""
    n_rows = _num_samples(X)
    numbers: dict[str, Any] = {"sample_weight": None, "exposure": None}
    for name, values in (("sample_weight", sample_weight), ("exposure", exposure)):
        if values is None:
            continue
        numbers[name] = found = np.asarray(values, dtype=np.float64)
        if found.shape != (n_rows,):
            raise DataError(f"{name} has shape {found.shape} for {n_rows} rows; pass one a row.")
    if _num_samples(y) != n_rows:
        raise DataError(f"y has {_num_samples(y)} values for {n_rows} rows of X; pass one a row.")
    if time is None:
        raise DataError("time is None; a comparison over time needs the time of every row.")
    axis, codes = fit_axis(time, n_rows, splitter.freq)
    X, y = (part.tocsr() if hasattr(part, "tocsr") else part for part in (X, y))
    return Data(X, y, time, axis, codes, **numbers, names=_column_names(X, names))


def _with_groups(
    data: Data, groups: VectorLike, finals: dict[str, BaseEstimator], splitter: RollingOrigin
) -> Data:
    """With the ids of rows, if there are any and someone wants them."""
    if groups is None:
        return data
    labels, numbers = read_groups(groups, data.codes.size)
    used = splitter.hold_out_groups is not None or any(map(takes_groups, finals.values()))
    if not used:
        raise DataError(
            "groups was given and no model takes ids; use a drift model with prior='learned', "
            "RollingOrigin(hold_out_groups=...), or leave groups out."
        )
    return dataclasses.replace(data, groups=labels[numbers])


def _column_names(X: MatrixLike, given: Names) -> tuple[str, ...] | None:
    """Names for warnings; DataError unless there is one a column."""
    if given is None:
        return None
    names, shape = tuple(map(str, given)), np.shape(X)
    if shape[1:] != (len(names),):
        raise DataError(f"feature_names has {len(names)} names for X of shape {shape}.")
    return names


def _with_trials(data: Data, finals: dict[str, BaseEstimator]) -> Data:
    """With y taken for successes and failures, if it has columns and a model wants them."""
    wanted = any(takes_trials(final) for final in finals.values())
    return dataclasses.replace(data, of_trials=wanted and np.ndim(data.y) > 1)


def _candidates(
    models: dict[str, BaseEstimator], grids: Mapping[str, object] | None
) -> dict[str, list[Params]]:
    """What to try for every model; one empty set of parameters where nothing is given."""
    grids = grids or {}
    unknown = set(grids) - set(models)
    if unknown:
        raise DataError(
            f"grids names {min(unknown)!r}, which is no model; "
            f"the models are {', '.join(repr(name) for name in models)}."
        )
    out = {name: list(ParameterGrid(grids.get(name, {}))) for name in models}
    for name, sets in out.items():
        known = models[name].get_params()
        wrong = [param for params in sets for param in params if param not in known]
        if wrong:
            raise DataError(
                f"the grid of {name!r} has {wrong[0]!r}, which is no parameter of "
                f"{type(models[name]).__name__}; it has {', '.join(sorted(known))}."
            )
    return out


def _open_cache(cache_dir: StrPath | None, data: Data) -> Cache | None:
    if cache_dir is None:
        return None
    parts = data.X, data.y, data.sample_weight, data.exposure
    parts += () if data.groups is None else (data.groups,)
    # The labels themselves too: a model may have a freq of its own.
    digests = [data_digest(part) for part in (data.codes, data.time, *parts)]
    # Models name families and priors, and those of users may change between two runs.
    outside = [resolve(home) for home in registered_outside()]
    return Cache.open(cache_dir, digest(library_fingerprint(), outside, repr(data.axis), *digests))


def _shown(data: Data, rows: IntArray, prediction: FloatArray) -> FloatArray:
    """Of two classes the probability of the second, of more that of the one observed."""
    binary = prediction.ndim > 1 and prediction.shape[1] == N_CLASSES
    return prediction[:, 1] if binary else observed_probability(data, rows, prediction)


def _by_fold(folds: list[Fold], pieces: list[Piece]) -> list[Piece]:
    """A piece a fold; what is said of all is said of the first."""
    facts, arrays = pieces[0]
    if len(pieces) == len(folds) or not arrays:
        return pieces
    ends = np.cumsum([fold.test.size for fold in folds])[:-1]
    parts = {key: np.split(values, ends) for key, values in arrays.items()}
    nothing: dict[str, Any] = {"seconds": 0.0, "warnings": []}
    return [
        (nothing if k else facts, {key: each[k] for key, each in parts.items()})
        for k in range(len(folds))
    ]


def _said(folds: list[Fold], pieces: list[Piece]) -> list[str]:
    """What fits warned of, and at which step."""
    return [
        f"step {fold.step}: {said}"
        for fold, (facts, _) in zip(folds, pieces, strict=False)  # one, if it was left out
        for said in facts["warnings"]
    ]


def _once(said: dict[str, list[str]]) -> dict[str, list[str]]:
    """Without what is said of the same columns again, at other steps or by other models."""
    seen: set[str] = set()

    def is_new(text: str) -> bool:
        about = next((opening for opening in OPENINGS if opening in text), None)
        new = about is None or about not in seen
        seen.update(opening for opening in OPENINGS if opening in text)
        return new

    return {name: [text for text in texts if is_new(text)] for name, texts in said.items()}


def _left_out(found: dict[str, list[Piece]], metric: str) -> dict[str, list[str]]:
    """Models without distributions and why, with a warning; DataError if no other is left."""
    out = {}
    for name, pieces in found.items():
        reasons = [facts["left_out"] for facts, _ in pieces if "left_out" in facts]
        if reasons:
            out[name] = [f"left out: {reasons[0]}"]
            warn(
                f"model {name!r} is left out of the comparison by {metric!r}: {reasons[0]}",
                DataWarning,
            )
    if len(out) == len(found):
        name, (reason,) = next(iter(out.items()))
        raise DataError(
            f"no model is left to compare by metric={metric!r}, which needs distributions "
            f"({name!r} was {reason}). Use prior='learned', driftglm.baselines.WithNormalErrors, "
            "or a metric of points such as 'mse'."
        )
    return out


def _plain(params: Params) -> dict[str, Any]:
    """Parameters as JSON can hold them: numbers and strings as they are, others by name."""
    items = {n: v.item() if isinstance(v, np.generic) else v for n, v in params.items()}
    return {n: v if isinstance(v, str | int | float | None) else repr(v) for n, v in items.items()}
