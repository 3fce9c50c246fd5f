"""What is wrong is said in one line, with the repair, and with the right exit code."""

import os

import numpy as np
import pandas as pd
import pytest

from driftglm.cli import fit as fit_command

FIT = ("--target", "price", "--time", "year", "-o", "m.drift")
COMPARE = ("compare", "sales.csv", "--target", "price", "--time", "year", "-o", "results")


def fit_frame(run, frame, *words):
    frame.to_csv("bad.csv", index=False)
    return run.fails("fit", "bad.csv", *FIT, *words)


def test_a_missing_file(run):
    assert "nothing.csv does not exist" in run.fails("fit", "nothing.csv", *FIT)
    assert "nothing.drift" in run.fails("predict", "nothing.drift", "nothing.csv")


def test_a_file_of_an_unknown_kind(run, tmp_path):
    (tmp_path / "a.docx").write_text("x")
    assert "the endings .csv, .tsv" in run.fails("fit", "a.docx", *FIT)


@pytest.mark.parametrize("content", ["", "\n", "year,price,size\n"])
def test_a_file_without_rows(content, run, tmp_path):
    (tmp_path / "e.csv").write_text(content)
    said = run.fails("fit", "e.csv", *FIT)
    assert "is empty" in said or "has no rows" in said


def test_a_file_with_another_separator(run, tmp_path):
    (tmp_path / "s.csv").write_text("year;price;size\n2001;1;2\n")
    said = run.fails("fit", "s.csv", *FIT, "--sep", ",")
    assert "say what stands between cells (--sep ';')" in said


def test_a_file_in_another_encoding(run, tmp_path):
    (tmp_path / "l.csv").write_bytes("year,price,größe\n2001,1,2\n".encode("latin-1"))
    assert "no text in utf-8" in run.fails("fit", "l.csv", *FIT, "--encoding", "utf-8")


def test_a_missing_column_with_near_matches(run, table):
    said = run.fails("fit", table, "--target", "prise", "--time", "year", "-o", "m.drift")
    assert "sales.csv has no column 'prise' (target); did you mean 'price'" in said
    said = run.fails("fit", table, "--target", "price", "--time", "YEAR", "-o", "m.drift")
    assert "did you mean 'year'?" in said
    said = run.fails("fit", table, *FIT, "--drop", "qqqq")
    assert "its columns are 'year', 'size', 'noise', 'colour', 'price'." in said


def test_a_column_that_occurs_twice(run, tmp_path):
    (tmp_path / "d.csv").write_text("year,price,x,x\n2001,1,2,3\n")
    assert "2 columns named 'x'" in run.fails("fit", "d.csv", *FIT)


def test_a_date_that_cannot_be_read(run, rows):
    days = [f"{year}-03-01" for year in rows["year"]]
    days[7] = "31st of Juno"
    said = fit_frame(run, rows.assign(year=days), "--freq", "Y")
    assert "row 7 (line 9) has the date '31st of Juno'" in said
    assert "column 'year'" in said


def test_dates_without_a_frequency(run, rows):
    said = fit_frame(run, rows.assign(year=rows["year"].astype(str) + "-03-05"))
    assert "--freq M" in said


def test_missing_values_name_column_and_count(run, rows):
    gaps = rows.copy()
    gaps.loc[[3, 5], "size"] = np.nan
    said = fit_frame(run, gaps)
    assert "column 'size' has no value in 2 of 160 rows, first in row 3" in said
    assert "--drop" in said
    gaps = rows.copy()
    gaps.loc[4, "year"] = np.nan
    assert "column 'year' has no value in 1 of 160 rows" in fit_frame(run, gaps)


def test_an_infinite_value(run, rows):
    assert "no finite number" in fit_frame(
        run, rows.assign(size=rows["size"].replace(rows["size"][0], np.inf))
    )


def test_a_target_without_values(run, rows):
    assert "the target 'price' has no values" in fit_frame(run, rows.assign(price=np.nan))
    gaps = rows.copy()
    gaps.loc[9, "price"] = np.nan
    assert "the target must be known in every row" in fit_frame(run, gaps)
    assert "1 different values" in fit_frame(run, rows.assign(price="a"))


