"""Model files with bytes changed, with content changed and sealed again, and hostile archives."""

from __future__ import annotations

import copy
import io
import pickle
import time
import warnings
import zipfile
from pathlib import Path

import numpy as np
from tally import Tally

import driftglm
from driftglm import files
from driftglm.exceptions import DataError

SLOW = 10.0
"""Seconds of processor time, which do not depend on what else a machine does."""
WORDS = ["", "a", "zero", "\x1b[31m", "__class__", "eval", "a" * 1000, "(a+)+$", "../x"]


def models(folder: Path, rng: np.random.Generator) -> list[tuple[Path, np.ndarray]]:
    """Files of every estimator, and rows to predict."""
    X = rng.normal(size=(60, 3))
    t, eta = np.repeat(np.arange(6), 10), X[:, 0]
    made = [
        driftglm.DriftRegressor().fit(X, eta + rng.normal(size=60), time=t),
        driftglm.DriftRegressor(prior="exact", keep_data=True).fit(X, eta, time=t),
        driftglm.DriftClassifier().fit(X, eta + rng.normal(size=60) > 0, time=t),
        driftglm.DriftClassifier().fit(X, rng.integers(0, 3, 60), time=t),
        driftglm.DriftPoissonRegressor().fit(X, rng.poisson(np.exp(0.3 * eta)), time=t),
        driftglm.baselines.RidgeTS(strength=1.0, autocorrelation=0.9).fit(X, eta, time=t),
    ]
    out = []
    for k, model in enumerate(made):
        path = folder / f"model{k}.drift"
        model.save(path)
        out.append((path, X))
    return out


def use(path: Path, X: np.ndarray, tally: Tally, name: str) -> None:
    """Load a file and predict with it: it is refused, or it answers."""
    began = time.process_time()
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                model = driftglm.load(path, max_bytes=2**28)
            except DataError:
                tally.hold("refused")
                return
            answer = model.predict(X[:5]) if hasattr(model, "predict") else None
            if hasattr(model, "predict_interval") and getattr(model, "prior", "") == "learned":
                model.predict_interval(X[:5])
        tally.hold("answered" if answer is not None else "loaded")
    except DataError:
        tally.hold("refused in use")
    except Exception as error:  # noqa: BLE001 (whatever it is, it is what is looked for)
        tally.fail(f"{name}: {type(error).__name__}: {str(error)[:90]}")
    finally:
        if time.process_time() - began > SLOW:
            tally.fail(f"{name}: took {time.process_time() - began:.0f} s")


def flipped(data: bytes, rng: np.random.Generator) -> bytes:
    """Bytes changed, cut off, doubled or moved."""
    raw, how = bytearray(data), int(rng.integers(5))
    at = int(rng.integers(len(raw)))
    if how == 0:
        raw[at] ^= int(rng.integers(1, 256))
    elif how == 1:
        return bytes(raw[:at])
    elif how == 2:
        raw[at:at] = rng.bytes(int(rng.integers(1, 50)))
    elif how == 3:
        del raw[at : at + int(rng.integers(1, 50))]
    else:
        for place in rng.integers(len(raw), size=20):
            raw[place] = int(rng.integers(256))
    return bytes(raw)


