"""The cache of a comparison: it resumes after a kill, and never mixes or trusts damaged files."""

import contextlib
import io
import os
import random
import signal
import subprocess
import sys
import textwrap
import time as clock
import zipfile

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from driftglm.baselines import LassoAll
from driftglm.evaluation import Comparison, RollingOrigin, compare
from driftglm.evaluation import cache as cache_module
from driftglm.evaluation.cache import Cache
from driftglm.files import DamagedFileError, pack, unpack, write_atomically

SPLITTER = RollingOrigin(n_test=2)
FITS = {"count": 0}


class Counted(Ridge):
    """A ridge that counts its fits."""

    def fit(self, X, y, sample_weight=None):
        FITS["count"] += 1
        return super().fit(X, y, sample_weight)


@pytest.fixture(autouse=True)
def _start_counting():
    FITS["count"] = 0


@pytest.fixture
def panel(rng):
    time = np.repeat(np.arange(5), 20)
    X = rng.normal(size=(100, 3))
    return X, X[:, 0] + 0.1 * rng.normal(size=100), time


def test_the_second_run_fits_nothing(panel, tmp_path):
    models, grids = {"r": Counted(), "l": LassoAll()}, {"r": {"alpha": [0.1, 1.0]}}
    first = compare(models, *panel, SPLITTER, grids=grids, cache_dir=tmp_path)
    assert FITS["count"] == 4  # two candidates on dev, two test steps
    # ... and a file each, with the chain of the lasso and its two fits.
    assert len(list(tmp_path.iterdir())) == 7
    second = compare(models, *panel, SPLITTER, grids=grids, cache_dir=tmp_path)
    assert FITS["count"] == 4
    plain = compare(models, *panel, SPLITTER, grids=grids)
    for name in models:
        assert (first.prediction[name] == second.prediction[name]).all()
        assert (first.prediction[name] == plain.prediction[name]).all()
    assert first.params == second.params == plain.params


def test_other_data_settings_or_splits_are_not_mixed(panel, tmp_path):
    X, y, time = panel

    def n_fits(model=None, X=X, y=y, time=time, splitter=SPLITTER, **settings):
        before = FITS["count"]
        model = Counted() if model is None else model
        compare({"r": model}, X, y, time, splitter, cache_dir=tmp_path, **settings)
        return FITS["count"] - before

    assert n_fits() == 2
    assert n_fits() == 0
    assert n_fits(model=Counted(alpha=2.0)) == 2
    assert n_fits(X=X + np.eye(100, 3) * 1e-12) == 2
    assert n_fits(y=y * (1 + 1e-15)) == 2
    assert n_fits(sample_weight=np.ones(100)) == 2
    assert n_fits(time=time + 1) == 2
    assert n_fits(splitter=RollingOrigin(n_test=2, window=2)) == 2
    assert n_fits(splitter=RollingOrigin(n_test=3)) == 1  # two of its folds are known
    assert n_fits(model=make_pipeline(StandardScaler(), Counted())) == 2