def test_a_number_column_with_a_word_at_predict_time(run, rows, fitted):
    odd = rows.astype({"size": object})
    odd.loc[2, "size"] = "big"
    odd.to_csv("odd.csv", index=False)
    said = run.fails("predict", fitted, "odd.csv")
    assert "column 'size' has 'big' in row 2" in said


def test_a_column_of_identifiers(run, rows):
    said = fit_frame(run, rows.assign(key=[f"k{i}" for i in range(len(rows))]))
    assert "column 'key' has 160 different texts in 160 rows; drop it" in said


def test_a_time_before_training(run, rows, fitted):
    rows.assign(year=1990).to_csv("old.csv", index=False)
    assert "before the first step" in run.fails("predict", fitted, "old.csv")


def test_a_single_row(run, rows):
    assert "has 1 row; 2 or more are needed" in fit_frame(run, rows.head(1))


def test_no_words_at_all_print_the_help(run):
    for words in ((), ("text",)):
        ran = run(*words, code=2)
        assert ran.err.startswith("Usage: driftglm")
        assert len(ran.err.splitlines()) > 5


def test_no_target_or_time(run, table):
    assert "--target COL" in run.fails("fit", table, "-o", "m.drift", "--time", "year")
    assert "--time COL" in run.fails("fit", table, "-o", "m.drift", "--target", "price")


def test_bad_usage_is_one_line_and_points_to_the_help(run, table):
    assert "See driftglm fit --help." in run.fails("fit", table, "--nonsense")
    assert "Did you mean 'fit'? See driftglm --help." in run.fails("fitt")
    assert "'--output' / '-o'" in run.fails("fit", table)
    assert "wrong" in run.fails("fit", table, *FIT, "--family", "wrong")
    assert "FIRST:LAST" in run.fails("fit", table, *FIT, "--vocabulary", "many", "--text", "colour")


def test_bad_intervals_and_outputs_of_predict(run, table, fitted):
    assert "between 0 and 1" in run.fails("predict", fitted, table, "--interval", "1.5")
    assert ".csv, .csv.gz and .parquet" in run.fails("predict", fitted, table, "-o", "p.xlsx")
    assert "name a file" in run.fails("predict", fitted, table, "--json")


@pytest.mark.parametrize("output", ["no/such/folder/m.drift", "."])
def test_an_impossible_output_is_refused_before_the_fit(output, run, table, monkeypatch):
    def never(*_, **__):
        raise AssertionError("the table was read")

    monkeypatch.setattr(fit_command.opt, "read", never)
    said = run.fails("fit", table, "--target", "price", "--time", "year", "-o", output)
    assert "does not exist" in said or "is a folder" in said


