"""Saves side by side, folders that must not be written, interrupted updates, hostile names."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from commands import run, table, wrong
from tally import Tally

import driftglm
from driftglm import DriftRegressor
from driftglm.baselines import RidgeAll
from driftglm.exceptions import DriftError

NOBODY, N_WRITERS = 65534, 4
NAMES = [
    *("<script>alert(1)</script>", "</script><img src=x onerror=alert(2)>", '"onload="x', "<!--"),
    *("\x1b]0;t\x07", "\u202eevil", "{{7*7}}", "=cmd", "\u2028", "'-alert(3)-'", "&lt;b&gt;"),
]


def attack_folders(n_times: int, seed: int, folder: Path) -> Tally:
    """Each kind in turn."""
    tally, rng = Tally("folders and names"), np.random.default_rng(seed)
    ways = [_side_by_side, _read_only, _interrupted, _named]
    for k in range(n_times):
        way = ways[k % len(ways)]
        within = folder / f"try{k}"
        within.mkdir()
        try:
            said = way(within, rng)
        except Exception as error:  # noqa: BLE001 (what is looked for)
            said = f"{type(error).__name__}: {error!s:.80}"
        if said:
            tally.fail(f"seed {seed} try {k} {way.__name__[1:]}: {said}")
        else:
            tally.hold(way.__name__[1:].replace("_", " "))
    return tally


def _in_another_process(work, *, as_nobody: bool = False) -> int:
    """Process id of a copy of this process that does some work; as nobody who may write less."""
    child = os.fork()
    if child:
        return child
    code = 70
    with contextlib.suppress(BaseException):
        if as_nobody:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        code = work()
    os._exit(code)


def _side_by_side(folder: Path, rng: np.random.Generator) -> str:
    """Some processes save to one file, over and over: whoever reads it finds a whole one."""
    path, X = folder / "kept.drift", rng.normal(size=(200, 40))
    model = RidgeAll(strength=1.0).fit(X, X[:, 0])
    model.save(path)

    def save() -> int:
        for _ in range(10):
            model.save(path)
        return 0

    children = [_in_another_process(save) for _ in range(N_WRITERS)]
    left = list(children)
    while left:
        driftglm.load(path)
        left = [pid for pid in left if os.waitpid(pid, os.WNOHANG)[0] == 0]
        time.sleep(0.002)
    drafts = len(list(folder.glob(".writing-*")))
    return f"{drafts} drafts stay" if drafts else ""


def _read_only(_: Path, rng: np.random.Generator) -> str:
    """A command that may not write where it is told to says so in one line and leaves nothing."""
    with tempfile.TemporaryDirectory() as own:  # where nobody gets, unlike pytest's folders
        return _closed(Path(own), rng)


def _closed(folder: Path, rng: np.random.Generator) -> str:
    data = table(folder)
    run(["fit", str(data), "--target", "y", "--time", "year", "-o", str(folder / "m.drift")])
    closed = folder / "closed"
    closed.mkdir()
    (closed / "old.drift").write_bytes((folder / "m.drift").read_bytes())
    folder.chmod(0o755)
    closed.chmod(0o555)
    calls = [
        ["fit", str(data), "--target", "y", "--time", "year", "-o", str(closed / "new.drift")],
        ["fit", str(data), "--target", "y", "--time", "year", "-o", str(closed / "old.drift")],
        ["predict", str(folder / "m.drift"), str(data), "-o", str(closed / "p.csv")],
        ["report", str(folder / "m.drift"), "-o", str(closed / "r.html")],
        ["shard", str(data), "-o", str(closed / "parts")],
    ]
    call, said = calls[int(rng.integers(len(calls)))], folder / "said"
    said.touch(mode=0o666)
    said.chmod(0o666)
    before = {path.name: path.read_bytes() for path in closed.iterdir()}

    def work() -> int:
        code, out, err = run(call)
        found = wrong(code, out, err, Path(call[-1]))
        if not found and code != 2:
            found = f"ended with {code}: {err[-80:]}"
        said.write_text(found)
        return 0

    status = os.waitpid(_in_another_process(work, as_nobody=os.getuid() == 0), 0)[1]
    closed.chmod(0o755)
    if status:
        return f"the process ended with {status}"
    if {path.name: path.read_bytes() for path in closed.iterdir()} != before:
        return f"{call[0]} changed what it must not write"
    return said.read_text()


def _interrupted(_: Path, rng: np.random.Generator) -> str:
    """Ctrl-C in an update: the model is as it was, or updated, and goes on."""
    X, t = rng.normal(size=(60, 3)), np.repeat(np.arange(6), 10)
    more, late = rng.normal(size=(3000, 3)), np.repeat(np.arange(6, 12), 500)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DriftRegressor(keep_data=True).fit(X, X[:, 0] + rng.normal(size=60), time=t)
        before = model.predict(X)
        stop = threading.Timer(rng.uniform(0.0, 0.5), os.kill, [os.getpid(), signal.SIGINT])
        ended = False
        try:
            stop.start()
            model.update(more, more[:, 0], time=late)
            ended = True
            stop.join()
            time.sleep(0.01)
        except KeyboardInterrupt:
            pass
        steps = len(model.timesteps_)
        if steps != len(model.coef_path_) or steps not in {6, 12}:
            return "half of an update is in the model"
        same = np.array_equal(before, model.predict(X))
        if same == (steps == 12) and not ended:
            return "steps and coefficients are of two models"
        model.update(X, X[:, 0], time=np.full(60, steps))
    return "" if len(model.timesteps_) == steps + 1 else "it does not go on"


def _named(folder: Path, rng: np.random.Generator) -> str:
    """Names that are code of pages or terminals: a report and a summary show them as names."""
    names = [NAMES[int(k)] for k in rng.permutation(len(NAMES))[:4]]
    frame = pd.DataFrame(rng.normal(size=(60, 4)), columns=names)
    frame["y"], frame["year"] = 2 * frame[names[0]] + rng.normal(size=60), np.arange(60) // 10
    frame["c"] = np.resize(NAMES, 60)
    if rng.random() < 0.5:
        frame["y"] = np.where(frame["y"] > 0, NAMES[0], NAMES[1])
    frame.to_csv(folder / "named.csv", index=False)
    model, page = folder / "m.drift", folder / "r.html"
    fit = ["fit", str(folder / "named.csv"), "--target", "y", "--time", "year", "-o", str(model)]
    for call in (fit, ["report", str(model), "-o", str(page)]):
        code, out, err = run(call)
        if said := wrong(code, out, err, model) or (f"ended with {code}" if code else ""):
            return said
    html = page.read_text(encoding="utf-8")
    loaded = driftglm.load(model)
    shown = html + str(getattr(loaded.estimator, "_repr_html_", str)())
    raw = [name for name in NAMES if "<" in name and name != "<!--" and name in shown]
    with contextlib.suppress(DriftError):
        loaded.summary()
    return f"{raw[0]} stands in a page as it is" if raw else ""
