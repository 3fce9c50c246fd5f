"""The pieces of work in a comparison, and how they are run: in parallel, cached, with a bar."""

from __future__ import annotations

import itertools
import time as clock
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import BaseEstimator, clone
from threadpoolctl import threadpool_limits

from driftglm._progress import progress_bar
from driftglm._typing import FloatArray
from driftglm.baselines.tuning import Choice, choose
from driftglm.distributed.client import Client, Tasks, engine_errors
from driftglm.evaluation.cache import Cache, Piece
from driftglm.evaluation.contestants import (
    Data,
    chain_predictions,
    fitted,
    fitted_in_turn,
    predicted,
    prepared,
    split_pipeline,
    take,
)
from driftglm.evaluation.metrics import Metric, finite
from driftglm.evaluation.scores import Score, loss_of_classes, points_only, scored
from driftglm.evaluation.splits import Fold
from driftglm.families import BetaBinomial
from driftglm.registry import restore, snapshot


@dataclass(frozen=True)
class FitTask:
    """Fit a model with some parameters on a fold's training rows and predict its test rows.

    With a `metric` that scores distributions these are scored at once: they are not stored.
    """

    name: str
    model: BaseEstimator
    params: dict[str, Any]
    metric: Metric | Score
    fold: Fold

    def settings(self) -> tuple[Any, ...]:
        """All that the outcome depends on, beside the data."""
        own = ("fit", self.model, self.params, self.fold.train, self.fold.test)
        return (*own, self.metric) if isinstance(self.metric, Score) else own

    def run(self, data: Data) -> Piece:
        """The predictions, and how long they took."""
        began = clock.perf_counter()
        model, test = prepared(self.model, self.params), self.fold.test
        if reason := _why_not(self.metric, model):
            return {"left_out": reason, "seconds": 0.0}, {}
        final, X_new = fitted(model, data, self.fold.train, test)
        facts, arrays = _judged(self.metric, final, X_new, data, test)
        return facts | {"seconds": clock.perf_counter() - began}, arrays


@dataclass(frozen=True)
class UpdateTask:
    """Fit a model before the first of some folds, and go on from there to each of the next.

    Every fold trains on the rows of the fold before and on those of later steps. The piece has the
    test rows of all folds, one after the other.
    """

    name: str
    model: BaseEstimator
    params: dict[str, Any]
    metric: Metric | Score
    folds: tuple[Fold, ...]

    def settings(self) -> tuple[Any, ...]:
        """All that the outcome depends on, beside the data."""
        rows = [(fold.train, fold.test) for fold in self.folds]
        own = ("update", self.model, self.params, rows)
        return (*own, self.metric) if isinstance(self.metric, Score) else own

    def run(self, data: Data) -> Piece:
        """The predictions of all folds, and how long they took."""
        began = clock.perf_counter()
        model = prepared(self.model, self.params)
        if reason := _why_not(self.metric, model):
            return {"left_out": reason, "seconds": 0.0}, {}
        found = []
        fits = fitted_in_turn(model, data, [fold.train for fold in self.folds])
        for final, fold in zip(fits, self.folds, strict=True):
            X_new = take(data.X, fold.test)
            facts, arrays = _judged(self.metric, final, X_new, data, fold.test)
            if facts:
                return facts | {"seconds": 0.0}, {}
            found.append(arrays)
        arrays = {key: np.concatenate([each[key] for each in found]) for key in found[0]}
        return {"seconds": clock.perf_counter() - began}, arrays


def _why_not(metric: Metric | Score, model: BaseEstimator) -> str:
    """Why a model cannot be judged by a metric, before it is fitted; "" if it may be."""
    return points_only(split_pipeline(model)[1]) if isinstance(metric, Score) else ""


def _judged(metric: Metric | Score, final: BaseEstimator, X: Any, data: Data, test: Any) -> Piece:
    """Predictions of a fitted model, and what is stored of its distributions."""
    if isinstance(metric, Score):
        return scored(metric, final, X, data, test)
    return {}, {"prediction": predicted(final, X, data, test)}


@dataclass(frozen=True)
class ChainTask:
    """Let a baseline run along its own grid on a tuning fold, and keep the best parameters."""

    name: str
    model: BaseEstimator
    metric: Metric | Score
    fold: Fold

    def settings(self) -> tuple[Any, ...]:
        """All that the outcome depends on, beside the data."""
        return ("chain", self.model, self.metric.loss, self.fold.train, self.fold.test)

    def run(self, data: Data) -> Piece:
        """The chosen parameters, and how long the search took."""
        began = clock.perf_counter()
        test = self.fold.test
        if isinstance(self.metric, Score) and points_only(split_pipeline(self.model)[1]):
            # Nothing to choose: it is left out when it comes to the test steps.
            return {"params": {}, "at_edge": False}, {}

        def error(prediction: FloatArray) -> float:
            arrays = {"prediction": prediction}
            if isinstance(self.metric, Score):
                arrays["loss"] = loss_of_classes(self.metric, data, test, prediction)
            return mean_loss(self.metric, data, test, arrays, self.name)

        model = clone(self.model)
        chains = chain_predictions(model, data, self.fold.train, test)
        choice: Choice = choose(
            (((params, error(prediction)) for params, prediction in chain) for chain in chains),
            patience=lambda: split_pipeline(model)[1].patience,
        )
        facts = {
            "params": choice.params,
            "error": choice.error,
            "at_edge": choice.at_edge,
            "seconds": clock.perf_counter() - began,
        }
        return facts, {}


