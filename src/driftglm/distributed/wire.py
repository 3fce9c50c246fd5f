"""Questions that go straight to the workers, past the scheduler.

A task takes several messages between client, scheduler and worker, and its result goes through the
scheduler as well; a fit asks hundreds of questions, one after the other. So workers are asked over
the connections that the processes of Dask have with each other. Nobody relies on it: a worker that
cannot be reached from here, or does not answer, is left to tasks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from concurrent import futures
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from driftglm.distributed.client import Client

HANDLER = "driftglm_serve"
REACH = 5.0
"""Seconds to wait for a connection to a worker."""
NO_ANSWER = object()
"""In the place of the answer of a worker that did not give one."""
Serve = Callable[[str, list[Any]], list[Any]]


@dataclass
class Letter:
    """What travels, packed as one: an array that several parts have in common goes once."""

    content: Any


def opened(sent: Any) -> Letter:
    """A letter as it was put in: connections within a process hand its envelope over with it."""
    envelope = import_module("distributed.protocol").Serialize
    letter: Letter = sent.data if isinstance(sent, envelope) else sent
    return letter


def listen(worker: Any, serve: Serve) -> None:
    """Have a worker answer what it is asked; in its own thread, as it does tasks."""
    handlers = getattr(worker, "handlers", None)
    if handlers is None or HANDLER in handlers:
        return
    pack = import_module("distributed.protocol").to_serialize

    async def answer(fit_id: str, jobs: Letter) -> Any:
        loop = asyncio.get_running_loop()
        content = opened(jobs).content
        found = await loop.run_in_executor(worker.executor, serve, fit_id, content)
        return pack(Letter(found))

    handlers[HANDLER] = answer


class Wire:
    """Connections to workers.

    Parameters
    ----------
    client
        A `distributed.Client`.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self._deaf: set[str] = set()

    def ask(
        self,
        fit_id: str,
        jobs: dict[str, list[Any]],
        present: Callable[[], Collection[str]],
        wake: float,
    ) -> dict[str, Any]:
        """What every worker answers to its jobs, by address, or NO_ANSWER.

        Every `wake` seconds `present` says which workers there are; of others nothing is awaited.
        """
        loop = self.client.loop.asyncio_loop
        out: dict[str, Any] = dict.fromkeys(jobs, NO_ANSWER)
        pending = {
            asyncio.run_coroutine_threadsafe(self._ask_one(address, fit_id, part), loop): address
            for address, part in jobs.items()
            if address not in self._deaf
        }
        try:
            while pending:
                done, _ = futures.wait(pending, timeout=wake)
                for future in done:
                    out[pending.pop(future)] = future.result()
                if not done:
                    there = present()
                    for future in [each for each, at in pending.items() if at not in there]:
                        future.cancel()
                        del pending[future]
        finally:
            for future in pending:
                future.cancel()
        return out

    async def _ask_one(self, address: str, fit_id: str, jobs: list[Any]) -> Any:
        core, protocol = import_module("distributed.core"), import_module("distributed.protocol")
        pool = self.client.rpc
        try:
            comm = await asyncio.wait_for(pool.connect(address), REACH)
            try:
                message = {"fit_id": fit_id, "jobs": protocol.to_serialize(Letter(jobs))}
                answer = await core.send_recv(comm, op=HANDLER, **message)
            finally:
                pool.reuse(address, comm)
        except (OSError, TimeoutError):
            answer = None  # as a worker that has not learned to listen says
        if answer is None:
            self._deaf.add(address)
            return NO_ANSWER
        return opened(answer).content
