"""Awkward files through fit, predict and compare: a result, or one line that says what to type."""

import gzip
import zipfile

import numpy as np
import pandas as pd
import pytest

FIT = ("--target", "price", "--time", "year")
QUICK = ("--models", "ridge-all,lasso-all", "--n-test", "1")


def european(frame):
    out = frame.copy()
    for name in ("size", "noise", "price"):
        out[name] = [f"{value:,.3f}".translate(str.maketrans(",.", ".,")) for value in out[name]]
    return out


def save_zip(path, frame):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("sales.csv", frame.to_csv(index=False))


def with_gaps(frame):
    out = frame.copy()
    out.loc[out.index[::9], "size"] = np.nan
    out.loc[out.index[::11], "colour"] = None
    return out


def marked(frame):
    return frame.assign(size=[f"{1000 * (value + 5):,.0f}" for value in frame["size"]])


def months(frame):
    return frame.assign(year=[f"Jan-{year}" for year in frame["year"]])


READ = {
    "semicolons": ("a.csv", lambda f, p: f.to_csv(p, sep=";", index=False), ()),
    "tabs": ("a.tsv", lambda f, p: f.to_csv(p, sep="\t", index=False), ()),
    "tabs in txt": ("a.txt", lambda f, p: f.to_csv(p, sep="\t", index=False), ()),
    "bars": ("a.csv", lambda f, p: f.to_csv(p, sep="|", index=False), ()),
    "another mark": ("a.csv", lambda f, p: f.to_csv(p, sep="~", index=False), ("--sep", "~")),
    "western letters": (
        "a.csv",
        lambda f, p: f.rename(columns={"noise": "größe"}).to_csv(p, index=False, encoding="cp1252"),
        (),
    ),
    "utf-16": ("a.csv", lambda f, p: f.to_csv(p, index=False, encoding="utf-16"), ()),
    "byte order mark": ("a.csv", lambda f, p: f.to_csv(p, index=False, encoding="utf-8-sig"), ()),
    "decimal commas": ("a.csv", lambda f, p: european(f).to_csv(p, sep=";", index=False), ()),
    "decimal commas, said": (
        "a.csv",
        lambda f, p: european(f).to_csv(p, sep=";", index=False),
        ("--decimal", ",", "--thousands", "."),
    ),
    "thousands": ("a.csv", lambda f, p: marked(f).to_csv(p, index=False), ()),
    "thousands, said": (
        "a.csv",
        lambda f, p: marked(f).to_csv(p, sep=";", index=False),
        ("--thousands", ","),
    ),
    "gz": (
        "a.csv.gz",
        lambda f, p: p.write_bytes(gzip.compress(f.to_csv(index=False).encode())),
        (),
    ),
    "zip": ("a.csv.zip", lambda f, p: save_zip(p, f), ()),
    "bare zip": ("a.zip", lambda f, p: save_zip(p, f), ()),
    "Stata": ("a.dta", lambda f, p: f.to_stata(p, write_index=False), ()),
    "Feather": ("a.feather", lambda f, p: f.to_feather(p), ()),
    "Excel": ("a.xlsx", lambda f, p: f.to_excel(p, index=False), ()),
    "Excel's second sheet": (
        "a.xlsx",
        lambda f, p: f.to_excel(p, index=False, sheet_name="data"),
        ("--sheet", "data"),
    ),
    "Windows' lines": ("a.csv", lambda f, p: f.to_csv(p, index=False, lineterminator="\r\n"), ()),
}
PREPARED = {
    "gaps dropped": (with_gaps, ("--missing", "drop")),
    "gaps filled": (with_gaps, ("--missing", "mean")),
    "gaps flagged": (with_gaps, ("--missing", "indicator")),
    "a reference": (lambda f: f, ("--reference", "colour=green")),
    "rare levels": (
        lambda f: f.assign(kind=np.arange(len(f)) % 40),
        ("--categorical", "kind", "--rare", "5"),
    ),
    "some features": (lambda f: f.assign(junk=1.0), ("--features", "s*,colour")),
}
REFUSED = {
    "gaps": (
        lambda f: with_gaps(f).to_csv(index=False),
        (),
        "2 columns have gaps: 'size' has no value in 18 of 160 rows, first in row 0 (line 2)",
    ),
    "1,234 between semicolons": (
        lambda f: f.assign(size="1,234").to_csv(sep=";", index=False),
        (),
        "--thousands ','",
    ),
    "an unknown encoding": (
        lambda f: f.to_csv(index=False),
        ("--encoding", "klingon"),
        "utf-8, cp1252",
    ),
    "a long separator": (lambda f: f.to_csv(index=False), ("--sep", "::"), "one character"),
    "an unknown way": (
        lambda f: f.to_csv(index=False),
        ("--missing", "guess"),
        "error, drop, mean",
    ),
    "an unknown level": (
        lambda f: f.to_csv(index=False),
        ("--reference", "colour=gren"),
        "did you mean 'green'",
    ),
    "an unknown feature": (
        lambda f: f.to_csv(index=False),
        ("--features", "sizes"),
        "did you mean 'size'",
    ),
    "a gap in every row": (
        lambda f: f.assign(
            size=np.where(f.index % 2, np.nan, 1.0), noise=np.where(f.index % 2, 1.0, np.nan)
        ).to_csv(index=False),
        ("--missing", "drop"),
        "--missing mean",
    ),
}


