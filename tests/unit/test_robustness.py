"""Faults, extremes and hostile input, one claim each."""

import gzip
import os
import stat
import subprocess
import sys
import time
from contextlib import suppress
from datetime import time as time_of_day
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from driftglm import DriftClassifier, DriftGLM, DriftPoissonRegressor, files, load
from driftglm.cli.console import printable
from driftglm.cli.main import app
from driftglm.data.matrices import nearer
from driftglm.exceptions import DataError, DataWarning
from driftglm.files import DamagedFileError
from driftglm.persistence.trial import check_pattern
from driftglm.solvers.stopping import Movement
from driftglm.tables import Table, TableSpec, fit_encoder, iterate_shards, write_shards
from driftglm.tables.columns import as_floats
from driftglm.tables.reading import read_data
from driftglm.tables.writing import check_own, making, own_files


def rows(rng, n=90):
    X = np.round(rng.normal(size=(n, 3)) * 2**20) / 2**20
    return X, np.repeat(np.arange(6), n // 6)


@pytest.mark.parametrize("offset", [1e6, 1e9])
@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_a_column_a_billion_from_zero_changes_no_probability(offset, store, rng):
    X, t = rows(rng)
    y = X[:, 0] + rng.normal(size=len(t)) > 0
    far = X.copy()
    far[:, 0] += offset
    near = DriftClassifier().fit(store(X), y, time=t).predict_proba(store(X))
    moved = DriftClassifier().fit(store(far), y, time=t).predict_proba(store(far))
    np.testing.assert_allclose(moved, near, rtol=1e-6)


def test_student_errors_far_from_zero_never_lower_the_bound(rng):
    X, t = rows(rng)
    y = np.round((X[:, 0] + rng.standard_t(3, size=len(t))) * 2**16) / 2**16
    history = DriftGLM(family="student").fit(X, y + 1e8, time=t).objective_history_
    assert np.diff(history).min() > -1e-10 * np.abs(history).max()


def test_only_full_sparse_columns_far_from_zero_are_measured_from_their_least_value():
    X = sp.csr_array([[1e9, 0.0, 5.0], [1e9 + 1, 2.0, 7.0]])
    near, shift = nearer(X)
    np.testing.assert_array_equal(shift, [1e9, 0.0, 0.0])
    np.testing.assert_array_equal(near.toarray(), [[0.0, 0.0, 5.0], [1.0, 2.0, 7.0]])


def test_rows_that_weigh_less_than_one_row_are_refused(rng):
    X, t = rows(rng)
    with pytest.raises(DataError, match="less than one row"):
        DriftPoissonRegressor().fit(X, np.ones(len(t)), time=t, sample_weight=np.full(90, 1e-5))


def test_a_row_far_out_has_a_finite_mean_inside_its_interval_and_is_spoken_of(rng):
    X, t = rows(rng)
    model = DriftPoissonRegressor().fit(X, rng.poisson(np.exp(X[:, 0])), time=t)
    far = np.array([[1e4, 0.0, 0.0]])
    with pytest.warns(DataWarning, match="so far from those of the fit"):
        mean = model.predict(far)[0]
    low, high = model.predict_interval(far)[0]
    assert low <= mean <= high < np.inf


def test_what_is_left_of_a_movement_is_a_geometric_series():
    movement = Movement()
    for moved in (8.0, 4.0, 3.0):
        movement.add(moved)
    assert movement.left == pytest.approx(9.0)  # 3 (3/4 + 9/16 + ...)


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(a|b|ab)*c", r"\w*\w*x", r"(\w)\1+"])
def test_a_pattern_that_could_search_for_ever_is_not_read_from_a_file(pattern):
    with pytest.raises(DamagedFileError, match="for ever"):
        check_pattern(pattern)


@pytest.mark.parametrize("pattern", [r"(?u)\b\w\w+\b", r"[^\W_]+", r"\w{2,30}"])
def test_patterns_that_find_words_are_read(pattern):
    check_pattern(pattern)


def test_permissions_of_a_replaced_file_are_kept(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    path.chmod(0o600)
    files.write_atomically(path, b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_drafts_of_the_dead_are_swept_and_those_of_the_living_are_not(tmp_path):
    (tmp_path / ".writing-dead.tmp").write_bytes(b"half")
    with files.writing.replacing(tmp_path / "one") as stream:
        stream.write(b"1")
        files.write_atomically(tmp_path / "two", b"2")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]


def test_pipes_and_devices_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "device.csv").symlink_to("/dev/zero")
    for name in ("pipe.csv", "device.csv"):
        with pytest.raises(DataError, match="no regular file"):
            read_data(tmp_path / name)
        with pytest.raises(DataError, match="no regular file"):
            load(tmp_path / name)


def test_a_huge_index_of_an_svmlight_file_is_refused(tmp_path):
    (tmp_path / "a.svm").write_text("1 20000000:1\n")
    with pytest.raises(DataError, match="feature index 20000000"):
        read_data(tmp_path / "a.svm")


def test_a_folder_that_was_made_is_gone_if_nothing_came_of_it(tmp_path):
    def work():
        with making(tmp_path / "a" / "b") as folder:
            (folder / "cache").mkdir()
            raise KeyError

    with pytest.raises(KeyError):
        work()
    assert not list(tmp_path.iterdir())


def test_files_of_others_are_not_replaced(tmp_path):
    record = "cache/written.json"
    (tmp_path / "table.csv").write_text("mine")
    with pytest.raises(DataError, match="--overwrite"):
        check_own(tmp_path, ["table.csv"], record)
    with own_files(tmp_path, record) as draft:
        (draft / "table.csv").write_text("ours")
    check_own(tmp_path, ["table.csv"], record)
    assert (tmp_path / "table.csv").read_text() == "ours"
    (tmp_path / "table.csv").write_text("changed")
    with pytest.raises(DataError, match="changed since"):
        check_own(tmp_path, ["table.csv"], record)


@pytest.mark.parametrize("moment", [0, 1, 2])
def test_what_a_killed_run_leaves_is_known_as_its_own(tmp_path, monkeypatch, moment):
    """Killed before, between and after the moves; what it drafted is swept by the next run."""
    names, record, moved = ("a.csv", "b.csv"), "cache/written.json", []
    for name in names:
        with own_files(tmp_path, record) as draft:
            (draft / name).write_text("old")
    replace = Path.replace

    def killed(self, target):
        if not str(target).endswith(".json"):
            if len(moved) == moment:
                raise KeyboardInterrupt
            moved.append(target)
        return replace(self, target)

    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr(Path, "replace", killed)
        with own_files(tmp_path, record) as draft:
            for name in names:
                (draft / name).write_text("new")
    assert [(tmp_path / name).read_text() for name in names].count("new") == moment
    check_own(tmp_path, names, record)
    (tmp_path / "cache" / ".writing-dead").mkdir()
    with own_files(tmp_path, record) as draft:
        (draft / "a.csv").write_text("newer")
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["written.json"]


def test_control_characters_reach_no_terminal(tmp_path, capsys):
    path = tmp_path / "a.csv"
    lines = [f"{k / 7},{k % 5},{2000 + k // 10}" for k in range(60)]
    path.write_text("\n".join(["y,\x1b[31mred\x9b,year", *lines]))
    for more in ([], ["--json"]):
        code = app(
            ["fit", str(path), "--target", "y", "--time", "year", "-o", str(tmp_path / "m"), *more],
            standalone_mode=False,
        )
        shown = capsys.readouterr()
        assert code == 0
        assert all(c.isprintable() or c == "\n" for c in shown.out + shown.err)
    assert printable("a\x1b[2Jb") == "a?[2Jb"


def test_an_early_interrupt_is_one_line():
    for wait in (0.15, 0.4):
        job = subprocess.Popen(
            [sys.executable, "-m", "driftglm", "demo"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(wait)
        job.send_signal(2)
        said = job.communicate(timeout=60)[1]
        # Until then Python is starting, or looks for the module; on a busy machine that takes long.
        if "__main__.py" in said or said.startswith("interrupted"):
            assert "Traceback" not in said


def test_an_endless_line_of_a_packed_file_is_refused(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"0" * 2**25))
    with pytest.raises(DataError, match="a line of 16777216 bytes or more"):
        read_data(tmp_path / "a.csv.gz")


def test_decimals_are_numbers_and_dates_and_durations_no_levels():
    n = 8
    table = Table(pd.DataFrame({"price": [Decimal(k) / 4 for k in range(n)]}))
    encoder = fit_encoder(table, TableSpec())
    np.testing.assert_array_equal(encoder.matrix(table)[:, 0], np.arange(n) / 4)
    for values, match in (
        (pd.date_range("2001", periods=n).date, "holds dates"),
        (pd.timedelta_range("1D", periods=n), "holds durations"),
        ([time_of_day(k) for k in range(n)], "holds dates"),
    ):
        with pytest.raises(DataError, match=match):
            fit_encoder(Table(pd.DataFrame({"c": values, "x": range(n)})), TableSpec())


def test_a_whole_number_beyond_all_floats_is_no_finite_number():
    frame = pd.DataFrame({"x": pd.Series([10**400, 1, -(10**400)], dtype=object)})
    np.testing.assert_array_equal(as_floats(frame["x"]), [np.inf, 1.0, np.inf])
    with pytest.raises(DataError, match="no finite number"):
        fit_encoder(Table(frame), TableSpec()).matrix(Table(frame))


def test_a_pipe_among_shards_is_refused_at_once(tmp_path):
    pd.DataFrame({"x": [1.0, 2.0]}).to_csv(tmp_path / "a.csv", index=False)
    write_shards(tmp_path / "a.csv", tmp_path / "s")
    part = tmp_path / "s" / "part-00000.zip"
    part.unlink()
    os.mkfifo(part)
    with pytest.raises(DataError, match="no regular file"):
        list(iterate_shards(tmp_path / "s"))


@pytest.mark.parametrize("change", [lambda c: c[None], lambda c: c[:1], lambda c: c[[0, 0, 1]]])
def test_a_model_file_with_other_classes_than_probabilities_is_refused(tmp_path, rng, change):
    X, t = rows(rng)
    model = DriftClassifier().fit(X, X[:, 0] > 0, time=t)
    model.classes_ = change(model.classes_)
    model.save(tmp_path / "m.drift")
    with pytest.raises(DamagedFileError, match=r"as many classes as prob|do not work together"):
        load(tmp_path / "m.drift")


def test_texts_that_a_file_holds_as_bytes_are_texts(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"c": [b"a", b"\xff", None], "x": [1.0, 2.0, 3.0]})
    frame.to_parquet(tmp_path / "a.parquet")
    assert read_data(tmp_path / "a.parquet").frame["c"].tolist()[:2] == ["a", "\\xff"]
