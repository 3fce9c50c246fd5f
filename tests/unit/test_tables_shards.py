"""Shards hold the rows of their file, whatever it is, and betray every change."""

import json
import signal
import subprocess
import sys
import tracemalloc

import numpy as np
import pandas as pd
import pytest

from driftglm.exceptions import DataError
from driftglm.files import DamagedFileError
from driftglm.tables import iterate_shards, read_data, read_manifest, write_shards
from driftglm.tables.shards import read_shards


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "year": np.repeat([2001.0, 2002.0], 50),
            "x, y": rng.normal(size=100),
            "name": [f"né {i}\nline" if i % 7 else None for i in range(100)],
            "gap": np.where(np.arange(100) % 9, 1.5, np.nan),
            "code": [f"{i:03d}" for i in range(99)] + ["x"],
        }
    )


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "jsonl", "parquet"])
def test_all_rows_come_back_in_order(kind, frame, tmp_path):
    path = tmp_path / f"a.{kind}"
    if kind == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif kind == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False)
    manifest = write_shards(path, tmp_path / "s", rows=30)
    assert [part.rows for part in manifest.parts] == [30, 30, 30, 10]
    found = pd.concat([table.frame for table in iterate_shards(tmp_path / "s")], ignore_index=True)
    assert list(found) == list(frame)
    for name in frame:
        expected = frame[name].to_numpy(dtype=object)
        pd.testing.assert_series_equal(
            pd.Series(found[name].to_numpy(dtype=object)).where(lambda v: v.notna(), None),
            pd.Series(expected).where(lambda v: v.notna(), None),
            check_dtype=False,
        )


def test_a_column_is_text_if_it_is_so_in_any_part(frame, tmp_path):
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert write_shards(tmp_path / "a.csv", tmp_path / "s", rows=10).columns["code"] == "text"
    first = next(iterate_shards(tmp_path / "s"))
    assert first.frame["code"].tolist()[:2] == ["000", "001"]


def test_svmlight_parts_share_their_columns(tmp_path):
    lines = ["1 qid:1 1:0.5\n", "# a remark\n", "0 qid:1 3:2\n", "1 qid:2 7:1 # end\n", "0 qid:2\n"]
    (tmp_path / "a.svm").write_text("".join(lines))
    manifest = write_shards(tmp_path / "a.svm", tmp_path / "s", rows=2, time="qid")
    assert manifest.steps == {"1": 2, "2": 2}
    whole, parts = read_data(tmp_path / "a.svm"), read_shards(tmp_path / "s")
    assert parts.block_names == whole.block_names == tuple(f"f{i}" for i in range(1, 8))
    np.testing.assert_array_equal(parts.block.toarray(), whole.block.toarray())
    assert parts.frame["label"].tolist() == [1, 0, 1, 0]


def test_memory_is_that_of_a_part(tmp_path):
    path = tmp_path / "a.csv"
    with path.open("w") as stream:
        stream.write("x,note\n")
        stream.writelines(f"{i},{'word ' * 40}\n" for i in range(20_000))
    tracemalloc.start()
    write_shards(path, tmp_path / "s", rows=500)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert path.stat().st_size > 4e6
    assert peak < 2.5e6


def test_damage_and_incomplete_folders_are_refused(frame, tmp_path):
    frame.to_csv(tmp_path / "a.csv", index=False)
    write_shards(tmp_path / "a.csv", tmp_path / "s", rows=40)
    part = tmp_path / "s" / "part-00001.zip"
    data = bytearray(part.read_bytes())
    data[len(data) // 2] ^= 1
    part.write_bytes(bytes(data))
    with pytest.raises(DamagedFileError, match=r"part-00001\.zip is not as it was written"):
        list(iterate_shards(tmp_path / "s"))
    part.unlink()
    with pytest.raises(DamagedFileError, match="cannot be read"):
        list(iterate_shards(tmp_path / "s"))
    manifest = tmp_path / "s" / "manifest.json"
    content = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(content | {"format": 99}))
    with pytest.raises(DamagedFileError, match="format 99"):
        read_manifest(tmp_path / "s")
    content["parts"][0]["file"] = "../../secret"
    manifest.write_text(json.dumps(content))
    with pytest.raises(DamagedFileError, match="outside the folder"):
        list(iterate_shards(tmp_path / "s"))
    manifest.unlink()
    with pytest.raises(DataError, match="did not finish"):
        read_manifest(tmp_path / "s")


