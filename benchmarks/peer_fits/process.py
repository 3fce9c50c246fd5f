"""One fit in a process of its own: timed, weighed, and cut off when it takes too long."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time as clock
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from driftglm.registry import restore, snapshot
from peer_fits.data import NotApplicableError, PeerData
from peer_fits.registry import Peer, why_not

PATIENCE = 240.0
"""Seconds for imports, warm-up and preparation, none of which are counted."""
POLL = 0.02
BRIEF = 10.0
"""Seconds below which a fit may be made several times."""
WIDTH = 20
"""Columns of the data that warm up, if those of interest have as many."""
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""For every contestant: threads that wait for each other slow small matrices down many times.

What the user has set is kept. driftglm's n_jobs and numba count cores, not these."""
CHILD = "import sys; from peer_fits.process import main; main(sys.argv[1])"
FINISHED, UNSETTLED, CUT = "finished", "not converged", "not finished"
ABSENT, UNFIT, FAILED = "not installed", "not applicable", "failed"


@dataclass(frozen=True)
class Result:
    """What is known of one peer on one data set.

    Parameters
    ----------
    status
        "finished", "not converged" (figures are there all the same), "not finished", "not
        installed", "not applicable" or "failed".
    memory
        Peak bytes of the process during the fit, above those before it; None where unknown.
    note
        What was chosen, or the reason.
    load
        Load average of a minute before the process was started; None where unknown.
    """

    data: str
    peer: str
    status: str
    seconds: float | None = None
    loss: float | None = None
    n_nonzero: int | None = None
    memory: int | None = None
    note: str = ""
    load: float | None = None

    @property
    def measured(self) -> bool:
        """Whether there are figures."""
        return self.status in {FINISHED, UNSETTLED}


def run_peers(
    data: PeerData,
    peers: list[Peer],
    *,
    limit: float | Callable[[Peer], float],
    n_fits: int = 1,
    patience: float = PATIENCE,
    stored: Callable[[Peer, Callable[[], Result]], Result] = lambda _, run: run(),
    advance: Callable[[Result], Any] = lambda _: None,
) -> list[Result]:
    """Every peer in turn on the same data; one that fails or hangs does not stop the others.

    Parameters
    ----------
    limit
        Seconds for a fit, or a function that gives them for a peer.
    n_fits
        How often a fit of less than `BRIEF` seconds is made; the least time counts.
    stored
        Asked for every result: it may know it, or call the function it is given.
    """
    results = []
    with tempfile.TemporaryDirectory(prefix="driftglm-peers-") as name:
        folder = Path(name)
        data.save(folder)
        for peer in peers:
            seconds = limit(peer) if callable(limit) else limit

            def run(peer: Peer = peer, seconds: float = seconds) -> Result:
                limits = {"limit": seconds, "patience": patience}
                return run_peer(data, peer, folder, n_fits=n_fits, **limits)

            results.append(stored(peer, run))
            advance(results[-1])
    return results


