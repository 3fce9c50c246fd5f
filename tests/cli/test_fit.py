"""`driftglm fit`: the file holds all that predictions need, whatever the table is like."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import driftglm
from driftglm import DriftGLM, DriftRegressor
from driftglm.simulate import simulate_panel
from driftglm.tables import TableSpec, fit_table, read_data

FIT = ("--target", "price", "--time", "year", "-o", "m.drift")
QUICK = (*FIT, "--prior", "fixed")  # where it is dates that matter


def write(rows, path):
    if path.name.endswith(".csv") or path.name.endswith(".csv.gz"):
        rows.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        rows.to_parquet(path, index=False)
    else:
        rows.to_json(path, orient="records", lines=True)
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet", "a.jsonl", "a.jsonl.gz"])
def test_every_kind_of_file_gives_the_same_predictions(name, rows, run, tmp_path):
    run("fit", write(rows, tmp_path / name), *FIT)
    run("predict", "m.drift", write(rows, tmp_path / "b.csv"), "-o", "p.csv")
    found = pd.read_csv("p.csv")["prediction"]
    X = np.column_stack(
        [rows["size"], rows["noise"], rows["colour"] == "blue", rows["colour"] == "green"]
    )
    model = DriftRegressor().fit(X, rows["price"], time=rows["year"])
    np.testing.assert_allclose(found, model.predict(X, time=rows["year"]), rtol=1e-6, atol=1e-8)


def test_the_summary_says_what_was_fitted_and_learned(run, table):
    ran = run("fit", table, *FIT)
    assert "160 rows, 4 steps (2001 to 2004), 4 features, noise variance" in ran.out
    assert "most of all size, colour=blue" in ran.out
    assert "1 drifts (size)" in ran.out
    assert "family gaussian: the target is numbers." in ran.err
    assert "\x1b" not in ran.out + ran.err


def test_json_is_parsed_and_lists_every_feature(run, table):
    found = run("fit", table, *FIT, "--json").json
    assert found["rows"] == 160
    assert found["steps"] == 4
    assert found["family"] == "gaussian"
    names = {row["feature"] for row in found["features"]}
    assert names == {"size", "noise", "colour=blue", "colour=green"}


def test_findings_follow_the_summary_and_json_has_them(run, rows):
    rows.to_csv("a.csv", index=False)
    ran = run("fit", "a.csv", *FIT)
    assert ran.out.splitlines()[-2] == "Checks of the residuals: no findings."
    assert run("fit", "a.csv", *FIT, "--json").json["findings"] == []
    wild = np.where(rows["year"] == 2003, 20 * rows["price"], rows["price"])
    rows.assign(price=wild).to_csv("b.csv", index=False)
    lines = [line for line in run("fit", "b.csv", *FIT).out.splitlines() if "finding" in line]
    assert 1 <= len(lines) <= 5
    assert any("the residuals of 2003 (40 rows)" in line for line in lines)
    found = run("fit", "b.csv", *FIT, "--json").json["findings"]
    assert "wild step" in {each["check"] for each in found}
    assert set(found[0]) == {"check", "finding", "advice", "statistic", "p_value", "severity"}


def test_quiet_prints_nothing_wherever_it_stands(run, table):
    for words in (("--quiet", "fit", table, *FIT), ("fit", table, *FIT, "-q")):
        ran = run(*words)
        assert (ran.out, ran.err) == ("", "")


def test_the_model_file_is_one_that_the_library_loads(run, table):
    run("fit", table, *FIT)
    model = driftglm.load("m.drift")
    fresh = fit_table(read_data(table), TableSpec(target="price", time="year"))
    np.testing.assert_array_equal(model.estimator.coef_path_, fresh.estimator.coef_path_)
    assert model.encoder.feature_names == fresh.encoder.feature_names


def test_two_classes_have_a_probability_and_three_one_each(run, rows):
    rows.assign(up=np.where(rows["price"] > 0, "yes", "no")).to_csv("up.csv", index=False)
    words = ("--time", "year", "-o", "m.drift")
    ran = run("fit", "up.csv", "--target", "up", "--drop", "price", *words)
    assert "family binomial: the target has 2 classes." in ran.err
    run("predict", "m.drift", "up.csv", "--interval", "0.9", "-o", "p.csv")
    frame = pd.read_csv("p.csv")
    assert list(frame) == ["prediction", "probability", "lower", "upper"]
    assert ((frame["probability"] > 0.5) == (frame["prediction"] == "yes")).all()
    ran = run("fit", "up.csv", "--target", "colour", "--drop", "up", *words)
    assert "class" in ran.out
    run("predict", "m.drift", "up.csv", "-o", "p.csv")
    shares = pd.read_csv("p.csv").drop(columns="prediction")
    assert list(shares) == ["probability_blue", "probability_green", "probability_red"]
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


def test_counts_with_exposure_and_weights(run, rows):
    rng = np.random.default_rng(0)
    hours = rng.uniform(1, 3, len(rows))
    counted = rows.assign(hours=hours, n=rng.poisson(hours * np.exp(0.5 * rows["size"])), w=1.0)
    counted.to_csv("n.csv", index=False)
    words = ("--target", "n", "--time", "year", "--drop", "price,colour", "-o", "m.drift")
    assert "if they are counts, use family poisson" in run("fit", "n.csv", *words).err
    counts = (*words, "--family", "poisson", "--exposure", "hours", "--weights", "w")
    ran = run("fit", "n.csv", *counts)
    assert "dispersion" in ran.out
    assert "hours" not in ran.out
    said = run("fit", "n.csv", *words, "--exposure", "hours", code=None).error()
    assert "exposures belong to counts" in said


def test_dates_with_a_frequency(run, rows):
    days = pd.to_datetime({"year": rows["year"], "month": rows.index % 12 + 1, "day": 15})
    rows.assign(year=days.dt.strftime("%Y-%m-%d")).to_csv("d.csv", index=False)
    found = run("fit", "d.csv", *QUICK, "--freq", "Q", "--json").json
    assert (found["first_step"], found["last_step"], found["steps"]) == ("2001Q1", "2004Q4", 16)
    rows.assign(year=days.dt.strftime("%Y%m").astype(int)).to_csv("m.csv", index=False)
    found = run("fit", "m.csv", *QUICK, "--freq", "M", "--json").json
    assert (found["first_step"], found["steps"]) == ("2001-01", 48)
    assert run("predict", "m.drift", "m.csv").out.count("\n") == 161


def test_seasons_are_asked_for_or_read_off_the_dates(run):
    rng = np.random.default_rng(0)
    step = np.repeat(np.arange(12), 20)
    size, level = rng.normal(size=240), np.array([3.0, 0.0, -2.0, 0.0])[step % 4]
    frame = pd.DataFrame({"year": step, "size": size, "price": size + level})
    frame["price"] += 0.3 * rng.normal(size=240)
    frame.to_csv("n.csv", index=False)
    said = run("fit", "n.csv", *FIT, "--seasonality", "4").out
    assert "Seasons of 4 steps were found in the intercept." in said
    assert "Seasons" not in run("fit", "n.csv", *FIT).out
    frame["year"] = pd.period_range("2001Q1", periods=12, freq="Q").to_timestamp()[step]
    frame.to_csv("d.csv", index=False)
    found = run("fit", "d.csv", *FIT, "--freq", "Q", "--json").json
    assert "the intercept" in found["seasons"]
    found = run("fit", "d.csv", *FIT, "--freq", "Q", "--seasonality", "none", "--json").json
    assert found["seasons"] == ""
    for bad in ("1", "monthly", "-4", "2.5"):
        message = run.fails("fit", "n.csv", *FIT, f"--seasonality={bad}")
        assert "write the steps of a cycle, 2 or more, auto or none" in message
    message = run.fails("fit", "n.csv", *FIT, "--seasonality", "4", "--prior", "fixed")
    assert "Use --prior learned, or --seasonality none" in message
    steps = ("--test", "10,11", "--models", "learned", "-o", "out", "--seasonality", "4")
    run("compare", "n.csv", "--target", "price", "--time", "year", *steps)


def test_words_of_a_text_column_are_features(run, rows):
    rng = np.random.default_rng(1)
    notes = [" ".join(rng.choice(["fine", "old", "rare", "new"], 3)) for _ in range(len(rows))]
    rare = np.array(["rare" in note for note in notes])
    texts = rows.assign(note=notes, price=rows["price"] + 3 * rare)
    texts.to_csv("t.csv", index=False)
    found = run("fit", "t.csv", *FIT, "--text", "note", "--json").json
    kinds = {row["feature"]: row["kind"] for row in found["features"]}
    assert kinds["note:rare"] == "static"
    assert kinds["note:old"] == "zero"
    found = run("fit", "t.csv", *FIT, "--text", "note", "--vocabulary", "1:2", "--json").json
    assert found["n_features"] == 4 + 2
    run("predict", "m.drift", "t.csv", "-o", "p.csv")


def test_svmlight_takes_time_from_qid_or_from_a_file(run, rows, tmp_path):
    lines = [
        f"{price} qid:{year} 1:{size} 3:{noise}"
        for price, year, size, noise in zip(
            rows["price"], rows["year"], rows["size"], rows["noise"], strict=True
        )
    ]
    (tmp_path / "a.svm").write_text("\n".join(lines))
    first = run("fit", "a.svm", "-o", "m.drift", "--json").json
    assert first["steps"] == 4
    assert [row["feature"] for row in first["features"]][:1] == ["f1"]
    bare = [
        line.replace(f"qid:{year} ", "") for line, year in zip(lines, rows["year"], strict=True)
    ]
    (tmp_path / "b.svm").write_text("\n".join(bare))
    (tmp_path / "years.txt").write_text("\n".join(map(str, rows["year"])))
    assert "--time-file" in run("fit", "b.svm", "-o", "m.drift", code=None).error()
    times = ("--time-file", "years.txt")
    second = run("fit", "b.svm", *times, "-o", "n.drift", "--json").json
    assert [row["coef_next"] for row in first["features"]] == [
        row["coef_next"] for row in second["features"]
    ]
    (tmp_path / "c.svm").write_text("0 qid:2004 1:1.0 77:5.0\n0 qid:2004 1:1.0\n")
    ran = run("predict", "m.drift", "c.svm", "-o", "p.csv")
    assert "1 values of features the model has not seen" in ran.err
    first_row, second_row = pd.read_csv("p.csv")["prediction"]
    assert first_row == second_row


ODD = ["a b", "a,b", "größe €", "=HYPERLINK(1)", "two\nlines", '"quoted"', "-o", "<script>"]


def test_odd_names_survive_every_step(run, rows):
    odd = pd.DataFrame({name: rows["size"] * k for k, name in enumerate(ODD, start=1)})
    odd = odd.assign(**{"a=b": rows["noise"]}, colour="=1+1," + rows["colour"])
    odd = odd.assign(year=rows["year"], price=rows["price"])
    odd.to_csv("odd.csv", index=False)
    ran = run("fit", "odd.csv", *FIT, "--drop", "a,b", "--static", "größe €", "--json")
    names = {row["feature"] for row in ran.json["features"]}
    assert names >= (set(ODD) - {"a,b"}) | {"a=b", "colour==1+1,blue"}
    assert "a,b" not in names
    run("predict", "m.drift", "odd.csv", "-o", "p.csv")
    assert len(pd.read_csv("p.csv")) == len(rows)
    plain = run("fit", "odd.csv", *FIT, "--drop", "a,b").out
    assert "two lines" in plain  # one row a line


def test_columns_that_are_always_in_or_static(run, table):
    found = run(
        "fit", table, *FIT, "--always-in", "noise", "--static", "size,colour", "--json"
    ).json
    kinds = {row["feature"]: row["kind"] for row in found["features"]}
    assert kinds["noise"] != "zero"
    assert kinds["size"] == "static"
    said = run("fit", table, *FIT, "--static", "ssize", code=None).error()
    assert "'ssize' (static) is no feature; did you mean 'size'?" in said


def test_numbers_can_be_categories(run, rows):
    rows.assign(code=rows.index % 3 + 1).to_csv("c.csv", index=False)
    found = run("fit", "c.csv", *FIT, "--categorical", "code", "--json").json
    names = {row["feature"] for row in found["features"]}
    assert {"code=2", "code=3"} <= names
    # 1.0 in a file with gaps elsewhere is the level 1.
    rows.assign(code=(rows.index % 3 + 1).astype(float)).to_json(
        "c.jsonl", orient="records", lines=True
    )
    assert "warning" not in run("predict", "m.drift", "c.jsonl").err


def test_a_single_step_can_be_fitted_and_predicted(run, rows):
    rows[rows["year"] == 2001].to_csv("one.csv", index=False)
    ran = run("fit", "one.csv", *FIT)
    assert "1 steps (2001)" in ran.out
    run("predict", "m.drift", "one.csv", "--next", "-o", "p.csv")


def test_every_prior_can_be_fitted(run, table):
    for prior in ("exact", "variational", "fixed"):
        found = run("fit", table, *FIT, "--prior", prior, "--json").json
        assert found["prior"] == prior
    said = run("predict", "m.drift", table, "--interval", "0.9", code=None).error()
    assert "has no intervals" in said


def test_json_has_no_nan(run, table):
    text = run("fit", table, *FIT, "--prior", "exact", "--json").out

    def refuse(name):
        raise AssertionError(name)

    json.loads(text, parse_constant=refuse)


def dated(rows, form):
    """The rows with a day a row; `form` writes it."""
    days = pd.date_range("2019-01-03", periods=len(rows), freq="4D")
    return rows.assign(year=[f"{day:{form}}" for day in days])


def test_dates_written_day_first_are_read_day_first(run, rows):
    dated(rows, "%Y-%m-%d").to_csv("iso.csv", index=False)
    expected = run("fit", "iso.csv", *QUICK, "--freq", "M", "--json").json
    for form in ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%-d %B %Y"):
        dated(rows, form).to_csv("d.csv", index=False)
        found = run("fit", "d.csv", *QUICK, "--freq", "M", "--json").json
        assert found["features"] == expected["features"]
        assert found["steps"] == expected["steps"] == 21


def test_a_model_reads_dates_as_those_it_was_fitted_to(run, rows):
    dated(rows, "%m/%d/%Y").to_csv("d.csv", index=False)
    run("fit", "d.csv", *FIT, "--freq", "M")
    assert driftglm.load("m.drift").encoder.spec.date_format == "%m/%d/%Y"
    new = rows.head(2)
    new.assign(year="02/10/2020").to_csv("new.csv", index=False)  # February, as in training
    new.assign(year="2020-02-10").to_csv("iso.csv", index=False)
    found = run("predict", "m.drift", "new.csv").out
    assert found == run("predict", "m.drift", "iso.csv", "--date-format", "%Y-%m-%d").out
    new.assign(year="13/02/2020").to_csv("odd.csv", index=False)
    said = run("predict", "m.drift", "odd.csv", code=None).error()
    assert "row 0 (line 2) has the date '13/02/2020', which is not written as %m/%d/%Y" in said


def test_dates_that_no_row_decides_need_a_format(run, rows):
    days = [f"0{k % 9 + 1}/0{k % 7 + 1}/{year}" for k, year in enumerate(rows["year"])]
    rows.assign(year=days).to_csv("d.csv", index=False)
    words = ("d.csv", *FIT, "--freq", "M")
    quick = ("d.csv", *QUICK, "--freq", "M")
    for command in ("fit", "compare"):
        more = ("--n-test", 1, "-o", "results") if command == "compare" else ()
        said = run(command, *words, *more, code=None).error()
        assert "--date-format '%d/%m/%Y' or '%m/%d/%Y'" in said
    steps = set()
    for form in ("%d/%m/%Y", "%m/%d/%Y"):
        run("fit", *quick, "--date-format", form)
        assert driftglm.load("m.drift").encoder.spec.date_format == form
        steps.add(run("predict", "m.drift", "d.csv").out)
    assert len(steps) == 2
    assert "no year" in run("fit", *words, "--date-format", "%d/%m", code=None).error()


def test_a_format_keeps_the_zeros_of_dates_without_marks(run, rows):
    dated(rows, "%d%m%Y").to_csv("d.csv", index=False)
    words = ("--freq", "M", "--date-format", "%d%m%Y", "--json")
    assert run("fit", "d.csv", *FIT, *words).json["steps"] == 21
    assert run("predict", "m.drift", "d.csv").out.count("\n") == 161


@pytest.mark.parametrize("odd", ["now", "today", "12:30"])
def test_the_present_is_no_date(odd, run, rows):
    frame = dated(rows, "%d.%m.%Y")
    frame.loc[3, "year"] = odd
    frame.to_csv("d.csv", index=False)
    said = run("fit", "d.csv", *FIT, "--freq", "M", code=None).error()
    assert f"column 'year': row 3 (line 5) has the date '{odd}'" in said


def test_the_index_of_a_parquet_file_is_a_column(run, rows):
    pytest.importorskip("pyarrow")
    rows.set_index(["year", "colour"]).to_parquet("sales.parquet")
    found = run("fit", "sales.parquet", *FIT, "--json").json
    run("shard", "sales.parquet", "-o", "parts", "--rows", "50")
    again = run("fit", "parts", *FIT, "--json").json
    names = {"size", "noise", "colour=blue", "colour=green"}
    assert {each["feature"] for each in found["features"]} == names
    assert {each["feature"] for each in again["features"]} == names


def test_a_column_that_never_varies_is_not_said_to_matter(run):
    lines = [f"{k % 5} qid:{2001 + k // 20} 1:{k % 5 + k % 2} 3:{k % 7}" for k in range(80)]
    Path("a.svm").write_text("\n".join(lines), encoding="utf-8")
    assert "f2" not in run("fit", "a.svm", "-o", "m.drift", "--json").json["learned"]


def test_a_terminal_without_the_letters_does_not_end_a_run(rows, tmp_path):
    path = tmp_path / "größe.csv"
    rows.rename(columns={"size": "größe"}).to_csv(path, index=False)
    words = ["fit", str(path), *FIT[:4], "-o", str(tmp_path / "ü.drift")]
    lines = [  # what `python -m driftglm` does, twice
        "from driftglm.cli.main import prepared",
        "driftglm = prepared()",
        f"assert driftglm({words!r}, standalone_mode=False) == 0",
        f"sys.exit(driftglm({[*words, '--json']!r}, standalone_mode=False))",
    ]
    here = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    command = [sys.executable, "-c", "\n".join(["import sys", *lines])]
    ran = subprocess.run(command, capture_output=True, env=here, check=False)  # noqa: S603
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.isascii()
    assert b"4 steps (2001 to 2004)" in ran.stdout
    features = json.loads(ran.stdout[ran.stdout.index(b"{") :])["features"]
    assert "größe" in {each["feature"] for each in features}


def test_families_with_a_dispersion_are_fitted_and_predicted(run):
    panel = simulate_panel(family="beta-binomial", n_features=2, n_active=2, rows_per_step=30)
    frame = pd.DataFrame(panel.X, columns=["a", "b"])
    frame["hits"], frame["n"], frame["year"] = panel.y[:, 0], panel.y.sum(axis=1), panel.time
    frame.to_csv("a.csv", index=False)
    named = ("--target", "hits", "--trials", "n", "--time", "year", "--family", "beta-binomial")
    found = run("fit", "a.csv", *named, "-o", "m.drift", "--json").json
    model = DriftGLM(family="beta-binomial").fit(panel.X, panel.y, time=panel.time)
    assert found["dispersion"] == pytest.approx(model.noise_)
    assert found["n_features"] == 2
    run("predict", "m.drift", "a.csv", "--interval", "0.9", "-o", "p.csv")
    out = pd.read_csv("p.csv")
    np.testing.assert_allclose(out["prediction"], model.predict(panel.X, time=panel.time))
    ends = model.predict_interval(panel.X, time=panel.time, trials=10)
    np.testing.assert_allclose(out[["lower", "upper"]], ends / 10, rtol=1e-12)
    ran = run(
        "compare", "a.csv", *named, "--test", "6,7", "--models", "learned,ridge-all", "-o", "d"
    )
    assert "mean binomial deviance" in ran.out
    ran = run("fit", "a.csv", *named[:6], "--family", "poisson", "-o", "m.drift", code=2)
    assert "takes no trials" in ran.err
    frame["n"] += frame["hits"]
    frame.to_csv("b.csv", index=False)
    counts = ("--target", "n", "--time", "year", "-o", "m.drift", "--drop", "hits")
    assert ", dispersion 0." in run("fit", "b.csv", *counts, "--family", "gamma").out
    assert ", dispersion 0." in run("fit", "b.csv", *counts, "--family", "negative-binomial").out


def test_kinds_of_features_are_named_by_columns_features_and_patterns(run, rows, tmp_path):
    path = write(rows, tmp_path / "a.csv")
    kinds = ("--feature-groups", "colours=colour", "--feature-groups", "numbers=s*,noise")
    found = run("fit", path, *FIT, *kinds, "--json").json
    assert [row["kind"] for row in found["kinds"]] == ["colours", "numbers"]
    assert [row["n_features"] for row in found["kinds"]] == [2, 2]
    out = run("fit", path, *FIT, "--feature-groups", "colours=colour=*").out
    assert "expected nonzero" in out
    assert "other" in out
    loaded = driftglm.load("m.drift").estimator
    assert loaded.kinds_summary()["kind"].tolist() == ["colours", "other"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("colours",), "write NAME=COLS"),
        (("=colour",), "write NAME=COLS"),
        (("colours=",), "write NAME=COLS"),
        (("a=size", "a=noise"), "names 'a' twice"),
        (("a=w_*",), "the pattern 'w_*', which matches no column"),
        (("a=weight",), "is no feature"),
        (("a=size", "b=s*"), "in 'a' and in 'b'; a column belongs to one group"),
    ],
)
def test_kinds_that_cannot_be_meant_are_refused(run, table, words, said):
    options = [part for word in words for part in ("--feature-groups", word)]
    assert said in run.fails("fit", table, *FIT, *options)


def test_a_terminal_shows_how_far_a_fit_is_and_the_file_does_not_know(run, rows, monkeypatch):
    rows.to_csv("sales.csv", index=False)
    words = ["fit", "sales.csv", "--target", "price", "--time", "year"]
    assert "driftglm: pass" not in run(*words, "-o", "piped.drift").err
    monkeypatch.setattr("driftglm.cli.fit.shows_progress", lambda: True)  # as on a terminal
    assert "driftglm: pass 10, objective" in run(*words, "-o", "shown.drift").err
    assert Path("shown.drift").read_bytes() == Path("piped.drift").read_bytes()