@pytest.mark.parametrize("name", READ)
def test_awkward_files_give_the_result_of_a_plain_one(name, run, rows, tmp_path):
    if name.startswith("Excel"):
        pytest.importorskip("openpyxl")
    file, save, words = READ[name]
    path = tmp_path / file
    save(rows, path)
    rows.to_csv("plain.csv", index=False)
    given = {"thousands": marked}.get(name.split(",")[0])
    if given is not None:
        given(rows).assign(size=1000 * (rows["size"] + 5)).round({"size": 0}).to_csv(
            "plain.csv", index=False
        )
    fit = run("fit", path, *FIT, *words, "-o", "m.drift", "--json", "--prior", "fixed").json
    plain = run("fit", "plain.csv", *FIT, "-o", "p.drift", "--json", "--prior", "fixed").json
    assert fit["n_features"] == plain["n_features"] == 4
    for one, other in zip(fit["features"], plain["features"], strict=True):
        assert one["coef_last"] == pytest.approx(other["coef_last"], rel=0.02, abs=0.005)
    run("predict", "m.drift", path, *words, "-o", "out.csv")
    assert len(pd.read_csv("out.csv")) == len(rows)
    run("compare", path, *FIT, *words, *QUICK, "-o", "results")


@pytest.mark.parametrize("name", PREPARED)
def test_gaps_and_levels(name, run, rows):
    change, words = PREPARED[name]
    change(rows).to_csv("sales.csv", index=False)
    found = run(
        "fit", "sales.csv", *FIT, *words, "-o", "m.drift", "--json", "--prior", "fixed"
    ).json
    features = {each["feature"] for each in found["features"]}
    if name == "gaps dropped":
        assert found["rows"] == int(with_gaps(rows).notna().all(axis=1).sum())
    if name == "gaps flagged":
        assert {"size=(missing)", "colour=(missing)"} <= features
    if name == "a reference":
        assert {"colour=red", "colour=blue"} <= features
        said = run("fit", "sales.csv", *FIT, *words, "-o", "m.drift").out
        assert "colour=blue against colour=green" in said
    if name == "rare levels":
        assert "kind=(rare)" not in features  # every level has four rows: one level is left
        assert not any(each.startswith("kind=") for each in features)
    if name == "some features":
        assert features == {"size", "colour=blue", "colour=green"}
    if name != "gaps dropped":
        run("predict", "m.drift", "sales.csv", "-o", "out.csv")
        assert pd.read_csv("out.csv")["prediction"].notna().all()
    run("compare", "sales.csv", *FIT, *words, *QUICK, "-o", "results")


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_says_what_to_type(name, run, rows, tmp_path):
    content, words, advice = REFUSED[name]
    (tmp_path / "sales.csv").write_text(content(rows))
    for command in (
        ("fit", "sales.csv", "-o", "m.drift"),
        ("compare", "sales.csv", *QUICK, "-o", "r"),
    ):
        assert advice in run.fails(*command, *FIT, *words)
    assert not (tmp_path / "m.drift").exists()


def test_what_was_guessed_is_said(run, rows):
    european(rows).to_csv("a.csv", sep=";", index=False, encoding="cp1252")
    said = run("fit", "a.csv", *FIT, "-o", "m.drift", "--prior", "fixed").err
    assert "a.csv has semicolons between cells (--sep ';')." in said
    assert "(--decimal ',' --thousands '.')" in said
    rows.assign(year=[f"2001-{1 + y % 4:02d}" for y in rows["year"]]).to_csv("b.csv", index=False)
    said = run("fit", "b.csv", *FIT, "-o", "m.drift", "--prior", "fixed").err
    assert "a step is a month (freq M)" in said


