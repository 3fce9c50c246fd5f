"""The pieces of work in a comparison, and how they are run: in parallel, cached, with a bar."""

from __future__ import annotations

import time as clock
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import threadpool_limits

from driftglm._progress import progress_bar
from driftglm._typing import FloatArray
from driftglm.baselines.tuning import Choice, choose
from driftglm.distributed.client import Tasks, engine_errors
from driftglm.evaluation.cache import Cache, Piece
from driftglm.evaluation.contestants import (
    Data,
    chain_predictions,
    predictions,
    split_pipeline,
    take,
)
from driftglm.evaluation.metrics import Metric
from driftglm.evaluation.splits import Fold
from driftglm.registry import restore, snapshot


@dataclass(frozen=True)
class FitTask:
    """Fit a model with some parameters on a fold's training rows and predict its test rows."""

    name: str
    model: Any
    params: dict[str, Any]
    fold: Fold

    def settings(self) -> tuple[Any, ...]:
        """All that the outcome depends on, beside the data."""
        return ("fit", self.model, self.params, self.fold.train, self.fold.test)

    def run(self, data: Data) -> Piece:
        """The predictions, and how long they took."""
        began = clock.perf_counter()
        found = predictions(self.model, self.params, data, self.fold.train, self.fold.test)
        return {"seconds": clock.perf_counter() - began}, {"prediction": found}


@dataclass(frozen=True)
class ChainTask:
    """Let a baseline run along its own grid on a tuning fold, and keep the best parameters."""

    name: str
    model: Any
    metric: Metric
    fold: Fold

    def settings(self) -> tuple[Any, ...]:
        """All that the outcome depends on, beside the data."""
        return ("chain", self.model, self.metric.loss, self.fold.train, self.fold.test)

    def run(self, data: Data) -> Piece:
        """The chosen parameters, and how long the search took."""
        began = clock.perf_counter()
        test = self.fold.test

        def error(prediction: FloatArray) -> float:
            return mean_loss(self.metric, data, test, prediction, self.name)

        chains = chain_predictions(self.model, data, self.fold.train, test)
        choice: Choice = choose(
            (((params, error(prediction)) for params, prediction in chain) for chain in chains),
            leave=split_pipeline(self.model)[1].leaves_chains,
        )
        facts = {
            "params": choice.params,
            "error": choice.error,
            "at_edge": choice.at_edge,
            "seconds": clock.perf_counter() - began,
        }
        return facts, {}


Task = FitTask | ChainTask
Known = dict[str, dict[str, str]]
N_WARNINGS = 5


def observed_probability(data: Data, rows: np.ndarray, prediction: FloatArray) -> FloatArray:
    """Predictions as a metric takes them: of classes, the probability of the one observed."""
    if prediction.ndim == 1:
        return prediction
    column = np.searchsorted(np.unique(data.y), np.asarray(take(data.y, rows)))
    return np.asarray(prediction[np.arange(rows.size), column])


def mean_loss(
    metric: Metric, data: Data, rows: np.ndarray, prediction: FloatArray, name: str
) -> float:
    """Weighted mean loss of predictions for some rows."""
    y = data.target(rows)
    losses = metric(y, observed_probability(data, rows, prediction), name)
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
    client: Any = None

    def run(self, tasks: Sequence[Task], doing: str) -> list[Piece]:
        """The piece of every task."""
        if not tasks:
            return []
        pieces: list[Piece | None] = [None] * len(tasks)
        with (
            progress_bar(len(tasks), doing, verbose=self.verbose) as advance,
            warnings.catch_warnings(),
        ):
            # Workers whose memory has grown are replaced between tasks, which costs no result.
            warnings.filterwarnings("ignore", message="A worker stopped while some jobs")
            found = self._on_workers(tasks) if self.client is not None else self._here(tasks)
            for k, piece in found:
                pieces[k] = piece
                advance(1)
        return [piece for piece in pieces if piece is not None]

    def _here(self, tasks: Sequence[Task]) -> Any:
        known = snapshot()
        jobs = (delayed(run_task)(k, t, self.data, known, self.cache) for k, t in enumerate(tasks))
        if effective_n_jobs(self.n_jobs) == 1:  # None may mean all that a backend has
            return (function(*args) for function, args, _ in jobs)
        try:
            return Parallel(n_jobs=self.n_jobs, return_as="generator_unordered")(jobs)
        except ValueError:  # a backend that cannot hand over results as they come
            return Parallel(n_jobs=self.n_jobs)(jobs)

    def _on_workers(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Piece]]:
        """The cache is this process's: workers may be machines that do not see its folder."""
        cache = self.cache
        keys = [cache.key(*task.settings()) if cache else "" for task in tasks]
        known = [cache.read(key) if cache else None for key in keys]
        yield from ((k, piece) for k, piece in enumerate(known) if piece is not None)
        open_tasks = {k: task for k, task in enumerate(tasks) if known[k] is None}
        for k, piece in results_from(self.client, self.data, open_tasks):
            if cache:
                cache.write(keys[k], piece)
            yield k, piece


def results_from(client: Any, data: Data, tasks: dict[int, Task]) -> Iterator[tuple[int, Piece]]:
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


def run_task(
    position: int, task: Task, data: Data, known: Known, cache: Cache | None
) -> tuple[int, Piece]:
    """One task, read from the cache if it is there."""
    key = cache.key(*task.settings()) if cache else ""
    piece = cache.read(key) if cache else None
    if piece is None:
        piece = piece_of(task, data, known)
        if cache:
            cache.write(key, piece)
    return position, piece


def piece_of(task: Task, data: Data, known: Known) -> Piece:
    """What a task gives, with what was warned of on the way.

    `known` is what the process that asks has registered; a worker has not seen it do so.
    """
    restore(known)
    # A sum depends in its last digits on the number of BLAS threads, and that number on how
    # many workers there are; one thread each gives the same digits everywhere.
    with threadpool_limits(limits=1), warnings.catch_warnings(record=True) as caught:
        # Printed by workers they would be lost, or repeated for every candidate: kept instead.
        warnings.simplefilter("always")
        facts, arrays = task.run(data)
    said = dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in caught)
    return facts | {"warnings": list(said)[:N_WARNINGS]}, arrays