def test_a_damaged_model_and_a_file_of_another_kind(run, table, fitted):
    data = fitted.read_bytes()
    fitted.write_bytes(data[: len(data) // 2])
    run.fails("predict", fitted, table)
    assert "error: " in run.fails("predict", table, table)


def test_a_failed_run_has_code_1_and_a_traceback_only_on_request(run, table, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("the disk melted\nbadly")

    monkeypatch.setattr(fit_command.opt, "read", broken)
    said = run("fit", table, *FIT, code=None).error(code=1)
    assert "the disk melted badly" in said
    ran = run("fit", table, *FIT, "--debug", code=1)
    assert "Traceback" in ran.err
    assert "RuntimeError: the disk melted" in ran.err


def test_an_interrupted_run_has_code_130(run, table, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(fit_command.opt, "read", interrupted)
    ran = run("fit", table, *FIT, code=130)
    assert ran.err == "interrupted\n"


def test_a_message_cannot_move_the_cursor(run, rows):
    odd = pd.DataFrame({"\x1b[2J": rows["size"], "year": rows["year"], "price": np.nan})
    odd = odd.assign(price=rows["price"])
    odd.loc[0, "\x1b[2J"] = np.nan
    assert "\x1b" not in fit_frame(run, odd)


def test_no_command_writes_over_what_it_reads(run, table, fitted):
    data, model = table.read_bytes(), fitted.read_bytes()
    os.link(table, "link.csv")
    commands = [
        ("fit", table, *FIT[:4], "-o", table),
        ("fit", table, *FIT[:4], "-o", "link.csv"),
        ("predict", fitted, table, "-o", table),
        ("report", fitted, "-o", fitted),
        ("text", "fit", table, "--text", "colour", "-o", table),
    ]
    for command in commands:
        assert "is what is read" in run.fails(*command)
    assert table.read_bytes() == data
    assert fitted.read_bytes() == model


def test_one_column_for_two_parts(run, table):
    said = run.fails("fit", table, "--target", "year", "--time", "year", "-o", "m.drift")
    assert "column 'year' is named as target and as time" in said


def test_a_word_in_a_column_of_numbers_is_named(run, rows):
    size = rows["size"].astype(str).where(rows.index != 7, "n.v.")
    rows.assign(size=size).to_csv("sales.csv", index=False)
    said = run.fails("fit", "sales.csv", *FIT)
    assert "'size' has 'n.v.' in row 7 (line 9); the other 159 of 160 cells are numbers" in said


def test_a_number_that_is_not_finite_is_shown_as_it_stands(run, rows):
    rows.assign(size=rows["size"].where(rows.index != 5, np.inf)).to_csv("sales.csv", index=False)
    assert "'size' has 'inf' in row 5" in run.fails("fit", "sales.csv", *FIT)


def test_a_bad_cell_does_not_make_numbers_a_column_of_levels(run, spoil):
    spoil("size", r5="#REF!", r8="1,5").head(92).to_csv("sales.csv", index=False)
    for words in (("fit", "sales.csv", *FIT), (*COMPARE, "--n-test", "1")):
        said = run.fails(*words)
        assert "column 'size' has '#REF!' in row 5 (line 7), '1,5' in row 8 (line 10);" in said
        assert "--categorical 'size'" in said
        assert "--drop" in said
    words = ("fit", "sales.csv", *FIT, "--json")
    found = run(*words, "--categorical", "size").json
    assert found["n_features"] > 80
    assert run(*words, "--drop", "size").json["n_features"] < 10


@pytest.mark.parametrize("cells", [["1.5", "2.5", "x"], ["1", "2", "x", "y"], ["0", "1", "x"] * 2])
def test_a_target_of_which_half_is_numbers_is_taken_for_classes_only_if_asked(cells, run):
    """In a short file one stray letter is a large share; it made every number a class."""
    frame = pd.DataFrame({"year": 2000, "size": np.arange(len(cells)) % 3, "price": cells})
    said = fit_frame(run, frame)
    assert "column 'price' has 'x' in row 2 (line 4)" in said
    assert "or, if they are classes, say so (--family binomial)" in said
    ran = run("fit", "bad.csv", *FIT, "--family", "binomial", "--json")
    assert ran.json["classes"] == sorted(set(cells))


def test_measurements_in_a_short_file_are_no_levels(run):
    frame = pd.DataFrame({"year": 2000, "size": ["1.5", "2.5", "x", "4", "0.1"], "price": range(5)})
    said = fit_frame(run, frame)
    assert "column 'size' has 'x' in row 2 (line 4); the other 4 of 5 cells are numbers" in said


def test_decimal_commas_are_named(run, rows):
    commas = rows["size"].round(1).astype(str).str.replace(".", ",")
    rows.assign(size=commas).to_csv("sales.csv", index=False)
    said = run.fails("fit", "sales.csv", *FIT)
    assert f"column 'size' has '{commas[0]}' in row 0 (line 2)" in said
    assert "numbers are written like 1234.5" in said


def test_a_target_of_numbers_with_commas_is_not_taken_for_classes(run, rows, spoil):
    price = rows["price"].round(0) / 2
    commas = price.astype(str).str.replace(".", ",")
    rows.assign(price=commas).to_csv("sales.csv", index=False)
    for words in (("fit", "sales.csv", *FIT), (*COMPARE, "--n-test", "1")):
        said = run.fails(*words)
        assert f"column 'price' has '{commas[0]}' in row 0 (line 2)" in said
        assert "--family binomial" in said
    spoil("price", r4="?").to_csv("sales.csv", index=False)
    for family in ("auto", "gaussian"):  # a question mark is a value that is missing
        said = run.fails("fit", "sales.csv", *FIT, "--family", family)
        assert "no value in 1 of 160 rows, first in row 4 (line 6)" in said