SIGNED = {
    "percent": lambda f: f.assign(size=[f"{value:.4f}%" for value in f["size"]]),
    "currency": lambda f: f.assign(size=[f"€ {value:.4f}" for value in f["size"]]),
    "currency behind": lambda f: f.assign(size=[f"{value:.4f} $" for value in f["size"]]),
    "currency with thousands": lambda f: f.assign(size=[f"${v + 5e3:,.4f}" for v in f["size"]]),
}


@pytest.mark.parametrize("name", SIGNED)
def test_signs_at_numbers_are_left_out_and_said(name, run, rows):
    SIGNED[name](rows).to_csv("a.csv", index=False)
    rows.to_csv("plain.csv", index=False)
    words = (*FIT, "-o", "m.drift", "--json", "--prior", "fixed")
    found, plain = run("fit", "a.csv", *words), run("fit", "plain.csv", *words)
    assert "is read without its sign" in found.err
    for one, other in zip(found.json["features"], plain.json["features"], strict=True):
        assert one["coef_last"] == pytest.approx(other["coef_last"], rel=0.01, abs=0.005)


def test_a_sign_keeps_the_marks_of_its_file(run, rows):
    table = european(rows.assign(size=1000 * (rows["size"] + 5)))
    table.assign(size=[f"{text} €" for text in table["size"]]).to_csv("a.csv", sep=";", index=False)
    table.to_csv("b.csv", sep=";", index=False)
    words = (*FIT, "-o", "m.drift", "--json", "--prior", "fixed")
    one, other = run("fit", "a.csv", *words).json, run("fit", "b.csv", *words).json
    assert one["features"] == other["features"]


def test_headings_and_empty_rows_around_a_table(run, rows, tmp_path):
    (tmp_path / "a.csv").write_text(f"Sales\nof 2004\n\n{rows.to_csv(index=False)}")
    said = run.fails("fit", "a.csv", *FIT, "-o", "m.drift")
    assert "begins with 'Sales', which is no row of names; these seem to stand in row 4" in said
    (tmp_path / "b.csv").write_text(f"{rows.to_csv(index=False)}\n,,,,\n,,,,\n")
    found = run("fit", "b.csv", *FIT, "-o", "m.drift", "--prior", "fixed", "--json")
    assert "2 empty rows at the end are left out" in found.err
    assert found.json["rows"] == len(rows)


def test_lines_of_the_file_are_named(run, rows):
    rows.assign(shop=[None if k == 7 else k % 9 for k in range(len(rows))]).to_csv("a.csv")
    fit = ("fit", "a.csv", "-o", "m.drift")
    assert "first in row 7 (line 9); give every row an id" in run.fails(
        *fit, *FIT, "--groups", "shop"
    )
    rows.assign(price=rows["price"].where(rows.index != 5)).to_csv("a.csv", index=False)
    assert "first in row 5 (line 7)" in run.fails(*fit, *FIT)
    run(*fit, *FIT, "--missing", "drop", "--prior", "fixed")
    run("check", "m.drift", "a.csv", "--shuffles", "1")  # leaves the same row out
    rows.assign(year=rows["year"] + 0.25).to_csv("a.csv", index=False)
    assert "'2001.25' in row 0 (line 2)" in run.fails(*fit, *FIT)
    dates = [f"{y}-03-15" if k else f"15/03/{y}" for k, y in enumerate(rows["year"])]
    rows.assign(year=dates).to_csv("a.csv", index=False)
    assert "row 0 (line 2)" in run.fails(*fit, *FIT, "--freq", "Y")


def test_spellings_of_a_missing_number_are_gaps(run, rows):
    texts = rows["size"].map("{:.3f}".format)
    for row, text in enumerate(["NA", "n/a", "#N/A", "-", "NULL", "None", "?", "N.A.", "missing"]):
        texts[3 * row] = text
    rows.assign(size=texts).to_csv("a.csv", index=False)
    assert "'size' has no value in 9 of 160 rows" in run.fails(
        "fit", "a.csv", *FIT, "-o", "m.drift"
    )
    run("fit", "a.csv", *FIT, "--missing", "mean", "-o", "m.drift", "--prior", "fixed")