def stop(_):
    raise KeyboardInterrupt


def test_a_run_that_breaks_off_leaves_nothing(frame, tmp_path):
    frame.to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(KeyboardInterrupt):
        write_shards(tmp_path / "a.csv", tmp_path / "s", rows=40, progress=stop)
    assert not (tmp_path / "s").exists()
    assert write_shards(tmp_path / "a.csv", tmp_path / "s", rows=40).n_rows == 100


def held(folder):
    """Every file of a folder and what is in it."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_shards_are_replaced_only_once_the_new_ones_stand(frame, tmp_path):
    place = tmp_path / "s"
    frame.to_csv(tmp_path / "a.csv", index=False)
    write_shards(tmp_path / "a.csv", place, rows=40)
    before = held(place)
    frame.assign(gap=2.5).to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(KeyboardInterrupt):
        write_shards(tmp_path / "b.csv", place, rows=40, overwrite=True, progress=stop)
    assert held(place) == before
    write_shards(tmp_path / "b.csv", place, rows=50, overwrite=True)
    manifest = read_manifest(place)
    assert {path.name for path in place.iterdir()} == {
        "manifest.json",
        *(part.file for part in manifest.parts),
    }
    assert (read_shards(place).frame["gap"] == 2.5).all()


@pytest.mark.parametrize(
    "moment", ["progress", "rename", "write_atomically manifest", "unlink", "_sweep"]
)
def test_shards_can_be_read_after_a_kill_at_any_moment(moment, frame, tmp_path):
    place = tmp_path / "s"
    frame.to_csv(tmp_path / "a.csv", index=False)
    write_shards(tmp_path / "a.csv", place, rows=40)
    frame.assign(gap=2.5).to_csv(tmp_path / "b.csv", index=False)
    script = f"""
import os, signal
from pathlib import Path
from driftglm.tables import shards

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

moment, progress = {moment!r}, None
if moment == "progress":
    progress = die
elif moment == "rename":  # of the second part
    rename = Path.rename
    def once(self, target):
        if "00001" in self.name:
            die()
        return rename(self, target)
    Path.rename = once
elif moment == "unlink":  # of the second old part
    unlink = Path.unlink
    done = []
    def once(self, *args, **more):
        if self.parent == Path({str(place)!r}):
            done.append(self)
            if len(done) == 2:
                die()
        return unlink(self, *args, **more)
    Path.unlink = once
elif moment == "_sweep":
    shards._sweep = die
else:
    write = shards.write_atomically
    shards.write_atomically = lambda path, data: (
        die() if path.name == "manifest.json" else write(path, data)
    )
shards.write_shards({str(tmp_path / "b.csv")!r}, {str(place)!r}, rows=40, overwrite=True,
                    progress=progress)
