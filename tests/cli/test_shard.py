"""Shards: the same rows in parts, complete or recognisably not."""

import json
from pathlib import Path

import pandas as pd


def test_shards_are_fitted_like_the_file_they_come_from(run, table, rows):
    ran = run("shard", table, "-o", "parts", "--rows", 50, "--time", "year")
    assert "160 rows in 4 parts, 4 steps, written to parts." in ran.out
    manifest = json.loads(Path("parts/manifest.json").read_text())
    assert [part["rows"] for part in manifest["parts"]] == [50, 50, 50, 10]
    assert manifest["steps"] == {"2001": 40, "2002": 40, "2003": 40, "2004": 40}
    words = ("--target", "price", "--time", "year", "--json")
    whole = run("fit", table, *words, "-o", "a.drift").json
    parts = run("fit", "parts", *words, "-o", "b.drift").json
    assert [row["coef_next"] for row in whole["features"]] == [
        row["coef_next"] for row in parts["features"]
    ]
    assert len(rows) == 160


def test_what_is_there_is_not_overwritten_unasked(run, table):
    run("shard", table, "-o", "parts")
    assert "--overwrite" in run("shard", table, "-o", "parts", code=None).error()
    found = run("shard", table, "-o", "parts", "--overwrite", "--rows", 100, "--json").json
    assert found["n_rows"] == 160
    Path("mine").mkdir()
    Path("mine/letter.txt").write_text("dear")
    assert (
        "holds other files ('letter.txt')" in run("shard", table, "-o", "mine", code=None).error()
    )


def test_an_unfinished_folder_is_refused_and_can_be_filled_again(run, table):
    run("shard", table, "-o", "parts", "--rows", 50)
    Path("parts/manifest.json").unlink()
    words = ("fit", "parts", "--target", "price", "--time", "year", "-o", "m.drift")
    assert "did not finish" in run(*words, code=None).error()
    left = sorted(path.name for path in Path("parts").iterdir())
    run("shard", table, "-o", "parts", "--rows", 100)
    manifest = json.loads(Path("parts/manifest.json").read_text())
    # Nothing says whose the parts are that were left; they are neither read nor removed.
    names = {"manifest.json", *(part["file"] for part in manifest["parts"])}
    assert sorted(names | set(left)) == sorted(path.name for path in Path("parts").iterdir())
    run(*words)


def test_shards_are_not_lost_to_a_file_that_cannot_be_read(run, table):
    run("shard", table, "-o", "parts", "--rows", 50)
    before = {path.name: path.read_bytes() for path in Path("parts").iterdir()}
    Path("empty.csv").write_text("year,price\n")
    Path("bad.csv").write_text("year,year\n1,2\n")
    for source, why in (
        ("nonexist.csv", "does not exist"),
        ("parts", "is a folder; a file is needed"),
        ("empty.csv", "has no rows"),
        ("bad.csv", "2 columns named 'year'"),
    ):
        assert why in run("shard", source, "-o", "parts", "--overwrite", code=None).error()
        assert {path.name: path.read_bytes() for path in Path("parts").iterdir()} == before


def test_files_of_the_user_are_kept(run, table):
    Path("mine").mkdir()
    Path("mine/part-2020-photos.zip").write_bytes(b"photos")
    said = run("shard", table, "-o", "mine", code=None).error()
    assert "holds other files ('part-2020-photos.zip'); choose an empty one" in said
    assert Path("mine/part-2020-photos.zip").read_bytes() == b"photos"
    assert run("shard", "nonexist.csv", "-o", "new", code=None).error()
    assert not Path("new").exists()


def test_a_bad_file_leaves_no_manifest(run):
    frame = pd.DataFrame({"year": ["2001-01-01"] * 5 + ["never"], "x": 1.0})
    frame.to_csv("bad.csv", index=False)
    words = ("shard", "bad.csv", "-o", "parts", "--rows", 2, "--time", "year", "--freq", "Y")
    assert "'never'" in run(*words, code=None).error()
    assert not Path("parts/manifest.json").exists()


def test_a_header_alone_makes_no_shards(run):
    Path("empty.csv").write_text("year,price,size\n", encoding="utf-8")
    assert "has no rows" in run.fails("shard", "empty.csv", "-o", "parts")
    assert not Path("parts/manifest.json").exists()
