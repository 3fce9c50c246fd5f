"""Slips of a user in a hurry: nothing is lost, and the message says what to do."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from driftglm.cli.console import report_optional

FIT = ("--target", "price", "--time", "year")
COMPARE = ("compare", "sales.csv", *FIT, "-o", "results")


def fails(run, *words):
    return run(*words, code=None).error()


def test_no_command_writes_over_what_it_reads(run, table, fitted):
    data, model = table.read_bytes(), fitted.read_bytes()
    os.link(table, "link.csv")
    commands = [
        ("fit", table, *FIT, "-o", table),
        ("fit", table, *FIT, "-o", "link.csv"),
        ("predict", fitted, table, "-o", table),
        ("report", fitted, "-o", fitted),
        ("text", "fit", table, "--text", "colour", "-o", table),
    ]
    for command in commands:
        assert "is what is read" in fails(run, *command)
    assert table.read_bytes() == data
    assert fitted.read_bytes() == model


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_kept_column_named_like_a_prediction(ending, run, rows, fitted):
    rows.assign(prediction=1.0).to_csv("more.csv", index=False)
    said = fails(run, "predict", fitted, "more.csv", "--keep", "prediction", "-o", f"o.{ending}")
    assert "rename the column" in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--n-test", "1", "--jobs", "0"), "pass 1 or more, or -1"),
        (("--n-test", "1", "--models", ""), "names none"),
        (("--n-test", "1", "--freq", "0"), "a step is 1 or more"),
        (("--test", "1:99999999999"), "more than 100000 steps"),
        (("--test", "1000-01-01:3000-01-01", "--freq", "D"), "more than 100000 steps"),
    ],
)
def test_options_out_of_range_are_bad_usage(words, message, run, table):
    del table
    assert message in fails(run, *COMPARE, *words)


def test_baselines_and_more_than_two_classes(run, rows):
    price = pd.cut(rows["price"], 3, labels=["low", "mid", "high"])
    rows.assign(price=price).to_csv("sales.csv", index=False)
    said = fails(run, *COMPARE, "--n-test", "1")
    assert "3 classes" in said
    assert "--models learned,exact,variational" in said


def test_one_column_for_two_parts(run, table):
    said = fails(run, "fit", table, "--target", "year", "--time", "year", "-o", "m.drift")
    assert "column 'year' is named as target and as time" in said


def test_a_word_in_a_column_of_numbers_is_named(run, rows):
    size = rows["size"].astype(str).where(rows.index != 7, "n.v.")
    rows.assign(size=size).to_csv("sales.csv", index=False)
    said = fails(run, "fit", "sales.csv", *FIT, "-o", "m.drift")
    assert "'size' has 'n.v.' in row 7 (line 9); the other 159 of 160 cells are numbers" in said


def test_a_number_that_is_not_finite_is_shown_as_it_stands(run, rows):
    rows.assign(size=rows["size"].where(rows.index != 5, np.inf)).to_csv("sales.csv", index=False)
    assert "'size' has 'inf' in row 5" in fails(run, "fit", "sales.csv", *FIT, "-o", "m.drift")


def test_a_header_alone_makes_no_shards(run):
    Path("empty.csv").write_text("year,price,size\n", encoding="utf-8")
    assert "has no rows" in fails(run, "shard", "empty.csv", "-o", "parts")
    assert not Path("parts/manifest.json").exists()


def test_the_index_of_a_parquet_file_is_a_column(run, rows):
    pytest.importorskip("pyarrow")
    rows.set_index(["year", "colour"]).to_parquet("sales.parquet")
    found = run("fit", "sales.parquet", *FIT, "-o", "m.drift", "--json").json
    run("shard", "sales.parquet", "-o", "parts", "--rows", "50")
    again = run("fit", "parts", *FIT, "-o", "m.drift", "--json").json
    names = {"size", "noise", "colour=blue", "colour=green"}
    assert {each["feature"] for each in found["features"]} == names
    assert {each["feature"] for each in again["features"]} == names


def test_documents_left_out_are_counted(run):
    lines = [f"{k // 4},200{k % 3 + 1}-01-01,{k % 2},gold iron wheat" for k in range(24)]
    Path("docs.csv").write_text("\n".join(["id,date,kind,text", *lines]), encoding="utf-8")
    said = run("text", "fit", "docs.csv", "-o", "w.drift").err
    assert "warning: 18 repeated documents left out." in said


def test_a_column_that_never_varies_is_not_said_to_matter(run):
    lines = [f"{k % 5} qid:{2001 + k // 20} 1:{k % 5 + k % 2} 3:{k % 7}" for k in range(80)]
    Path("a.svm").write_text("\n".join(lines), encoding="utf-8")
    assert "f2" not in run("fit", "a.svm", "-o", "m.drift", "--json").json["learned"]


def test_a_folder_without_a_comparison(run):
    Path("nothing").mkdir()
    said = fails(run, "report", "nothing")
    assert "nothing/comparison.drift does not exist; name a file" in said


def test_a_report_without_its_package_says_what_to_install(run, fitted, monkeypatch):
    from driftglm.report.write import bundle

    monkeypatch.setitem(sys.modules, "vl_convert", None)
    bundle.cache_clear()
    said = run("report", fitted, "-o", "r.html", code=None).error(code=1)
    assert "pip install 'driftglm[report]'" in said
    assert "ImportError" not in said


def test_a_broken_module_is_not_taken_for_a_missing_extra(run, fitted, monkeypatch):
    def broken(*_, **__):
        raise ModuleNotFoundError("No module named 'driftglm.report.gone'", name="gone")

    monkeypatch.setattr("driftglm.report.write_report", broken)
    said = run("report", fitted, "-o", "r.html", code=None).error(code=1)
    assert "the run failed: ModuleNotFoundError" in said
    with pytest.raises(ModuleNotFoundError), report_optional():
        broken()


def test_a_terminal_without_the_letters_does_not_end_a_run(rows, tmp_path):
    path = tmp_path / "größe.csv"
    rows.rename(columns={"size": "größe"}).to_csv(path, index=False)
    words = [sys.executable, "-m", "driftglm", "fit", path, *FIT, "-o", tmp_path / "ü.drift"]
    here = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    for more in ([], ["--json"]):
        ran = subprocess.run([*words, *more], capture_output=True, env=here, check=False)  # noqa: S603
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.isascii()
    features = json.loads(ran.stdout)["features"]
    assert "größe" in {each["feature"] for each in features}


def spoil(rows, name, **cells):
    """The rows with other texts in some cells of a column; r3="x" is row 3."""
    texts = rows[name].map("{:.3f}".format)
    for row, text in cells.items():
        texts[int(row[1:])] = text
    return rows.assign(**{name: texts})


def test_a_bad_cell_does_not_make_numbers_a_column_of_levels(run, rows):
    spoil(rows, "size", r5="#REF!", r8="1,5").head(92).to_csv("sales.csv", index=False)
    for words in (("fit", "sales.csv", *FIT, "-o", "m.drift"), (*COMPARE, "--n-test", "1")):
        said = fails(run, *words)
        assert "column 'size' has '#REF!' in row 5 (line 7), '1,5' in row 8 (line 10);" in said
        assert "--categorical 'size'" in said
        assert "--drop" in said
    words = ("fit", "sales.csv", *FIT, "-o", "m.drift", "--json")
    found = run(*words, "--categorical", "size").json
    assert found["n_features"] > 80
    assert run(*words, "--drop", "size").json["n_features"] < 10


def test_decimal_commas_are_named(run, rows):
    commas = rows["size"].round(1).astype(str).str.replace(".", ",")
    rows.assign(size=commas).to_csv("sales.csv", index=False)
    said = fails(run, "fit", "sales.csv", *FIT, "-o", "m.drift")
    assert f"column 'size' has '{commas[0]}' in row 0 (line 2)" in said
    assert "numbers are written like 1234.5" in said


def test_a_target_of_numbers_with_commas_is_not_taken_for_classes(run, rows):
    price = rows["price"].round(0) / 2
    commas = price.astype(str).str.replace(".", ",")
    rows.assign(price=commas).to_csv("sales.csv", index=False)
    for words in (("fit", "sales.csv", *FIT, "-o", "m.drift"), (*COMPARE, "--n-test", "1")):
        said = fails(run, *words)
        assert f"column 'price' has '{commas[0]}' in row 0 (line 2)" in said
        assert "--family binomial" in said
    spoil(rows, "price", r4="?").to_csv("sales.csv", index=False)
    assert "'?' in row 4 (line 6)" in fails(run, "fit", "sales.csv", *FIT, "-o", "m.drift")
    said = fails(run, "fit", "sales.csv", *FIT, "-o", "m.drift", "--family", "gaussian")
    assert "'?' in row 4 (line 6)" in said


def test_bad_cells_are_named_at_predict_time(run, rows, fitted):
    spoil(rows, "size", r5="#REF!", r8="1,5").to_csv("new.csv", index=False)
    said = fails(run, "predict", fitted, "new.csv")
    assert "column 'size' has '#REF!' in row 5 (line 7), '1,5' in row 8 (line 10)" in said


def test_levels_that_are_mostly_numbers_at_an_origin_do_not_end_a_comparison(run, rows):
    grade = ["1" if year < 2003 else "x" for year in rows["year"]]
    grade[0] = "x"  # of the rows before 2003 nearly all are numbers, of all rows half
    rows.assign(grade=grade).to_csv("sales.csv", index=False)
    words = ("--test", "2003:2004", "--models", "ridge-all,lasso-all", "--json")
    assert run(*COMPARE, *words).json["best"]
