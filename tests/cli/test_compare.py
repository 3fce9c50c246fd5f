"""Compare models on a table; a killed run goes on where it was."""

# ruff: noqa: S603 (what is run is this package)

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from driftglm import DriftRegressor
from driftglm.baselines import LassoAll
from driftglm.cli.compare import as_json, print_comparison, verdict
from driftglm.data.timesteps import TimeAxis
from driftglm.evaluation import Comparison, RollingOrigin, compare

WORDS = ("--target", "price", "--time", "year", "-o", "out")
COMPARE = ("compare", "sales.csv", "--target", "price", "--time", "year", "-o", "results")
FEW = ("--models", "lasso-all,exact")


def test_results_are_those_of_the_library(run, rows):
    numbers = rows.drop(columns="colour")
    numbers.to_csv("n.csv", index=False)
    found = run(
        "compare", "n.csv", *WORDS, *FEW, "--dev", 2002, "--test", "2003:2004", "--json"
    ).json
    models = {"lasso-all": LassoAll(standardize=True), "exact": DriftRegressor(prior="exact")}
    splitter = RollingOrigin(dev=2002, test=[2003, 2004])
    X = numbers[["size", "noise"]].to_numpy()
    expected = compare(models, X, rows["price"].to_numpy(), rows["year"].to_numpy(), splitter)
    frame = pd.DataFrame(found["table"]).set_index("step")
    np.testing.assert_allclose(frame, expected.table("frame"), rtol=1e-10)
    assert found["best"] == expected.table("frame").loc["overall"].idxmin()
    assert found["significance"][0]["p_holm"] <= 1


def test_the_star_is_at_the_least_loss_not_at_the_first_in_the_alphabet(capsys):
    losses = {"a": np.array([16.9, 110.0]), "b": np.array([2.41, 20.0])}
    comparison = Comparison(
        axis=TimeAxis("integer", 2000, 2, 1),
        rows=np.arange(2),
        codes=np.arange(2),
        y=np.zeros(2),
        weights=np.ones(2),
        prediction=losses,
        loss=losses,
        metric="mse",
        label="mean squared error",
        params={},
        seconds={},
    )
    print_comparison(comparison)
    out = capsys.readouterr().out
    assert out.count("*") == 4  # of the title and three rows
    assert all(text in out for text in ("2.4100*", " 20.0000*", "11.2050*"))
    assert "Best over all test rows: b, 11.2050" in out


def test_the_folder_holds_comparison_table_and_report(run, table):
    ran = run("compare", table, *WORDS, *FEW, "--n-test", 1)
    assert "mean squared error (* best)" in ran.out
    assert "Best over all test rows: " in ran.out
    assert "Wilcoxon" in ran.out
    saved = Comparison.load("out/comparison.drift")
    assert saved.models == ["lasso-all", "exact"]
    assert list(pd.read_csv("out/table.csv")) == ["step", "lasso-all", "exact"]
    assert Path("out/report.html").read_text().startswith("<!")
    run("report", "out", "-o", "again.html")
    assert Path("again.html").stat().st_size > 10_000


def test_levels_and_words_are_learned_from_training_rows_only(run, rows):
    """A level that only the test step has must not change what is predicted for other rows."""
    late = rows["year"] == 2004
    rows.to_csv("a.csv", index=False)
    odd = rows.copy()
    odd.loc[odd.index[late][:1], "colour"] = "mauve"
    odd.to_csv("b.csv", index=False)
    frames = []
    for name in ("a.csv", "b.csv"):
        run("compare", name, *WORDS, "--models", "lasso-all", "--test", "2004")
        frames.append(Comparison.load("out/comparison.drift").predictions)
    same = frames[0]["row"] != int(rows.index[late][0])
    assert (frames[0]["prediction"][same] == frames[1]["prediction"][same]).all()


def test_classes_and_dates(run, rows):
    when = rows["year"].astype(str) + "-" + (rows.index % 12 + 1).astype(str) + "-01"
    rows.assign(up=rows["price"] > 0, year=when).to_csv("u.csv", index=False)
    words = ("--target", "up", "--time", "year", "--freq", "Y", "--drop", "price,colour")
    found = run("compare", "u.csv", *words, *FEW, "--test", "2003:2004", "-o", "o", "--json").json
    assert found["label"] == "log loss"
    assert [line["step"] for line in found["table"]] == ["2003", "2004", "overall"]


def test_wrong_steps_and_models_are_refused(run, table):
    def said(*words):
        return run("compare", table, *WORDS, *words, code=None).error()

    assert "--test 2003:2005 or --n-test 3" in said()
    assert "'x' is no step" in said("--test", "x")
    assert "one step is needed" in said("--dev", "2002:2003")
    assert "the steps with rows are 2001, 2002" in said("--test", "2010")
    assert "would have seen the future" in said("--dev", "2004", "--test", "2003")
    assert "did you mean 'lasso-all'" in said("--n-test", "1", "--models", "laso-all")


