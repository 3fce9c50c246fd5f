"""Compare models on the steps after an origin, each tuned on what came before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.model_selection import ParameterGrid
from sklearn.utils.validation import _num_samples

from driftglm._typing import FloatArray
from driftglm._warnings import warn
from driftglm.data.timesteps import fit_axis
from driftglm.distributed.client import find_client
from driftglm.evaluation.cache import Cache
from driftglm.evaluation.comparison import Comparison
from driftglm.evaluation.contestants import (
    Data,
    check_models,
    split_pipeline,
    tunes_in_chains,
)
from driftglm.evaluation.fingerprint import data_digest, digest, library_fingerprint
from driftglm.evaluation.metrics import LossFunction, Metric, find_metric
from driftglm.evaluation.splits import Fold, RollingOrigin
from driftglm.evaluation.tasks import (
    ChainTask,
    FitTask,
    Runner,
    Task,
    mean_loss,
    observed_probability,
)
from driftglm.exceptions import DataError, DataWarning
from driftglm.registry import registered_outside, resolve

N_CLASSES = 2
Grids = dict[str, list[dict[str, Any]]]


def compare(  # noqa: PLR0913
    models: dict[str, Any],
    X: Any,
    y: Any,
    time: Any,
    splitter: RollingOrigin,
    *,
    grids: dict[str, Any] | None = None,
    metric: str | LossFunction = "auto",
    tune: Literal["dev", "origin"] = "dev",
    n_jobs: int | None = None,
    client: Any = None,
    cache_dir: Any = None,
    sample_weight: Any = None,
    exposure: Any = None,
    verbose: bool | None = None,
) -> Comparison:
    """Predict every test step by every model fitted to the steps before it.

    Parameters
    ----------
    models
        Names and estimators: drift models, `driftglm.baselines`, any scikit-learn regressor or
        classifier, or a Pipeline. `time`, `sample_weight` and `exposure` reach the (last) step
        where its methods have such an argument; transformers are fitted to training rows only.
    X, y, time
        The rows: X may be whatever the models take, a list of texts included. y is numbers,
        classes or counts; time as in `driftglm.DriftRegressor`. For text models X is the word
        counts and y the documents' effects.
    splitter
        Which steps are the dev step and the test steps.
    grids
        By model, what to try: ``{"name": {"param": [values]}}`` as in scikit-learn's
        GridSearchCV. Baselines with ``strength=None`` have a wide grid of their own and share
        work along it; a model without a grid is used as it is.
    metric
        "mse", "log_loss", "poisson" (deviance), "nll", the metric of another registered family, a
        function (y, prediction) -> losses, or "auto": log loss for classifiers, negative
        log-likelihood for text models, the metric of the models' family (Poisson deviance if a
        model is one of counts), else squared error. The prediction of a classifier, as a
        metric sees it, is the probability it gave to the class observed; that of a text model the
        log-likelihood of the document.
    tune
        "dev": choose parameters once, by the error on the dev step of fits to the steps before.
        "origin": again for every test step, on the last step before it.
    n_jobs
        Number of processes, or of what another joblib backend offers
        (``joblib.parallel_backend("dask")``). Results are the same, to the last digit, for
        any number: each fit has one BLAS thread.
    client
        A `distributed.Client`, or "active" for the one started last: every fit is a task of its
        workers, done again if a worker dies, and `n_jobs` says nothing. Workers of one thread
        each are best. Files of `cache_dir` are read and written by this process alone.
    cache_dir
        A folder that keeps every finished fit. A run that was killed goes on from there; results
        of other data, settings or versions are never mixed in; several runs may share it.
    sample_weight
        One weight a row, for fitting, tuning and the table's means.
    exposure
        One exposure a row, for models that take one.
    verbose
        Show a progress bar on standard error; None: only on a terminal.

    Examples
    --------
    >>> from driftglm.baselines import LassoAll, LassoOne
    >>> from driftglm.evaluation import RollingOrigin, compare
    >>> from driftglm.simulate import simulate_panel
    >>> panel = simulate_panel(n_features=30, rows_per_step=60, random_state=0)
    >>> result = compare(
    ...     {"one": LassoOne(), "all": LassoAll()},
    ...     panel.X, panel.y, panel.time,
    ...     RollingOrigin(n_test=2),
    ... )
    >>> sorted(result.table(format="frame").columns)
    ['all', 'one']
    """
    models = check_models(models)
    if not isinstance(splitter, RollingOrigin):
        raise TypeError(f"splitter is a {type(splitter).__name__}; pass a RollingOrigin.")
    if tune not in {"dev", "origin"}:
        raise DataError(f"tune={tune!r}; pass 'dev' or 'origin'.")
    data = _read(X, y, time, splitter, sample_weight, exposure)
    candidates = _candidates(models, grids)
    chosen = find_metric(metric, {name: split_pipeline(m)[1] for name, m in models.items()})
    cache = _open_cache(cache_dir, data)
    contest = Contest(models, candidates, data, splitter, chosen)
    return contest.play(Runner(data, n_jobs, cache, verbose, find_client(client)), tune)


@dataclass(frozen=True)
class Contest:
    """Models, what may be tuned about them, rows and splits."""

    models: dict[str, Any]
    candidates: Grids
    data: Data
    splitter: RollingOrigin
    metric: Metric

    def play(self, runner: Runner, tune: str) -> Comparison:
        """Tune, then fit and predict every test step."""
        n_rows = self.data.codes.size
        folds = self.splitter.folds(self.data.time, n_rows)
        tuned = self._tuned(runner, folds, tune)
        tasks: list[Task] = [
            FitTask(name, model, params, fold)
            for name, model in self.models.items()
            for fold, params in zip(folds, tuned[name], strict=True)
        ]
        pieces = runner.run(tasks, "fitting")
        found: dict[str, list[FloatArray]] = {name: [] for name in self.models}
        seconds: dict[str, float] = dict.fromkeys(self.models, 0.0)
        notes: dict[str, list[str]] = {name: [] for name in self.models}
        for task, (facts, arrays) in zip(tasks, pieces, strict=True):
            found[task.name].append(arrays["prediction"])
            seconds[task.name] += facts["seconds"]
            notes[task.name] += [f"step {task.fold.step}: {said}" for said in facts["warnings"]]
        return self._collect(folds, found, tuned, (seconds, notes))

    # ------------------------------------------------------------------- tuning

    def _tuned(
        self, runner: Runner, folds: list[Fold], tune: str
    ) -> dict[str, list[dict[str, Any]]]:
        """Parameters of every model for every test fold."""
        open_models = [name for name in self.models if self._is_open(name)]
        if not open_models:
            return {name: [self._only(name)] * len(folds) for name in self.models}
        time, n_rows = self.data.time, self.data.codes.size
        if tune == "dev":
            tuning = [self.splitter.dev_fold(time, n_rows)]
        else:
            tuning = [self.splitter.fold_before(fold, time, n_rows) for fold in folds]
        tasks = [task for name in open_models for task in self._tuning_tasks(name, tuning)]
        pieces = iter(runner.run(tasks, "tuning"))
        out = {name: [self._only(name)] * len(folds) for name in self.models}
        for name in open_models:
            choices = [self._choice(name, fold, pieces) for fold in tuning]
            out[name] = choices * (len(folds) // len(choices))
        return out

    def _is_open(self, name: str) -> bool:
        return len(self.candidates[name]) > 1 or self._in_chains(name)

    def _in_chains(self, name: str) -> bool:
        """A baseline without a grid given; a grid that is given is used as it is."""
        return self.candidates[name] == [{}] and tunes_in_chains(self.models[name])

    def _only(self, name: str) -> dict[str, Any]:
        return self.candidates[name][0]

    def _tuning_tasks(self, name: str, folds: list[Fold]) -> list[Task]:
        model = self.models[name]
        if self._in_chains(name):
            return [ChainTask(name, model, self.metric, fold) for fold in folds]
        return [
            FitTask(name, model, params, fold) for fold in folds for params in self.candidates[name]
        ]

    def _choice(self, name: str, fold: Fold, pieces: Any) -> dict[str, Any]:
        """The best parameters on one fold, its pieces being next in line."""
        if self._in_chains(name):
            facts, _ = next(pieces)
            if facts["at_edge"]:
                warn(
                    f"model {name!r} chose {facts['params']} on step {fold.step}, an end of its "
                    "default grid, where the error still falls. Pass a grid of your own.",
                    DataWarning,
                )
            return dict(facts["params"])
        errors = [
            mean_loss(self.metric, self.data, fold.test, next(pieces)[1]["prediction"], name)
            for _ in self.candidates[name]
        ]
        return self.candidates[name][int(np.argmin(errors))]

    # --------------------------------------------------------------- collecting

    def _collect(
        self,
        folds: list[Fold],
        found: dict[str, list[FloatArray]],
        tuned: dict[str, list[dict[str, Any]]],
        record: tuple[dict[str, float], dict[str, list[str]]],
    ) -> Comparison:
        data = self.data
        rows = np.concatenate([fold.test for fold in folds])
        y = data.target(rows)
        shown, losses = {}, {}
        for name, parts in found.items():
            prediction = np.concatenate(parts)
            losses[name] = self.metric(y, observed_probability(data, rows, prediction), name)
            binary = prediction.ndim > 1 and prediction.shape[1] == N_CLASSES
            shown[name] = (
                prediction[:, 1] if binary else observed_probability(data, rows, prediction)
            )
        return Comparison(
            axis=data.axis,
            rows=rows,
            codes=data.codes[rows],
            y=y,
            weights=data.weights(rows),
            prediction=shown,
            loss=losses,
            metric=self.metric.name,
            label=self.metric.label,
            params={name: [_plain(params) for params in sets] for name, sets in tuned.items()},
            seconds=record[0],
            warnings=record[1],
        )


def _read(
    X: Any, y: Any, time: Any, splitter: RollingOrigin, sample_weight: Any, exposure: Any
) -> Data:
    """Rows of equal number; sparse matrices in a form whose rows can be taken."""
    n_rows = _num_samples(X)
    numbers: dict[str, Any] = {"sample_weight": sample_weight, "exposure": exposure}
    for name, values in numbers.items():
        if values is None:
            continue
        numbers[name] = np.asarray(values, dtype=np.float64)
        if numbers[name].shape != (n_rows,):
            raise DataError(
                f"{name} has shape {numbers[name].shape} for {n_rows} rows; pass one a row."
            )
    if _num_samples(y) != n_rows:
        raise DataError(f"y has {_num_samples(y)} values for {n_rows} rows of X; pass one a row.")
    if time is None:
        raise DataError("time is None; a comparison over time needs the time of every row.")
    axis, codes = fit_axis(time, n_rows, splitter.freq)
    X = X.tocsr() if hasattr(X, "tocsr") else X
    y = y.tocsr() if hasattr(y, "tocsr") else y
    return Data(X, y, time, axis, codes, **numbers)


def _candidates(models: dict[str, Any], grids: dict[str, Any] | None) -> Grids:
    """What to try for every model; one empty set of parameters where nothing is given."""
    unknown = set(grids or {}) - set(models)
    if unknown:
        raise DataError(
            f"grids names {min(unknown)!r}, which is no model; "
            f"the models are {', '.join(repr(name) for name in models)}."
        )
    out = {name: list(ParameterGrid((grids or {}).get(name, {}))) for name in models}
    for name, sets in out.items():
        known = models[name].get_params()
        wrong = [param for params in sets for param in params if param not in known]
        if wrong:
            raise DataError(
                f"the grid of {name!r} has {wrong[0]!r}, which is no parameter of "
                f"{type(models[name]).__name__}; it has {', '.join(sorted(known))}."
            )
    return out


def _open_cache(cache_dir: Any, data: Data) -> Cache | None:
    if cache_dir is None:
        return None
    axis, codes = repr(data.axis), data_digest(data.codes)
    parts = [data_digest(part) for part in (data.X, data.y, data.sample_weight, data.exposure)]
    # Models name families and priors, and those of users may change between two runs.
    outside = [resolve(home) for home in registered_outside()]
    # The labels themselves too: a model may have a freq of its own.
    said = library_fingerprint(), outside, axis, codes, data_digest(data.time)
    return Cache.open(cache_dir, digest(*said, *parts))


def _plain(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters as JSON can hold them: numbers and strings as they are, others by name."""
    plain: dict[str, Any] = {}
    for name, value in params.items():
        item = value.item() if isinstance(value, np.generic) else value
        plain[name] = item if isinstance(item, str | int | float | None) else repr(item)
    return plain
