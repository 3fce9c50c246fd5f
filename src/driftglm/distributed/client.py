"""The Dask client a fit works through: the user's own, or a local cluster for the time of the fit.

Nothing here is imported by a fit that stays in its own process.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from numbers import Integral
from typing import Any

from driftglm.exceptions import DataError, EngineError

Client = Any
"""`distributed.Client`; Dask is not there to be checked against where it is not installed."""
GUARD = 'in a script, make the call under if __name__ == "__main__":, as workers import the script'
INSTALL = 'pip install "driftglm[distributed]"'


def active_client() -> Client | None:
    """The client most recently started in this process and not closed, if any."""
    if "distributed" not in sys.modules:
        return None  # whoever has a client has imported it
    try:
        return dask_distributed().default_client()
    except ValueError:
        return None


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
    if client is None and n_workers is None:
        raise EngineError(
            "no Dask client is active in this process; start one, "
            "distributed.Client(address), or pass n_workers= for a local cluster."
        )
    if client is None:
        with _local_client(int(n_workers or 1)) as own:
            yield own
        return
    if client.asynchronous:
        raise EngineError(
            "the active Dask client is asynchronous and a fit waits for its results; "
            "start it with asynchronous=False."
        )
    yield client


def check_n_workers(n_workers: Any) -> int | None:
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


@contextmanager
def engine_errors(advice: str = "run it again with the scheduler up") -> Iterator[None]:
    """Turn what Dask raises when it is lost for good into one sentence.

    What a task itself raises passes unchanged. A worker that dies is no error: its tasks are done
    again elsewhere.

    Parameters
    ----------
    advice
        What to do, after "the Dask scheduler was lost; "; such as where the checkpoint is.
    """
    module = dask_distributed()
    lost = (
        module.CancelledError,
        import_module("distributed.client").ClosedClientError,
        import_module("distributed.comm").CommClosedError,
    )
    scheduler = import_module("distributed.scheduler")
    dying = (module.KilledWorker, scheduler.NoValidWorkerError, scheduler.NoWorkerError)
    try:
        yield
    except lost as error:
        raise EngineError(f"the Dask scheduler was lost; {advice}.") from error
    except dying as error:
        raise EngineError(
            "the Dask workers kept dying on the same task, most often for want of memory; "
            "give them more, or use smaller partitions."
        ) from error
