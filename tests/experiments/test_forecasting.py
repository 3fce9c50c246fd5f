"""The forecasting experiment: on a simulated corpus, and on the sample of real reports."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from driftglm.cli.main import app
from driftglm.datasets import load_10k_corpus
from driftglm.exceptions import DataError
from driftglm.experiments import Settings, reproduce_forecasting
from driftglm.experiments.pages import text_page
from driftglm.experiments.paper import CONTESTANTS

SMALL = Settings(models=("lasso-all", "exact"), ranks=(3, 50), vocabulary="all")
RUN = """
import sys
import driftglm.report
from driftglm.experiments import Settings, reproduce_forecasting
driftglm.report.write_report = lambda path, **parts: None
settings = Settings(models=("lasso-all", "lasso-one", "exact"), ranks=(3, 50))
reproduce_forecasting(sys.argv[1], out=sys.argv[2], settings=settings, verbose=False)
"""


def run_command(*arguments):
    return CliRunner().invoke(app, ["reproduce", *(str(argument) for argument in arguments)])


def figures(result, variant="all"):
    return result.table(variant).xs("ours", axis=1, level=1)


def test_all_eight_contestants_run_in_both_variants_and_find_the_word_that_matters(reports):
    result = reproduce_forecasting(reports, settings=Settings(ranks=(3, 50)))
    assert tuple(result.comparisons["training"].models) == CONTESTANTS
    assert result.settings.dev == 2013
    assert result.settings.test == (2014, 2015, 2016)
    for variant in ("all", "training"):
        overall = figures(result, variant)["overall"]
        assert overall["learned"] < 0.5 * overall["past volatility"]
        assert len(result.significance(variant)) == 7
    assert set(result.top["feature"][:2]) == {"past volatility", "w020"}
    assert result.report is None


def test_past_volatility_and_overall_are_means_over_reports(reports):
    result = reproduce_forecasting(reports, settings=SMALL)
    frame = load_10k_corpus(reports).frame
    error = (frame["logvol_after"] - frame["logvol_before"]) ** 2
    expected = error[frame["year"] >= 2014].mean()
    assert figures(result).loc["past volatility", "overall"] == pytest.approx(expected, rel=1e-12)
    direct = result.comparisons["all"].table("frame")
    assert figures(result).loc["exact"].tolist() == pytest.approx(direct["exact"].tolist())


def test_years_after_the_last_test_year_are_not_read(reports):
    later = reproduce_forecasting(
        reports, settings=Settings(models=("exact",), ranks=(3, 50), test=(2014,), vocabulary="all")
    )
    assert later.provenance[0].rows_read == 4 * 25
    assert later.settings.years == (2011, 2014)


def test_paper_figures_stand_beside_ours_for_the_years_that_coincide(paper_reports):
    settings = Settings(models=("lasso-all", "exact"), ranks=(3, 50), vocabulary="all")
    result = reproduce_forecasting(paper_reports, settings=settings)
    table = result.table()
    assert table["2004", "paper"]["lasso-all"] == 0.119
    assert table["2004", "paper"]["exact"] == 0.113
    assert np.isnan(table["2004", "paper"]["past volatility"])
    page = text_page(result)
    assert "(paper)" in page
    assert "not the paper's corpus: 25 reports in 2003, 3,611 in the paper" in page


@pytest.mark.usefixtures("short_report")
def test_a_killed_run_goes_on_and_gives_the_same_table(reports, tmp_path, kill_midway):
    files = kill_midway(RUN, reports, tmp_path / "out", n_fits=4)
    settings = Settings(models=("lasso-all", "lasso-one", "exact"), ranks=(3, 50))
    out = tmp_path / "out"
    again = reproduce_forecasting(reports, out=out, settings=settings, verbose=False)
    assert {path: path.stat().st_mtime_ns for path in files} == files  # read, not made again
    whole = reproduce_forecasting(reports, settings=settings)
    for variant in ("all", "training"):
        assert again.table(variant).to_json() == whole.table(variant).to_json()


@pytest.mark.usefixtures("short_report")
def test_a_finished_run_is_read_and_a_changed_corpus_is_not_mistaken_for_it(
    reports, tmp_path, monkeypatch
):
    first = reproduce_forecasting(reports, out=tmp_path / "out", settings=SMALL)
    with monkeypatch.context() as patch:
        patch.setattr("driftglm.experiments.experiment_run.compare", None)
        patch.setattr("driftglm.experiments.forecasting.load_10k_corpus", None)
        second = reproduce_forecasting(reports, out=tmp_path / "out", settings=SMALL)
    assert text_page(first) == text_page(second)
    assert second.to_dict() == json.loads(json.dumps(first.to_dict()))
    assert second.report == tmp_path / "out" / "report.html"
    path = reports / "2016.logvol.+12.txt"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([f"-1.0 {lines[0].split()[1]}", *lines[1:]]))
    changed = reproduce_forecasting(reports, out=tmp_path / "out", settings=SMALL)
    assert text_page(changed) != text_page(first)


@pytest.mark.usefixtures("short_report")
@pytest.mark.parametrize("damaged", ["forecasting.json", "forecasting-all.zip", "cache"])
def test_damaged_results_are_made_again(reports, tmp_path, damaged):
    settings = Settings(models=("exact",), ranks=(3, 50), vocabulary="all")
    first = reproduce_forecasting(reports, out=tmp_path, settings=settings)
    path = tmp_path / damaged
    for file in [path] if path.is_file() else [*path.iterdir(), tmp_path / "forecasting.json"]:
        file.write_bytes(file.read_bytes()[:40])
    again = reproduce_forecasting(reports, out=tmp_path, settings=settings)
    assert text_page(again) == text_page(first)


def test_command_prints_tables_and_writes_the_files(reports, tmp_path):
    done = run_command(
        *("forecasting", "--corpus", reports, "--out", tmp_path / "out", "--ranks", "3-50"),
        *("--models", "lasso-all, learned", "--test", "2015-2016", "--vocabulary", "training"),
    )
    assert done.exit_code == 0, done.output
    assert "words ranked in the training documents of each year: mean squared error" in done.output
    assert "dev year 2014; test years 2015, 2016" in done.output
    written = {path.name for path in (tmp_path / "out").iterdir() if path.is_file()}
    assert written == {
        *("forecasting.json", "forecasting.txt", "forecasting-training.zip", "report.html"),
    }
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Volatility after annual reports" in page
    assert "w020" in page


@pytest.mark.usefixtures("short_report")
def test_command_prints_json(reports, tmp_path):
    done = run_command(
        *("forecasting", "--corpus", reports, "--out", tmp_path / "out", "--ranks", "3-50"),
        *("--models", "exact", "--json"),
    )
    content = json.loads(done.stdout)
    assert content["settings"]["models"] == ["exact"]
    found = {(f["model"], f["year"]) for f in content["results"]["all"]["figures"]}
    assert ("exact", "overall") in found
    assert content["results"]["all"]["significance"] == []


@pytest.mark.parametrize("empty", [True, False])
def test_a_missing_corpus_says_where_it_comes_from_and_how_it_must_look(tmp_path, empty):
    place = tmp_path / "corpus"
    if empty:
        place.mkdir()
    done = run_command("forecasting", "--corpus", place, "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert len(done.stderr.strip().splitlines()) == 1
    for part in ("Kogan", "10-K corpus", "YYYY.logvol.+12.txt", "YYYY.tok.tgz"):
        assert part in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--models", "lasso"), "'lasso' is no contestant"),
        (("--models", ","), "models is empty"),
        (("--test", "1999"), "no year to train on"),
        (("--test", "2017"), "not among the years read"),
        (("--dev", "2016"), "no year after dev=2016"),
        (("--dev", "2011"), "no year to train on"),
        (("--ranks", "9-2"), "in this order"),
        (("--ranks", "many"), "whole numbers and ranges"),
        (("--ranks", "3000-4000"), "none of rank 3000"),
        (("--years", "2015-2016"), "too few"),
        (("--vocabulary", "none"), "'both', 'all' or 'training'"),
    ],
)
def test_bad_choices_are_one_line_and_exit_2(reports, tmp_path, arguments, said):
    done = run_command("forecasting", "--corpus", reports, "--out", tmp_path / "o", *arguments)
    assert done.exit_code == 2, done.output
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_file_in_place_of_the_results_folder_is_refused(reports, tmp_path):
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(DataError, match="is a file; a folder is needed"):
        reproduce_forecasting(reports, out=tmp_path / "taken", settings=SMALL)
    assert (tmp_path / "taken").read_text() == "mine"


def test_warnings_about_the_data_are_notes_of_the_result(reports):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        settings = Settings(models=("exact",), ranks=(3, 900), vocabulary="all")
        result = reproduce_forecasting(reports, settings=settings)
    assert any("hold 60 distinct words" in note for note in result.notes)


@pytest.mark.usefixtures("short_report")
def test_real_reports_end_to_end(real_data, tmp_path):
    sample = real_data / "mda10k_vol" / "kogan_format_sample"
    if not sample.is_dir():
        pytest.skip("the sample of real reports is not here")
    done = run_command(
        *("forecasting", "--corpus", sample, "--out", tmp_path, "--ranks", "101-400"),
        *("--vocabulary", "training"),
    )
    assert done.exit_code == 0, done.output
    print(done.output)  # noqa: T201 (the table is what this test is to show)
    content = json.loads((Path(tmp_path) / "forecasting.json").read_text())
    assert content["settings"]["test"] == [2021, 2022, 2023]
    assert content["provenance"][0]["rows"] == 240
    models = {f["model"] for f in content["results"]["training"]["figures"]}
    assert models == {*CONTESTANTS, "past volatility"}