"""
    ran = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True)  # noqa: S603
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    found = read_shards(place).frame
    is_new = moment in {"unlink", "_sweep"}
    pd.testing.assert_series_equal(
        found["gap"], pd.Series(2.5, range(100), name="gap") if is_new else frame["gap"]
    )
    write_shards(tmp_path / "b.csv", place, rows=40, overwrite=True)
    assert not list(place.glob(".writing-*"))
    assert (read_shards(place).frame["gap"] == 2.5).all()


def test_only_what_the_old_manifest_names_is_removed(frame, tmp_path):
    place = tmp_path / "s"
    frame.to_csv(tmp_path / "a.csv", index=False)
    write_shards(tmp_path / "a.csv", place, rows=40)
    own = {"part-2020-photos.zip": b"photos", "part-00007.zip": b"mine", "notes.txt": b"dear"}
    for name, data in own.items():
        (place / name).write_bytes(data)
    (tmp_path / "outside.zip").write_bytes(b"x")
    content = json.loads((place / "manifest.json").read_text())
    content["parts"].append(content["parts"][0] | {"file": "../outside.zip"})
    (place / "manifest.json").write_text(json.dumps(content))
    for _ in range(2):
        write_shards(tmp_path / "a.csv", place, rows=10, overwrite=True)
        assert {name: (place / name).read_bytes() for name in own} == own
        assert len(list(place.iterdir())) == 1 + 10 + len(own)
        assert len(read_shards(place).frame) == 100
    assert (tmp_path / "outside.zip").exists()


@pytest.mark.parametrize("text", ["{}", "[1]", "no json", '{"kind": "chrome extension"}'])
def test_a_manifest_of_something_else_is_never_replaced(text, frame, tmp_path):
    frame.to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "manifest.json").write_text(text)
    with pytest.raises(DataError, match="none of shards, or is damaged"):
        write_shards(tmp_path / "a.csv", tmp_path / "s", overwrite=True)
    assert held(tmp_path / "s") == {"manifest.json": text.encode()}


def test_dates_of_a_file_are_read_by_one_format_whatever_a_part_shows(tmp_path):
    days = pd.Series(pd.date_range("2019-01-01", "2019-12-31"))
    frame = pd.DataFrame({"day": days.dt.strftime("%d/%m/%Y"), "x": 1.0})
    frame.to_csv(tmp_path / "a.csv", index=False)
    manifest = write_shards(tmp_path / "a.csv", tmp_path / "s", rows=10, time="day", freq="M")
    assert manifest.steps == {
        str(month): n for month, n in days.dt.to_period("M").value_counts(sort=False).items()
    }
    assert manifest.columns["day"] == "date"
    assert (read_shards(tmp_path / "s").frame["day"] == days).all()
    frame.head(12).to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(DataError, match="--date-format"):
        write_shards(tmp_path / "b.csv", tmp_path / "t", time="day", freq="M")
    manifest = write_shards(
        tmp_path / "b.csv", tmp_path / "t", rows=5, time="day", freq="M", date_format="%d/%m/%Y"
    )
    assert manifest.steps == {"2019-01": 12}


WRONG = {
    "no parts": {"parts": []},
    "n_rows": {"n_rows": 99},
    "n_rows that is text": {"n_rows": "100"},
    "kind of a column": {"columns": {"year": "numbers"}},
    "another column": {"columns": dict.fromkeys("abcdef", "number")},
    "text for a number": {"columns": dict.fromkeys(["year", "x, y"], "text")},
    "a block": {"n_block": 5},
    "first_block": {"first_block": 7},
    "first_block that is a list": {"first_block": []},
    "time": {"time": "when"},
    "freq": {"freq": 3},
    "steps": {"steps": {"2001": "many"}},
}


@pytest.mark.parametrize("how", WRONG)
def test_a_manifest_that_does_not_fit_its_parts_is_refused(how, frame, tmp_path):
    frame.to_csv(tmp_path / "a.csv", index=False)
    write_shards(tmp_path / "a.csv", tmp_path / "s", rows=30, time="year")
    path = tmp_path / "s" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | WRONG[how]))
    with pytest.raises(DamagedFileError, match="manifest"):
        read_shards(tmp_path / "s")


def test_a_part_has_the_rows_its_manifest_says(frame, tmp_path):
    frame.to_csv(tmp_path / "a.csv", index=False)
    write_shards(tmp_path / "a.csv", tmp_path / "s", rows=50)
    path = tmp_path / "s" / "manifest.json"
    content = json.loads(path.read_text())
    content["parts"][0]["rows"], content["parts"][1]["rows"] = 40, 60
    path.write_text(json.dumps(content))
    with pytest.raises(DamagedFileError, match="has not the 40 rows"):
        read_shards(tmp_path / "s")