def test_a_torn_or_altered_file_is_computed_again(panel, tmp_path):
    first = compare({"r": Counted()}, *panel, SPLITTER, cache_dir=tmp_path)
    files = sorted(tmp_path.iterdir())
    assert len(files) == 2
    whole = files[0].read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    empty = pack({}, {})
    for damage in (whole[: len(whole) // 2], b"", bytes(flipped), empty, files[1].read_bytes()):
        FITS["count"] = 0
        files[0].write_bytes(damage)
        again = compare({"r": Counted()}, *panel, SPLITTER, cache_dir=tmp_path)
        assert FITS["count"] == 1
        assert (again.prediction["r"] == first.prediction["r"]).all()
        assert unpack(files[0].read_bytes())


def test_no_file_holds_pickled_objects(panel, tmp_path):
    compare({"r": Ridge(), "l": LassoAll()}, *panel, SPLITTER, cache_dir=tmp_path)
    for path in tmp_path.iterdir():
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                assert name.endswith((".npy", ".json"))
                if name.endswith(".npy"):
                    with archive.open(name) as stream:
                        assert np.load(stream, allow_pickle=False).dtype.kind == "f"


def test_what_killed_runs_left_is_cleared_away(tmp_path):
    old, new = tmp_path / ".writing-a.tmp", tmp_path / ".writing-b.tmp"
    for path in (old, new):
        path.write_bytes(b"half")
    hour_ago = clock.time() - 2 * cache_module.ABANDONED
    os.utime(old, (hour_ago, hour_ago))
    Cache.open(tmp_path, "run")
    assert not old.exists()
    assert new.exists()  # may be another run's, just being written


def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def fail(_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_packing_is_exact_and_repeatable(rng):
    arrays = {"a": rng.normal(size=(3, 2)), "b": np.array(["x", "yy"])}
    facts = {"number": 0.1, "text": "é"}
    data = pack(facts, arrays)
    assert data == pack(facts, arrays)
    found, back = unpack(data)
    assert found == facts
    assert (back["a"] == arrays["a"]).all()
    assert (back["b"] == arrays["b"]).all()
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        pack({}, {"o": np.array([object()])})
    with pytest.raises(DamagedFileError):
        unpack(data[:-1])


def test_an_array_put_in_by_hand_is_noticed():
    """The zip is in order, its own checksums fit; but the array is not the one recorded."""
    good, other = (pack({}, {"a": np.full(3, value)}) for value in (1.0, 2.0))
    forged = io.BytesIO()
    with zipfile.ZipFile(forged, "w") as out:
        for name, source in (("model.json", good), ("a.npy", other)):
            with zipfile.ZipFile(io.BytesIO(source)) as archive:
                out.writestr(name, archive.read(name))
                out.comment = out.comment or archive.comment
    with pytest.raises(DamagedFileError, match="does not match its checksum"):
        unpack(forged.getvalue())


SERVER = """
    import os, signal, sys, time as clock
    import numpy as np
    from sklearn.linear_model import Ridge
    from driftglm.baselines import LassoAll
    from driftglm.evaluation import RollingOrigin, compare

    class Slow(Ridge):
        def fit(self, X, y, sample_weight=None):
            clock.sleep(0.02)
            return super().fit(X, y, sample_weight)

    rng = np.random.default_rng(5)
    time = np.repeat(np.arange(8), 30)
    X = rng.normal(size=(240, 5))
    y = X[:, 0] * np.sin(time) + rng.normal(size=240)

    def run(cache, out):
        result = compare(
            {"slow": Slow(), "lasso": LassoAll()}, X, y, time, RollingOrigin(n_test=5),
            grids={"slow": {"alpha": [0.1, 1.0, 10.0, 100.0]}}, tune="origin",
            cache_dir=None if cache == "none" else cache,
        )
        result.save(out)

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        process = os.fork()
        if process == 0:
            run(*line.split())
            os._exit(0)
        print(process, flush=True)
"""


@pytest.fixture
def start(tmp_path):
    """Starts a comparison in a process of its own, forked off one that has imported all."""
    script = tmp_path / "server.py"
    script.write_text(textwrap.dedent(SERVER))
    with subprocess.Popen(  # noqa: S603
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:

        def run(cache, out):
            server.stdin.write(f"{cache} {out}\n")
            server.stdin.flush()
            return int(server.stdout.readline())

        yield run


def wait_for(*processes):
    for process in processes:
        for _ in range(6000):
            try:
                os.kill(process, 0)
            except ProcessLookupError:
                break
            clock.sleep(0.01)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_ten_times_and_started_again_it_ends_with_the_same_result(tmp_path, start):
    folder = tmp_path / "cache"
    wait_for(start("none", tmp_path / "whole.zip"))
    began = clock.perf_counter()
    wait_for(start("none", tmp_path / "again.zip"))
    whole_run = clock.perf_counter() - began
    moments = random.Random(0)  # noqa: S311
    n_killed = 0
    for _ in range(30):
        process = start(folder, tmp_path / "killed.zip")
        clock.sleep(moments.uniform(0.05, 0.5) * whole_run)
        with contextlib.suppress(ProcessLookupError):  # it may have ended: nearly all was there
            os.kill(process, signal.SIGKILL)
            n_killed += 1
        wait_for(process)
        if n_killed == 10:
            break
        found = sorted(folder.glob("*.zip")) if folder.exists() else []
        for path in found[4:]:  # leave work to be done
            path.unlink()
    assert n_killed == 10
    assert list(folder.glob("*.zip"))
    wait_for(start(folder, tmp_path / "resumed.zip"))
    whole, resumed = (Comparison.load(tmp_path / name) for name in ("whole.zip", "resumed.zip"))
    assert resumed.params == whole.params
    for name in whole.models:
        assert (resumed.prediction[name] == whole.prediction[name]).all()
        assert (resumed.loss[name] == whole.loss[name]).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_two_runs_may_share_a_folder(tmp_path, start):
    outs = [tmp_path / "one.zip", tmp_path / "two.zip"]
    wait_for(*(start(tmp_path / "cache", out) for out in outs))
    one, two = (Comparison.load(out) for out in outs)
    assert one.table() == two.table()
    assert one.params == two.params