def changed_array(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """An array of another shape, type or content."""
    out, how = np.array(array, copy=True), int(rng.integers(6))
    if how == 0 and out.ndim and out.shape[0]:
        return out[:-1]
    if how == 1:
        return out[None]
    if how == 2:
        return np.concatenate([out.ravel(), out.ravel()])
    if how == 3 and out.dtype.kind in "fiu":
        return out.astype(np.int8 if out.dtype.kind == "f" else np.float64)
    if how == 4:
        return out.T
    if out.size and out.dtype.kind in "fiub":
        odd = [np.nan, -1.0, 1e300, 0.0, np.inf, -1e9]
        value = odd[int(rng.integers(len(odd)))]
        if out.dtype.kind != "f":
            value = int(rng.integers(-100, 100)) if out.dtype.kind == "i" else 1
        out.flat[int(rng.integers(out.size))] = value
    return out


def changed_json(node: object, rng: np.random.Generator) -> object:
    """One leaf of JSON changed, at random."""
    if isinstance(node, dict) and node:
        key = list(node)[int(rng.integers(len(node)))]
        if rng.random() < 0.05:
            return {name: value for name, value in node.items() if name != key}
        return node | {key: changed_json(node[key], rng)}
    if isinstance(node, list) and node:
        at = int(rng.integers(len(node)))
        if rng.random() < 0.05:
            return node[:at] + node[at + 1 :]
        return [*node[:at], changed_json(node[at], rng), *node[at + 1 :]]
    return [None, True, -1, 0, 10**30, 1e308, [], {}, *WORDS][int(rng.integers(8 + len(WORDS)))]


def attack_files(n_times: int, seed: int, folder: Path) -> Tally:
    """Half with bytes changed, half with content changed and sealed again."""
    tally, rng = Tally("mutated files"), np.random.default_rng(seed)
    sources = models(folder, rng)
    whole = [(path.read_bytes(), files.load(path)) for path, _ in sources]
    at = folder / "mutated.drift"
    for k in range(n_times):
        one = int(rng.integers(len(sources)))
        data, (facts, arrays) = whole[one]
        if k % 2:
            at.write_bytes(flipped(data, rng))
        else:
            facts, arrays = copy.copy(facts), dict(arrays)
            if rng.random() < 0.5:
                name = list(arrays)[int(rng.integers(len(arrays)))]
                arrays[name] = changed_array(arrays[name], rng)
            else:
                facts = changed_json(facts, rng)
            try:
                files.save(at, facts, arrays)
            except (DataError, TypeError, ValueError):
                tally.hold("cannot be written")
                continue
        use(at, sources[one][1], tally, f"seed {seed} file {k}")
    return tally


class _Bomb:
    def __reduce__(self):
        return (print, ("executed",))


def archives(rng: np.random.Generator) -> dict[str, bytes]:
    """Zip files that want to fill memory, run code or leave their folder."""
    out: dict[str, bytes] = {}

    def zipped(members: dict[str, bytes], comment: bytes = b"", **how: int) -> bytes:
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", how.get("how", zipfile.ZIP_DEFLATED)) as archive:
            for name, data in members.items():
                archive.writestr(name, data)
            archive.comment = comment
        return stream.getvalue()

    size = int(rng.integers(10, 200))
    out["bomb"] = zipped({"model.json": b"0" * (size * 2**20 // 8)})
    out["pickle"] = zipped({"model.json": b"{}", "a.npy": pickle.dumps(_Bomb())})
    out["outside"] = zipped({"../../etc/model.json": rng.bytes(size), "model.json": b"{}"})
    out["bzip"] = zipped({"model.json": b"{}"}, how=zipfile.ZIP_BZIP2)
    deep = b"[" * int(rng.integers(10**3, 10**5))
    out["deep"] = zipped({"model.json": deep})
    out["many"] = zipped({f"{k}.npy": b"" for k in range(size * 10)} | {"model.json": b"{}"})
    out["comment"] = zipped({"model.json": b"{}"}, b"driftglm 999999999 sha256=" + b"a" * 64)
    header = b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'fortran_order': False, 'shape': (%d,), }"
    out["shape"] = zipped({"model.json": b"{}", "a.npy": header % int(rng.integers(1, 2**60))})
    out["object"] = zipped({"model.json": b"{}", "a.npy": header.replace(b"<f8", b"|O") % size})
    out["noise"] = rng.bytes(size * 10)
    nested = zipped({"model.json": b"{}"})
    out["nested"] = zipped({"model.json": nested, "inner.zip": nested})
    out["number"] = zipped({"model.json": b"1" * int(rng.integers(10, 6000))})
    return out


def attack_archives(n_times: int, seed: int, folder: Path) -> Tally:
    """Every kind of hostile archive in turn."""
    tally, rng, at = Tally("archives"), np.random.default_rng(seed), folder / "hostile.drift"
    while tally.tried < n_times:
        for name, data in archives(rng).items():
            at.write_bytes(data)
            use(at, np.zeros((5, 3)), tally, f"seed {seed} {name}")
    return tally