Task = FitTask | UpdateTask | ChainTask
Known = dict[str, dict[str, str]]
N_WARNINGS = 5


def observed_probability(data: Data, rows: np.ndarray, prediction: FloatArray) -> FloatArray:
    """Predictions as a metric takes them: of classes, the probability of the one observed."""
    if prediction.ndim == 1:
        return prediction
    column = np.searchsorted(np.unique(data.y), np.asarray(take(data.y, rows)))
    return np.asarray(prediction[np.arange(rows.size), column])


def losses_of(
    metric: Metric | Score,
    data: Data,
    rows: np.ndarray,
    arrays: Mapping[str, FloatArray],
    name: str,
) -> FloatArray:
    """Losses of some rows from what a task found, which must all be finite."""
    y, prediction = data.target(rows), observed_probability(data, rows, arrays["prediction"])
    if data.of_trials and metric.name == BetaBinomial.metric:
        y = data.counts(rows)
    if isinstance(metric, Score):
        return finite(arrays["loss"], y, prediction, f"metric {metric.name!r}", name)
    return metric(y, prediction, name)


def mean_loss(
    metric: Metric | Score,
    data: Data,
    rows: np.ndarray,
    arrays: Mapping[str, FloatArray],
    name: str,
) -> float:
    """Weighted mean loss of some rows; infinite for a model that has no distributions."""
    if not arrays:
        return float("inf")
    losses = losses_of(metric, data, rows, arrays, name)
    return float(np.average(losses, weights=data.weights(rows)))


@dataclass(frozen=True)
class Runner:
    """Runs tasks, on Dask workers if there is a `client`, else in `n_jobs` processes.

    Results come in the order of the tasks, wherever they are run.
    """

    data: Data
    n_jobs: int | None
    cache: Cache | None
    verbose: bool | None
    client: Client | None = None

    def run(self, tasks: Sequence[Task], doing: str) -> list[Piece]:
        """The piece of every task, from the cache where it is there.

        The cache is this process's: workers may be machines that do not see its folder.
        """
        cache = self.cache
        keys = [cache.key(*task.settings()) if cache else "" for task in tasks]
        pieces = [cache.read(key) if cache else None for key in keys]
        missing = {k: task for k, task in enumerate(tasks) if pieces[k] is None}
        with (
            progress_bar(len(tasks), doing, verbose=self.verbose) as advance,
            warnings.catch_warnings(),
        ):
            # Workers whose memory has grown are replaced between tasks, which costs no result.
            warnings.filterwarnings("ignore", message="A worker stopped while some jobs")
            advance(len(tasks) - len(missing))
            for k, piece in self._found(missing):
                if cache:
                    cache.write(keys[k], piece)
                pieces[k] = piece
                advance(1)
        return [piece for piece in pieces if piece is not None]

    def _found(self, tasks: dict[int, Task]) -> Iterable[tuple[int, Piece]]:
        """Number and piece of every task, as they are finished."""
        if self.client is not None:
            return results_from(self.client, self.data, tasks)
        known = snapshot()
        jobs = (delayed(numbered_piece)(k, task, self.data, known) for k, task in tasks.items())
        if effective_n_jobs(self.n_jobs) == 1:  # None may mean all that a backend has
            return (function(*args) for function, args, _ in jobs)
        found: Iterable[tuple[int, Piece]]
        try:
            found = Parallel(n_jobs=self.n_jobs, return_as="generator_unordered")(jobs)
        except ValueError:  # a backend that cannot hand over results as they come
            found = Parallel(n_jobs=self.n_jobs)(jobs)
        return found


def run_by_name(runner: Runner, tasks: dict[str, list[Task]], doing: str) -> dict[str, list[Piece]]:
    """The pieces of the tasks of every model."""
    if not tasks:
        return {}
    pieces = iter(runner.run([task for each in tasks.values() for task in each], doing))
    return {name: list(itertools.islice(pieces, len(each))) for name, each in tasks.items()}


def results_from(client: Client, data: Data, tasks: dict[int, Task]) -> Iterator[tuple[int, Piece]]:
    """Number and piece of every task as workers finish them."""
    work = Tasks(client)
    try:
        with engine_errors(client):
            rows = work.share(data)
            known = snapshot()
            numbers = {work.submit(piece_of, task, rows, known): k for k, task in tasks.items()}
            for future, piece in work.as_completed(list(numbers)):
                yield numbers[future], piece
    finally:
        work.close()


def numbered_piece(number: int, task: Task, data: Data, known: Known) -> tuple[int, Piece]:
    """The piece of a task, with its number among the tasks."""
    return number, piece_of(task, data, known)


def piece_of(task: Task, data: Data, known: Known) -> Piece:
    """What a task gives, with what was warned of on the way.

    `known` is what the process that asks has registered; a worker has not seen it do so.
    """
    restore(known)
    # A sum depends in its last digits on the number of BLAS threads, and that number on how
    # many workers there are; one thread each gives the same digits everywhere.
    with threadpool_limits(limits=1), warnings.catch_warnings(record=True) as caught:
        # Printed by workers they would be lost, or repeated for every candidate: recorded instead.
        warnings.simplefilter("always")
        facts, arrays = task.run(data)
    said = dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in caught)
    return facts | {"warnings": list(said)[:N_WARNINGS]}, arrays
