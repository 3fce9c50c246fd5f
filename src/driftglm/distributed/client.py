"""The Dask client a fit works through: the user's own, or a local cluster for the time of the fit.

Nothing here is imported by a fit that stays in its own process.
"""

from __future__ import annotations

import multiprocessing
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from numbers import Integral
from typing import Any
from uuid import uuid4

from driftglm.exceptions import DataError, EngineError

Client = Any
"""`distributed.Client`; Dask is not there to be checked against where it is not installed."""
Future = Any
NO_CLIENT = (
    "no Dask client is active in this process; start one, distributed.Client(address), or {}."
)
GUARD = 'in a script, make the call under if __name__ == "__main__":, as workers import the script'
SCHEDULER = "scheduler"
"""How Dask's reasons for a lost future begin where it was lost with the scheduler."""
INSTALL = 'pip install "driftglm[distributed]"'


def active_client() -> Client | None:
    """The client most recently started in this process and not closed, if any."""
    if "distributed" not in sys.modules:
        return None  # whoever has a client has imported it
    try:
        return dask_distributed().default_client()
    except ValueError:
        return None


def find_client(client: object) -> Client | None:
    """The client meant by an argument: itself, the active one for "active", or None."""
    if client is None:
        return None
    if isinstance(client, str) and client == "active":
        client = active_client()
        if client is None:
            raise EngineError(NO_CLIENT.format("pass client=None for fits in this process"))
    elif not isinstance(client, dask_distributed().Client):
        raise DataError(f"client={client!r}; pass a distributed.Client, 'active' or None.")
    return _waiting(client)


@contextmanager
def client_for(n_workers: int | None = None) -> Iterator[Client]:
    """The active client, or that of a local cluster which is closed at the end.

    Parameters
    ----------
    n_workers
        Processes of the local cluster, of one thread each. An active client goes first: then the
        workers are its own, however many it has.
    """
    n_workers = check_n_workers(n_workers)
    dask_distributed()
    client = active_client()
    if client is not None:
        yield _waiting(client)
    elif n_workers is not None:
        with _local_client(n_workers) as client:
            yield client
    else:
        raise EngineError(NO_CLIENT.format("pass n_workers= for a local cluster"))


def _waiting(client: Client) -> Client:
    if client.asynchronous:
        raise EngineError(
            "the Dask client is asynchronous, and fits wait for results; "
            "start one with asynchronous=False."
        )
    return client


def check_n_workers(n_workers: object) -> int | None:
    """None, or a whole number of at least one."""
    if n_workers is None:
        return None
    if isinstance(n_workers, bool) or not isinstance(n_workers, Integral) or n_workers < 1:
        raise DataError(f"n_workers={n_workers!r}; give a whole number, 1 or more, or None.")
    return int(n_workers)


def dask_distributed() -> Any:
    """The module `distributed`, with `dask.array` imported as well."""
    try:
        import_module("dask.array")
        return import_module("distributed")
    except ImportError as error:
        raise EngineError(
            f"fits on workers need Dask, and {error.name or error} is missing: {INSTALL}"
        ) from error


@contextmanager
def _local_client(n_workers: int) -> Iterator[Client]:
    """Processes on this machine, gone when the context ends."""
    module = dask_distributed()
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        # A worker imports the script that started it, and comes by this very call again.
        raise EngineError(f"a worker was asked to start workers; {GUARD}.")
    try:
        cluster = module.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0"
        )
    except (RuntimeError, OSError) as error:
        raise EngineError(
            f"the local cluster of {n_workers} workers did not start "
            f"({type(error).__name__}); {GUARD}."
        ) from error
    with cluster, module.Client(cluster) as client:
        yield client


RUN_AGAIN = "run it again with the scheduler up"


@contextmanager
def engine_errors(client: Client, advice: str = RUN_AGAIN) -> Iterator[None]:
    """Turn what Dask raises when it is lost for good into one sentence.

    What a task itself raises passes unchanged. A worker that dies is no error: its tasks are done
    again elsewhere.

    Parameters
    ----------
    client
        The client of the scheduler.
    advice
        What to do, after "the Dask scheduler was lost; "; such as where the checkpoint is.
    """
    module = dask_distributed()
    closed = import_module("distributed.client").ClosedClientError
    lost = module.CancelledError, closed, import_module("distributed.comm").CommClosedError
    scheduler = import_module("distributed.scheduler")
    dying = (module.KilledWorker, scheduler.NoValidWorkerError, scheduler.NoWorkerError)
    try:
        yield
    except lost as error:
        if client.status == "running" and _lost_alone(error):
            raise EngineError(
                "data given as Futures were lost with their worker and cannot be made again; pass "
                "dask arrays or delayed partitions, or keep the workers alive."
            ) from error
        raise EngineError(f"the Dask scheduler was lost; {advice}.") from error
    except dying as error:
        raise EngineError(
            "the Dask workers kept dying on the same task, most often for want of memory; "
            "give them more, or use smaller partitions."
        ) from error


def _lost_alone(error: BaseException) -> bool:
    """Whether futures were lost for another reason than the scheduler's end."""
    said = [error, *getattr(error, "error_groups", [])]
    reasons = [str(each.reason) for each in said if hasattr(each, "reason")]
    return any(not reason.startswith(SCHEDULER) for reason in reasons)


class Tasks:
    """Tasks of one fit or comparison, each done again whenever its result is lost.

    What tasks are given is part of them and stored by the scheduler, so that no worker is ever
    the only one to have it.

    Parameters
    ----------
    client
        Where tasks go.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self._token, self._n_tasks = uuid4().hex[:8], 0
        self._live: weakref.WeakSet[Future] = weakref.WeakSet()

    def submit(self, function: Callable[..., object], *args: object) -> Future:
        """A task, to be done anywhere."""
        self._n_tasks += 1
        name = getattr(function, "__name__", "part").strip("_")
        key = f"driftglm-{name}-{self._token}-{self._n_tasks}"
        # Dask warns of tasks that carry data with them, but these are meant to.
        config = import_module("dask.config")
        with config.set({"distributed.admin.large-graph-warning-threshold": "1 PiB"}):
            future = self.client.submit(function, *args, key=key)
        self._live.add(future)
        return future

    def share(self, something: object) -> Future:
        """An argument of many tasks: sent once, then from worker to worker."""
        return self.submit(_same, something)

    def gather(self, futures: Sequence[Future]) -> list[Any]:
        """Results, in the order of the futures."""
        return list(self.client.gather(list(futures)))

    def as_completed(self, futures: Sequence[Future]) -> Iterator[tuple[Future, Any]]:
        """Futures and their results as they come."""
        yield from dask_distributed().as_completed(futures, with_results=True)

    def close(self) -> None:
        """Let go of all that is still on the workers, or under way."""
        for future in list(self._live):
            future.release()


def _same(shared: object) -> object:
    return shared
