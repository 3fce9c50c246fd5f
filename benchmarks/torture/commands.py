"""The command line: bad calls, kills, a full disk."""

# ruff: noqa: S603 (calls of this very program)

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from files import changed_json
from tally import Tally

import driftglm
from driftglm.cli.main import app

ODD = [
    "",
    "x",
    "-1",
    "1e999",
    "9" * 5000,
    "\x1b[31m",
    "nan",
    "../..",
    "a,b",
    "0",
    "🦊",
    "2001:1999",
]
OPTIONS = [
    *("--target", "--time", "--family", "--prior", "--freq", "--weights", "--drop", "--text"),
    *("--always-in", "--static", "--categorical", "--test", "--n-test", "--dev", "--models"),
    *("--jobs", "--interval", "--rows", "--key", "--effects", "--seasonality", "--groups"),
]
BAD = 0.5
"""Share of calls whose file is drawn among the bad ones; that of the others can be fitted."""
COMMANDS = ["fit", "predict", "compare", "check", "report", "shard", "text fit", "text top-words"]


def table(folder: Path, n: int = 60) -> Path:
    """A table that can be fitted."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    frame["y"], frame["year"] = frame["a"] + rng.normal(size=n), 2000 + np.arange(n) * 6 // n
    frame.to_csv(folder / "good.csv", index=False)
    return folder / "good.csv"


def bad_files(folder: Path, rng: np.random.Generator) -> list[Path]:
    """Tables that are none, and what is no file."""
    good = table(folder).read_bytes()
    made = {
        "empty.csv": b"",
        "noise.csv": rng.bytes(300),
        "cut.csv": good[: len(good) // 2],
        "control.csv": good.replace(b"a,b", b"\x1b[2Ja,\x9bb"),
        "digits.csv": good.replace(b"2003", b"9" * 5000),
        "huge.svm": b"1 20000000:1\n" * 10,
        "lines.jsonl": b'{"y": 1, "a": [1, 2]}\n' * 5,
        "noise.parquet": rng.bytes(300),
        "model.drift": rng.bytes(300),
    }
    for name, data in made.items():
        (folder / name).write_bytes(data)
    with contextlib.suppress(FileExistsError):
        os.mkfifo(folder / "pipe.csv")
        (folder / "device.csv").symlink_to("/dev/zero")
    lists = pd.read_csv(folder / "good.csv").assign(c=[[1, 2]] * 60)
    lists.to_parquet(folder / "lists.parquet")
    shards = folder / "shards"
    shards.mkdir(exist_ok=True)
    wrong = [b"{}", b"[]", b'{"kind": 3}', b"{", b'{"kind": "driftglm shards", "parts": 5}']
    (shards / "manifest.json").write_bytes(wrong[int(rng.integers(len(wrong)))])
    names = [*made, "pipe.csv", "device.csv", "lists.parquet", "shards", "missing.csv", "good.csv"]
    return [folder / name for name in names]


def run(arguments: list[str]) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = app(arguments, standalone_mode=False)
    return int(code or 0), out.getvalue(), err.getvalue()


def attack_calls(n_times: int, seed: int, folder: Path) -> Tally:
    """Random commands, files and options: one clear line, an exit code, nothing raw, no trace."""
    tally, rng = Tally("bad calls"), np.random.default_rng(seed)
    for k in range(n_times):
        if k % 50 == 0:
            paths = bad_files(folder, rng)
        command = COMMANDS[int(rng.integers(len(COMMANDS)))]
        path = paths[int(rng.integers(len(paths)))] if rng.random() < BAD else paths[-1]
        call = [*command.split(), str(path)]
        if command in {"predict", "check"}:
            call.append(str(paths[int(rng.integers(len(paths)))]))
        if command not in {"predict", "check", "report", "shard"} and rng.random() < 0.8:
            call += ["--target", "y", "--time", "year"] * (not command.startswith("text"))
        for _ in range(int(rng.integers(0, 3))):
            value = ODD[int(rng.integers(len(ODD)))]
            call += [OPTIONS[int(rng.integers(len(OPTIONS)))], value]
        made = folder / f"out{k}"
        call += ["-o", str(made / "x" if command == "compare" else made)]
        if command == "compare":
            call += ["--n-test", "1", "--models", "ridge-one"]
        try:
            code, out, err = run(call)
        except BaseException as error:  # noqa: BLE001 (what is looked for)
            tally.fail(f"seed {seed} call {k} {call[:8]}: {type(error).__name__}: {error!s:.80}")
            continue
        said = wrong(code, out, err, made)
        if said:
            tally.fail(f"seed {seed} call {k} {call[:8]!r:.200}: {said}")
        else:
            tally.hold({0: "done", 1: "failed run", 2: "refused"}.get(code, str(code)))
    return tally


def attack_manifests(n_times: int, seed: int, folder: Path) -> Tally:
    """Manifests of shards with a leaf of them changed: refused in one line, or read."""
    tally, rng, shards = Tally("wrong manifests"), np.random.default_rng(seed), folder / "parts"
    run(["shard", str(table(folder)), "--time", "year", "-o", str(shards)])
    good = json.loads((shards / "manifest.json").read_text())
    fit = ["fit", str(shards), "--target", "y", "--time", "year", "-o", str(folder / "m.drift")]
    for k in range(n_times):
        (shards / "manifest.json").write_text(json.dumps(changed_json(good, rng)))
        try:
            code, out, err = run(fit)
        except BaseException as error:  # noqa: BLE001 (what is looked for)
            tally.fail(f"seed {seed} manifest {k}: {type(error).__name__}: {error!s:.80}")
            continue
        said = wrong(code, out, err, folder / "m.drift")
        if said:
            tally.fail(f"seed {seed} manifest {k}: {said}")
        else:
            tally.hold("refused" if code else "read")
    return tally


def wrong(code: int, out: str, err: str, made: Path) -> str:
    """What is wrong with how a command ended; nothing, if it is empty."""
    if code not in {0, 1, 2}:
        return f"exit code {code}"
    if "Traceback" in err or "the run failed" in err:
        return err.strip()[-150:]
    if code and sum(line.startswith("error:") for line in err.splitlines()) != 1:
        return f"{err!r:.100} is not one line"
    if any(not c.isprintable() and c != "\n" for c in out + err):
        return "control characters in the output"
    if code and made.is_dir() and not any(p.is_file() for p in made.rglob("*")):
        return "an empty folder is left"
    return ""


SAVE = (
    "import sys, numpy as np, driftglm\nX = np.random.default_rng(0).normal(size=(2000, 40))\n"
    "m = driftglm.baselines.RidgeAll(strength=1.0).fit(X, X[:, 0])\nm.extra_ = X\n"
    "print('go', flush=True)\nwhile True: m.save(sys.argv[1])\n"
)


def attack_saves(n_times: int, seed: int, folder: Path) -> Tally:
    """Kills in the middle of saves: the file is whole, and the next save sweeps the draft."""
    tally, rng, path = Tally("killed saves"), np.random.default_rng(seed), folder / "kept.drift"
    for k in range(n_times):
        with subprocess.Popen(
            [sys.executable, "-c", SAVE, str(path)], stdout=subprocess.PIPE
        ) as job:
            job.stdout.readline()
            time.sleep(0.02 + 0.05 * rng.random())
            job.send_signal(signal.SIGKILL)
        left = len(list(folder.glob(".writing-*")))
        try:
            if path.exists():
                driftglm.load(path)
            driftglm.baselines.RidgeAll(strength=1.0).save(folder / "next.drift")
        except Exception as error:  # noqa: BLE001 (what is looked for)
            tally.fail(f"seed {seed} kill {k}: {type(error).__name__}: {error}")
            continue
        still = list(folder.glob(".writing-*"))
        if still:
            tally.fail(f"seed {seed} kill {k}: {len(still)} drafts stay")
        else:
            tally.hold("draft swept" if left else "whole")
    return tally


def attack_comparisons(n_times: int, seed: int, folder: Path) -> Tally:
    """Kills in the middle of comparisons: started again they end as if nothing had been."""
    tally, rng, data = Tally("killed comparisons"), np.random.default_rng(seed), table(folder, 120)
    models = ["--models", "ridge-one,lasso-one,ridge-ts,fixed"]

    def call(out: Path) -> list[str]:
        start = [sys.executable, "-m", "driftglm", "compare", str(data), "--target", "y"]
        return [*start, "--time", "year", "--n-test", "2", *models, "-o", str(out)]

    whole = folder / "whole"
    began = time.perf_counter()
    subprocess.run(call(whole), check=True, capture_output=True)
    length, wanted = time.perf_counter() - began, (whole / "table.csv").read_bytes()
    while tally.tried < n_times:
        out = folder / f"killed{tally.tried}"
        for _ in range(3):
            with subprocess.Popen(call(out), stdout=-3, stderr=-3) as job:
                time.sleep(length * rng.uniform(0.5, 1.0))
                job.send_signal(signal.SIGKILL)
        ended = subprocess.run(call(out), capture_output=True, text=True, check=False)
        same = ended.returncode == 0 and (out / "table.csv").read_bytes() == wanted
        for _ in range(3):
            if same:
                tally.hold("resumed")
            else:
                tally.fail(f"seed {seed} {out.name}: {ended.stderr.strip()[-120:]}")
    return tally


def attack_disk(seed: int, folder: Path) -> Tally:
    """Files may hold some bytes only, for every command that writes: one line names the file."""
    tally, data = Tally("disk full"), table(folder)
    fit = ["fit", str(data), "--target", "y", "--time", "year", "-o"]
    run([*fit, str(folder / "m.drift")])
    documents = pd.DataFrame({"id": range(20), "date": ["2001-05-05", "2002-05-05"] * 10})
    documents["source"], documents["text"] = ["a", "b"] * 10, ["one two three", "two four"] * 10
    documents.to_csv(folder / "docs.csv", index=False)
    compare = ["compare", *fit[1:-1], "--n-test", "1", "--models", "ridge-one", "-o"]
    calls = {
        "fit": ([*fit], "new.drift"),
        "predict": (["predict", str(folder / "m.drift"), str(data), "-o"], "p.csv"),
        "report": (["report", str(folder / "m.drift"), "-o"], "r.html"),
        "shard": (["shard", str(data), "-o"], "parts"),
        "compare": (compare, "results"),
        "text fit": (["text", "fit", str(folder / "docs.csv"), "--vocabulary", "1:5", "-o"], "t"),
    }
    for name, (start, output) in calls.items():
        for limit in (0, 200, 1000):
            target = folder / f"{seed}-{limit}-{output}"
            ended = subprocess.run(
                [sys.executable, "-m", "driftglm", *start, str(target)],
                capture_output=True,
                text=True,
                check=False,
                env=os.environ | {"NUMBA_CACHE_DIR": os.environ.get("NUMBA_CACHE_DIR", "")},
                preexec_fn=lambda limit=limit: resource.setrlimit(
                    resource.RLIMIT_FSIZE, (limit, limit)
                ),
            )
            lines = [x for x in ended.stderr.splitlines() if x.startswith("error:")]
            left = target.is_file() or list(folder.glob(".writing-*"))
            if ended.returncode and len(lines) == 1 and str(target) in lines[0] and not left:
                tally.hold(name)
            elif ended.returncode == 0 and target.exists() and limit:
                tally.hold("there was room")
            else:
                tally.fail(f"{name} at {limit}: {ended.returncode} {ended.stderr.strip()[-140:]}")
    return tally