def run_peer(
    data: PeerData,
    peer: Peer,
    folder: Path,
    *,
    limit: float,
    n_fits: int = 1,
    patience: float = PATIENCE,
) -> Result:
    """One fit in a process of its own; `folder` holds the saved data."""
    base = Result(data.name, peer.name, FAILED)
    reason = why_not(peer, data.family)
    if reason is not None:
        return replace(base, status=UNFIT, note=reason)
    if peer.version is None:
        return replace(base, status=ABSENT)
    base = replace(base, load=_load())
    with tempfile.TemporaryDirectory(dir=folder) as name:
        job = Path(name)
        told = [str(folder), asdict(peer), n_fits, snapshot()]
        (job / "job.json").write_text(json.dumps(told))
        path = os.pathsep.join(p for p in sys.path if p)
        with (job / "log").open("wb") as log:
            process = subprocess.Popen(  # noqa: S603 (this module, in another process)
                [sys.executable, "-c", CHILD, str(job)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=ONE_THREAD | dict(os.environ) | {"PYTHONPATH": path},
            )
            try:
                said = _wait(process, job, limit, patience)
            finally:
                process.kill()
                process.wait()
        if said:
            return replace(base, status=CUT, note=said)
        return _read(base, job, process.returncode)


def _load() -> float | None:
    """Load average of the last minute; None where the system has none."""
    with contextlib.suppress(AttributeError, OSError):
        return os.getloadavg()[0]
    return None


def _wait(process: subprocess.Popen[bytes], job: Path, limit: float, patience: float) -> str:
    """Wait for the result; why it was not waited for longer, or an empty string."""
    began, started = clock.perf_counter(), None
    while process.poll() is None and not (job / "result.json").exists():
        now = clock.perf_counter()
        if started is None and (job / "started").exists():
            started = now
        fitting = started is not None and not (job / "fitted").exists()
        if started is not None and fitting and now - started > limit:
            return f"not finished in {limit:g} s"
        # Whatever is not the fit has a limit of its own, or one that hangs there would stay.
        if not fitting and now - began > patience + limit:
            return f"not ready in {patience + limit:g} s"
        clock.sleep(POLL)
    return ""


def _read(base: Result, job: Path, code: int) -> Result:
    with contextlib.suppress(OSError, ValueError):
        return replace(base, **json.loads((job / "result.json").read_text()))
    lines = (job / "log").read_text(errors="replace").strip().splitlines()
    return replace(base, note=f"ended with code {code}: {lines[-1] if lines else 'no message'}")


# ------------------------------------------------------------- in the process


def main(path: str) -> None:
    """Warm up, prepare, fit, predict; write what was found."""
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    job = Path(path)
    folder, about, n_fits, known = json.loads((job / "job.json").read_text())
    restore(known)
    peer = Peer(**about)
    data = PeerData.load(Path(folder))
    try:
        found = _measure(peer, data, job, n_fits)
    except NotApplicableError as reason:
        found = {"status": UNFIT, "note": str(reason)}
    except MemoryError:
        found = {"status": FAILED, "note": "not enough memory"}
    except Exception as error:  # noqa: BLE001 (whatever a peer raises is a result)
        words = " ".join(str(error).split())
        found = {"status": FAILED, "note": f"{type(error).__name__}: {words:.120}"}
    part = job / "result.part"
    part.write_text(json.dumps(found))
    part.rename(job / "result.json")


def _end_with_parent(parent: int) -> None:
    """A run that is killed leaves no fit behind that would disturb the next one."""
    while os.getppid() == parent:
        clock.sleep(1.0)
    os._exit(1)


def _measure(peer: Peer, data: PeerData, job: Path, n_fits: int) -> dict[str, Any]:
    with contextlib.suppress(Exception):  # what goes wrong there goes wrong below, and is shown
        small = tiny(data)
        peer.adapter().fit(peer.adapter().prepare(small))
    adapter = peer.adapter()
    prepared = adapter.prepare(data)
    before = _reset_peak()
    (job / "started").touch()
    began = clock.perf_counter()
    model = adapter.fit(prepared)
    seconds = clock.perf_counter() - began
    peak = _memory("VmHWM")
    (job / "fitted").touch()
    for _ in range(n_fits - 1 if seconds < BRIEF else 0):
        # Brief fits are at the mercy of whatever else the machine does.
        again = peer.adapter()
        began = clock.perf_counter()
        again.fit(prepared)
        seconds = min(seconds, clock.perf_counter() - began)
    loss = data.loss(model)
    if not np.isfinite(loss):
        return {"status": FAILED, "seconds": seconds, "note": "predictions without a finite loss"}
    return {
        "status": FINISHED if model.converged else UNSETTLED,
        "seconds": seconds,
        "loss": loss,
        "n_nonzero": int(model.n_nonzero),
        "memory": None if peak is None or before is None else max(peak - before, 0),
        "note": model.chosen,
    }


def tiny(data: PeerData) -> PeerData:
    """A small set of the same kind, for compilers to see first."""
    from driftglm.simulate import simulate_panel, simulate_text

    if data.family == "text":
        text = simulate_text(n_words=30, n_effects=3, docs_per_step=10, n_timesteps=3)
        parts = (text.counts, text.effects, text.time, text.counts_next, text.effects_next)
        return PeerData("tiny", "text", *parts)
    # Shared directions need some columns; their code would else be met in the fit that is timed.
    panel = simulate_panel(
        n_features=WIDTH if data.X.shape[1] >= WIDTH else 12,
        n_active=4,
        rows_per_step=40,
        n_timesteps=3,
        family=data.family,
    )
    X, X_next = panel.X, panel.X_next
    if data.sparse:
        X, X_next = type(data.X)(X), type(data.X)(X_next)
    return PeerData("tiny", data.family, X, panel.y, panel.time, X_next, panel.y_next)


def _memory(name: str) -> int | None:
    """VmRSS or VmHWM (the peak) of this process in bytes; None where there is no /proc."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return 1024 * int(line.split()[1])
    return None


def _reset_peak() -> int | None:
    """Memory now, from which the peak is counted anew."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    return _memory("VmRSS")