def test_a_killed_run_resumes_and_gives_the_same(run, tmp_path):
    rng = np.random.default_rng(0)
    n = 600
    wide = pd.DataFrame(rng.normal(size=(n, 20)), columns=[f"x{i}" for i in range(20)])
    wide = wide.assign(year=np.arange(n) // 100, price=wide["x0"] + rng.normal(size=n))
    wide.to_csv("w.csv", index=False)
    words = ["compare", "w.csv", *WORDS, "--n-test", "3", "--json"]
    command = [sys.executable, "-m", "driftglm", *words]
    cache = tmp_path / "out" / "cache"
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 120
        while len(list(cache.rglob("*"))) < 4 and time.monotonic() < deadline:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert not (tmp_path / "out" / "comparison.drift").exists()
    files = {
        p: p.stat().st_mtime_ns for p in cache.rglob("*") if p.is_file() and p.suffix != ".tmp"
    }
    assert len(files) >= 3
    resumed = run(*words).json
    assert {path: path.stat().st_mtime_ns for path in files} == files
    words[words.index("out")] = "fresh"
    fresh = run(*words).json
    assert resumed["table"] == fresh["table"]
    assert resumed["params"] == fresh["params"]


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
    assert message in run.fails(*COMPARE, *words)


def test_baselines_and_more_than_two_classes(run, rows):
    price = pd.cut(rows["price"], 3, labels=["low", "mid", "high"])
    rows.assign(price=price).to_csv("sales.csv", index=False)
    said = run.fails(*COMPARE, "--n-test", "1")
    assert "3 classes" in said
    assert "--models learned,exact,variational" in said


def test_levels_that_are_mostly_numbers_at_an_origin_do_not_end_a_comparison(run, rows):
    grade = ["1" if year < 2003 else "x" for year in rows["year"]]
    grade[0] = "x"  # of the rows before 2003 nearly all are numbers, of all rows half
    rows.assign(grade=grade).to_csv("sales.csv", index=False)
    words = ("--test", "2003:2004", "--models", "ridge-all,lasso-all", "--json")
    assert run(*COMPARE, *words).json["best"]


@pytest.mark.usefixtures("table")
def test_distributions_are_compared_with_normal_errors_around_the_baselines(run):
    words = ("--models", "lasso-all,exact,learned", "--n-test", 2, "--metric", "crps")
    found = run(*COMPARE, *words, "--json").json
    assert found["label"] == "mean CRPS"
    assert found["models"] == ["lasso-all", "learned"]
    assert found["warnings"]["exact"][0].startswith("left out: a fit with prior='exact'")
    assert {line["model"] for line in found["calibration"]} == {"lasso-all", "learned"}
    shown = run(*COMPARE, *words)
    assert "mean CRPS (* best)" in shown.out
    assert "exact was left out" in shown.err


@pytest.mark.parametrize("columns", ["size,noise", "colour"])
def test_kinds_of_features_are_for_the_learned_prior_alone(run, rows, columns):
    """Levels are those of the training rows of every origin, and so are the features of a kind."""
    frame = rows if columns == "colour" else rows.drop(columns="colour")
    frame.to_csv("n.csv", index=False)
    tested = ("--models", "lasso-all,learned", "--test", "2003:2004", "--json")
    one = ("--feature-groups", "all=*")
    plain = run("compare", "n.csv", *WORDS, *tested).json["table"]
    alike = run("compare", "n.csv", *WORDS[:-1], "alike", *tested, *one).json["table"]
    assert alike == plain
    kinds = ("--feature-groups", f"some={columns}")
    found = run("compare", "n.csv", *WORDS[:-1], "kinds", *tested, *kinds).json["table"]
    assert [row["lasso-all"] for row in found] == [row["lasso-all"] for row in plain]
    if columns == "colour":
        assert [row["learned"] for row in found] != [row["learned"] for row in plain]
    few = ("--models", "lasso-all", "--test", "2003:2004")
    said = run.fails("compare", "n.csv", *WORDS[:-1], "few", *few, *kinds)
    assert "feature groups are for the model 'learned' alone" in said


@pytest.mark.parametrize(("weights", "column"), [(1.0, "n_different"), (9.0, "n_steps")])
def test_scripts_are_told_of_the_test_that_the_sentence_names(weights, column):
    losses = {"a": np.linspace(1.0, 2.0, 12), "b": np.linspace(1.1, 2.5, 12)}
    comparison = Comparison(
        axis=TimeAxis("integer", 2000, 6, 1),
        rows=np.arange(12),
        codes=np.repeat(np.arange(6), 2),
        y=np.zeros(12),
        weights=np.where(np.arange(12) % 2, weights, 1.0),
        prediction=losses,
        loss=losses,
        metric="mse",
        label="mean squared error",
        params={},
        seconds={},
    )
    assert ("Wilcoxon" in verdict(comparison)) == (column == "n_different")
    assert column in as_json(comparison)["significance"][0]
