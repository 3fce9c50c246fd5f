"""The client's side: which worker has which partition, and how to ask all of them.

The client holds what has one number a row, the workers hold X. A question goes to all partitions,
one task a worker; answers come back in the order of partitions, so that sums do not depend on who
answered first. What a lost worker had is loaded again, from the graph of the blocks.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import zip_longest
from typing import Any

import numpy as np

from driftglm._typing import FloatArray, IntArray
from driftglm.distributed.client import Client, Future, dask_distributed
from driftglm.distributed.messages import Spec, Summary, Wanted
from driftglm.distributed.wire import NO_ANSWER, Wire
from driftglm.distributed.worker import LOST, Job, forget, load, serve_as_task
from driftglm.exceptions import EngineError

PATIENCE = 60.0
"""Seconds to wait for a worker where there is none."""
FAREWELL = 5.0
"""Seconds the end of a fit waits for workers to free what they hold."""
STUCK = 40.0
"""Seconds that a task may wait for a worker which Dask has paused for want of memory."""
WAKE = 1.0
"""Seconds between looks at whether workers are still there."""
TIDY = 8 * 2**20
"""Bytes moved after which the remains of messages are collected."""
N_TRIES = 10
"""Times a partition may be lost during one question."""

Arguments = Callable[[int], tuple[Any, ...]]
Submission = tuple[str, Callable[[str], Future]]
"""A worker, and what submits a task to it or to another one."""


@dataclass
class Traffic:
    """Bytes of arrays moved, and rounds of questions."""

    sent: int = 0
    received: int = 0
    rounds: int = 0

    @property
    def total(self) -> int:
        """Both ways."""
        return self.sent + self.received


@dataclass
class Engine:
    """Partitions of X on the workers of a client.

    Parameters
    ----------
    client
        A `distributed.Client`.
    blocks
        For every partition its rows: an array, or a `Delayed` or `Future` of one.
    specs
        For every partition what its worker must know.
    where
        For every partition the rows of the design that are its own, in the order it has them.
    seen
        For every partition the steps it has rows of.
    """

    client: Client
    blocks: Sequence[Any]
    specs: list[Spec]
    where: list[IntArray]
    seen: list[IntArray]
    fit_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    traffic: Traffic = field(default_factory=Traffic)
    _worker_of: dict[int, str] = field(default_factory=dict)
    _generations: Counter[int] = field(default_factory=Counter)
    _tidied: int = 0

    @cached_property
    def _wire(self) -> Wire:
        return Wire(self.client)

    @property
    def count(self) -> int:
        """Number of partitions."""
        return len(self.blocks)

    def open(self, wanted: list[Wanted]) -> list[Summary]:
        """Load all partitions; returns what is to be known of each."""
        workers = sorted(self._workers())
        for number in range(self.count):
            self._worker_of[number] = workers[number * len(workers) // self.count]
        return self._load(range(self.count), wanted)

    def close(self) -> None:
        """Let the workers free what they hold."""
        if self.client.status != "running":
            return
        # A worker that is stopped does not answer; it is told, and not waited for.
        told = threading.Thread(target=self._forget, daemon=True)
        told.start()
        told.join(FAREWELL)

    def _forget(self) -> None:
        # Workers that are gone hold nothing.
        gone = OSError, RuntimeError, ValueError, TimeoutError, dask_distributed().CancelledError
        with contextlib.suppress(*gone):
            self.client.run(forget, self.fit_id, on_error="ignore")

    def ask(self, what: str, told: Arguments, again: Arguments | None = None) -> list[Any]:
        """One job a partition, answers in the order of partitions.

        `told` gives a partition's arguments; `again` those for a worker that does not have what
        it was told before. One that does not have the partition either has to load it first.
        """
        answers: dict[int, Any] = {}
        todo = {number: told(number) for number in range(self.count)}
        for _ in range(N_TRIES):
            answers |= self._round(what, todo)
            lost = [n for n in range(self.count) if isinstance(answers[n], str)]
            if not lost:
                return [answers[n] for n in range(self.count)]
            self._load([n for n in lost if answers[n] == LOST])
            todo = {number: (again or told)(number) for number in lost}
        raise EngineError(
            f"partition {lost[0]} was lost {N_TRIES} times in a row, most often for want of memory "
            "on the workers; give them more, or use smaller partitions."
        )

    def total(self, answers: Sequence[np.ndarray], n_timesteps: int) -> FloatArray:
        """Sum of arrays whose last axis are the partitions' steps, partition by partition."""
        out = np.zeros((*answers[0].shape[:-1], n_timesteps))
        for seen, answer in zip(self.seen, answers, strict=True):
            out[..., seen] += answer
        return out

    def rows(self, answers: Sequence[FloatArray], n_rows: int) -> FloatArray:
        """Arrays whose last axis are the partitions' rows, as one in the order of the design."""
        out = np.zeros((*answers[0].shape[:-1], n_rows))
        for where, answer in zip(self.where, answers, strict=True):
            out[..., where] = answer
        return out

    def take_off(self, shift: FloatArray, constant: IntArray) -> None:
        """Have all partitions take a number off their columns, also those loaded from now on."""
        self.specs = [replace(spec, shift=shift, constant=constant) for spec in self.specs]
        self.ask("take_off", lambda _: (shift, constant))

    def _round(self, what: str, todo: dict[int, tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
        by_worker, shifted = self._by_worker(todo), self.specs[0].shift is not None
        self.traffic.rounds += 1
        self.traffic.sent += sum(_size([todo[n] for n in part]) for part in by_worker.values())
        jobs: dict[str, list[Job]] = {
            worker: [((n, self._generations[n], shifted), what, todo[n]) for n in numbers]
            for worker, numbers in by_worker.items()
        }
        results = self._answers(jobs)
        for worker, numbers in by_worker.items():
            address, answers = results[worker]
            for number, answer in zip(numbers, answers, strict=True):
                if not isinstance(answer, str):  # else a worker without the partition answered
                    self._worker_of[number] = address
                self.traffic.received += _size(answer)
                yield number, answer

    def _answers(self, jobs: dict[str, list[Job]]) -> dict[str, tuple[str, list[Any]]]:
        """For every worker who answered in its place, and what: asked directly, else by a task."""
        found = self._wire.ask(self.fit_id, jobs, self._workers, WAKE)
        out = {worker: (worker, each) for worker, each in found.items() if each is not NO_ANSWER}
        left = [worker for worker in jobs if worker not in out]
        tasks = [(w, partial(self._submit, serve_as_task, self.fit_id, jobs[w])) for w in left]
        if tasks:
            out |= zip(left, self._finished(tasks), strict=True)
        if tasks and self.traffic.total - self._tidied > TIDY:
            # Messages of tasks that are done lie about in reference cycles; Python collects them
            # by the number of objects, not by their size.
            self._tidied = self.traffic.total
            gc.collect()
        return out

    def _by_worker(self, numbers: Iterable[int]) -> dict[str, list[int]]:
        """The partitions of every worker."""
        out: dict[str, list[int]] = {}
        for number in numbers:
            out.setdefault(self._worker_of[number], []).append(number)
        return out

    def _submit(self, function: Callable[..., object], *args: object) -> Future:
        """A task for a worker, the last argument, or for another one if that is gone."""
        target = {"workers": [args[-1]], "allow_other_workers": True}
        return self.client.submit(function, *args[:-1], pure=False, **target)

    def _load(self, numbers: Sequence[int], wanted: list[Wanted] | None = None) -> list[Any]:
        """Load partitions, one at a time on every worker: a block beside its columns is large."""
        if wanted is None:
            self._reassign(numbers)
        self._generations.update(numbers)
        found: dict[int, Any] = {}
        for heads in zip_longest(*self._by_worker(numbers).values()):
            batch = [number for number in heads if number is not None]
            loads = [(self._worker_of[n], partial(self._submit_load, n, wanted)) for n in batch]
            for number, (address, summary) in zip(batch, self._finished(loads), strict=True):
                self._worker_of[number] = address
                found[number] = summary
        return [found[number] for number in numbers]

    def _submit_load(self, number: int, wanted: list[Wanted] | None, worker: str) -> Future:
        block = self.blocks[number]
        if hasattr(block, "__dask_graph__"):
            # Anywhere: tasks with a worker wait for ever if they were waiting for it when the last
            # worker died, and all that ask for a block later wait for the same tasks.
            block = self.client.compute(block)
        asked = None if wanted is None else wanted[number]
        known = (number, self._generations[number]), self.specs[number]
        return self._submit(load, block, self.fit_id, *known, asked, worker)

    def _reassign(self, numbers: Sequence[int]) -> None:
        """Give partitions whose worker is gone to those that have the fewest."""
        workers = sorted(self._workers())
        moving = [n for n in numbers if self._worker_of[n] not in workers]
        held = Counter(self._worker_of[n] for n in range(self.count) if n not in set(moving))
        for number in moving:
            worker = min(workers, key=lambda each: held[each])
            self._worker_of[number] = worker
            held[worker] += 1

    def _workers(self) -> list[str]:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.client.status != "running":
                raise dask_distributed().CancelledError(f"the client is {self.client.status}")
            try:
                workers = list(self._known())
            except (OSError, TimeoutError) as error:
                raise dask_distributed().CancelledError("no answer of the scheduler") from error
            if workers:
                return workers
            time.sleep(WAKE)
        raise EngineError(
            f"the Dask cluster has had no worker for {PATIENCE:.0f} seconds; add workers and fit "
            "again."
        )

    def _known(self) -> dict[str, Any]:
        """What the scheduler knows of its workers, by address."""
        return dict(self.client.scheduler_info(n_workers=-1)["workers"])

    def _check_paused(self, waiting: set[str], since: dict[str, float]) -> dict[str, float]:
        """When those that are waited for were paused; raises where that is too long ago.

        Dask starts no task on a worker that holds too much, and what it holds may well be what it
        took to start: libraries, and blocks in the making.
        """
        now, found = time.monotonic(), {}
        for address, worker in self._known().items():
            if address not in waiting or worker.get("status") != "paused":
                continue
            found[address] = since.get(address, now)
            if now - found[address] > STUCK:
                limit, used = worker["memory_limit"], worker["metrics"]["memory"]
                raise EngineError(
                    f"the Dask worker {address} has been paused for {STUCK:.0f} seconds: it uses "
                    f"{used / 2**20:.0f} MiB and its memory limit is {limit / 2**20:.0f} MiB. "
                    "Give workers more memory (memory_limit=), or use more of them or smaller "
                    "partitions."
                )
        return found

    def _finished(self, submissions: Sequence[Submission]) -> list[Any]:
        """Results of tasks, once all are done; raises where none will come.

        A task whose worker is gone is submitted anew for another one: Dask forgets those that were
        waiting when there was no worker at all. Doing something twice does no harm: workers know
        what comes too late.
        """
        wait = dask_distributed().wait
        asked = [worker for worker, _ in submissions]
        futures = [submit(worker) for worker, submit in submissions]
        paused_at: dict[str, float] = {}
        while True:
            try:
                wait(futures, timeout=WAKE)
                break
            except TimeoutError:
                workers = sorted(self._workers())
            waiting = {w for w, f in zip(asked, futures, strict=True) if f.status == "pending"}
            paused_at = self._check_paused(waiting, paused_at)
            for k, future in enumerate(futures):
                if future.status == "pending" and asked[k] not in workers:
                    asked[k] = workers[k % len(workers)]
                    futures[k] = submissions[k][1](asked[k])
        found = list(self.client.gather(futures))
        for future in futures:  # else Dask would do them again if their worker died
            future.release()
        return found


def _size(value: object, seen: set[int] | None = None) -> int:
    """Bytes of the arrays in a message, in which an array that is named twice travels once."""
    seen = set() if seen is None else seen
    if isinstance(value, list | tuple):
        return sum(_size(each, seen) for each in value)
    if not isinstance(value, np.ndarray) or id(value) in seen:
        return 0
    seen.add(id(value))
    return int(value.nbytes)


def announce(client: Client, n_partitions: int) -> None:
    """Where to watch a fit, on standard error."""
    link = client.dashboard_link or "none"
    sys.stderr.write(f"driftglm: {n_partitions} partitions on Dask, dashboard {link}\n")
    sys.stderr.flush()
