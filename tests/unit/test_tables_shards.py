"""Shards hold the rows of their file, whatever it is, and betray every change."""

import json
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


def test_a_run_that_breaks_off_leaves_no_manifest(frame, tmp_path):
    frame.to_csv(tmp_path / "a.csv", index=False)

    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_shards(tmp_path / "a.csv", tmp_path / "s", rows=40, progress=stop)
    assert [path.name for path in (tmp_path / "s").iterdir()] == ["part-00000.zip"]
    with pytest.raises(DataError, match="did not finish"):
        read_shards(tmp_path / "s")
    assert write_shards(tmp_path / "a.csv", tmp_path / "s", rows=40).n_rows == 100
