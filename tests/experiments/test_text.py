"""The text experiment: on simulated documents, and on those of the Federal Reserve."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

from driftglm.cli.main import app
from driftglm.datasets import load_text_panel
from driftglm.exceptions import DataError
from driftglm.experiments import Settings, reproduce_text
from driftglm.experiments.pages import text_page
from driftglm.experiments.paper import CONTESTANTS
from driftglm.experiments.text import document_effects

SMALL = Settings(models=("ridge-all", "exact"), ranks=(3, 40), vocabulary="all")
RUN = """
import sys
import driftglm.report
from driftglm.experiments import Settings, reproduce_text
driftglm.report.write_report = lambda path, **parts: None
settings = Settings(models=("ridge-one", "lasso-one", "exact"), ranks=(3, 40), vocabulary="all")
reproduce_text(sys.argv[1], out=sys.argv[2], settings=settings, verbose=False)
"""


def run_command(*arguments):
    return CliRunner().invoke(app, ["reproduce", *(str(argument) for argument in arguments)])


def test_all_eight_contestants_run_and_the_figures_are_sums_over_documents(panel):
    result = reproduce_text(panel, settings=Settings(ranks=(3, 40), vocabulary="training"))
    comparison = result.comparisons["training"]
    assert tuple(comparison.models) == CONTESTANTS
    assert (result.settings.dev, result.settings.test) == (2003, (2004, 2005, 2006))
    table = result.table()
    assert table["overall", "ours"]["learned"] == pytest.approx(
        comparison.loss["learned"].sum() / 1e3
    )
    yearly = [table[str(year), "ours"]["lasso-all"] for year in (2004, 2005, 2006)]
    assert sum(yearly) == pytest.approx(table["overall", "ours"]["lasso-all"])
    assert table["2005", "paper"]["ridge-all"] == 3027
    assert table["overall", "paper"]["lasso-one"] == 2975 + 2998 + 2912
    assert len(comparison.loss["learned"]) == 18  # a test on documents, not on tokens
    assert len(result.significance()) == 7


def test_the_words_of_a_place_are_found(panel):
    result = reproduce_text(
        panel, settings=Settings(models=("learned",), ranks=(3, 40), vocabulary="all")
    )
    raised = result.top.set_index("effect")["words it raises most"]
    # Texas, Louisiana and New Mexico are in the same texts here; the first stands for them.
    assert raised["LA"].split(", ")[0] == "w025"
    assert "TX" not in raised
    assert {"source fomc", "US"} <= set(raised.index)


def test_sizes_are_tokens_of_the_words_used(panel):
    result = reproduce_text(panel, settings=SMALL)
    corpus = load_text_panel(panel)
    texts = list(corpus.select(corpus.frame["date"].dt.year == 2005).texts())
    words = [word for text in texts for word in text.split()]
    everything = [word for text in corpus.texts() for word in text.split()]
    ranked = pd.Series(everything).value_counts().reset_index()
    ranked.columns = ["word", "count"]
    ranked = ranked.sort_values(["count", "word"], ascending=[False, True])["word"].tolist()
    vocabulary = set(ranked[2:40])
    assert result.sizes["all"][2005] == sum(word in vocabulary for word in words)


def test_macro_of_test_years_changes_no_training_effect(panel):
    def effects():
        frame = load_text_panel(panel).frame
        train = (frame["date"].dt.year < 2004).to_numpy()
        return document_effects(frame, panel, train, [])[0], train

    before, train = effects()
    macro = pd.read_csv(panel / "macro.csv")
    later = macro["date"] >= "2004"
    macro.loc[later, "UNRATE"] *= 50.0
    macro.to_csv(panel / "macro.csv", index=False)
    after, _ = effects()
    pd.testing.assert_frame_equal(before[train], after[train])
    assert not np.allclose(before["UNRATE"], after["UNRATE"])
    assert before.shape[1] == 1 + 51 + 2


def test_company_states_come_from_companies_csv(panel):
    frame = pd.read_parquet(panel / "documents.parquet")
    tenk = frame["district"] == "bo"
    frame.loc[tenk, ["source", "district"]] = ["10-k", None]
    frame["cik"] = np.where(tenk, 320193, np.nan)
    frame.to_parquet(panel / "documents.parquet")
    (panel / "companies.csv").write_text("cik,state\n0000320193,CA\n")
    corpus = load_text_panel(panel)
    effects, _ = document_effects(corpus.frame, panel, np.ones(len(corpus), dtype=bool), [])
    rows = effects[effects["source 10-k"] == 1]
    assert len(rows) == int(tenk.sum()) > 0
    assert rows["CA"].all()
    assert not rows[["MA", "US"]].to_numpy().any()


@pytest.mark.usefixtures("short_report")
def test_a_finished_run_is_read_and_json_tells_all(panel, tmp_path, monkeypatch):
    arguments = ("text", "--corpus", panel, "--out", tmp_path / "out", "--ranks", "3-40")
    chosen = ("--models", "ridge-all,exact", "--vocabulary", "all")
    first = run_command(*arguments, *chosen)
    assert first.exit_code == 0, first.output
    assert "negative log-likelihood / 1000" in first.stdout
    with monkeypatch.context() as patch:
        patch.setattr("driftglm.experiments.experiment_run.compare", None)
        patch.setattr("driftglm.experiments.text.load_text_panel", None)
        assert run_command(*arguments, *chosen).stdout == first.stdout
        content = json.loads(run_command(*arguments, *chosen, "--json").stdout)
    assert content["experiment"] == "text"
    assert content["settings"]["ranks"] == [3, 40]
    assert {f["whose"] for f in content["results"]["all"]["figures"]} == {"ours", "paper"}


@pytest.mark.usefixtures("short_report")
def test_a_killed_run_goes_on_and_gives_the_same_table(panel, tmp_path, kill_midway):
    files = kill_midway(RUN, panel, tmp_path / "out", n_fits=3)
    chosen = Settings(models=("ridge-one", "lasso-one", "exact"), ranks=(3, 40), vocabulary="all")
    again = reproduce_text(panel, out=tmp_path / "out", settings=chosen, verbose=False)
    assert {path: path.stat().st_mtime_ns for path in files} == files  # read, not made again
    whole = reproduce_text(panel, settings=chosen)
    assert again.table().to_json() == whole.table().to_json()


@pytest.mark.usefixtures("short_report")
def test_results_inside_the_corpus_do_not_count_as_corpus(panel):
    frame = pd.read_parquet(panel / "documents.parquet")
    for name, text in zip(frame["id"], frame["text"], strict=True):
        (panel / f"{name}.txt").write_text(text)
    frame.drop(columns="text").to_csv(panel / "metadata.csv", index=False)
    (panel / "documents.parquet").unlink()
    settings = Settings(models=("exact",), ranks=(3, 40), vocabulary="all")
    first = reproduce_text(panel, out=panel / "out", settings=settings)
    written = (panel / "out" / "text.json").stat().st_mtime_ns
    second = reproduce_text(panel, out=panel / "out", settings=settings)
    assert (panel / "out" / "text.json").stat().st_mtime_ns == written
    assert text_page(first) == text_page(second)


@pytest.mark.parametrize("empty", [True, False])
def test_a_missing_corpus_says_where_it_comes_from_and_how_it_must_look(tmp_path, empty):
    place = tmp_path / "panel"
    if empty:
        place.mkdir()
    done = run_command("text", "--corpus", place, "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert len(done.stderr.strip().splitlines()) == 1
    sources = ("Beige Book", "FOMC transcripts", "FRED", "Kenneth French's data library")
    for part in (*sources, "documents.parquet", "macro.csv", "companies.csv (cik, state)"):
        assert part in done.stderr
    assert not (tmp_path / "out").exists()


def test_documents_without_source_column_are_refused(panel):
    frame = pd.read_parquet(panel / "documents.parquet").drop(columns="source")
    frame.to_parquet(panel / "documents.parquet")
    with pytest.raises(DataError, match="no column 'source'"):
        reproduce_text(panel, settings=SMALL)


def federal_reserve_folder(data, place):
    """Beige Book texts as they are, FOMC transcripts rebuilt as bags of words from counts."""
    source = data / "beige_fomc"
    books = pd.read_parquet(source / "beigebook_1996_2006.parquet")
    dates = books["release_date"].astype(str)
    rows = pd.DataFrame({"date": dates, "source": "beige", "district": books["district"]})
    rows["text"] = books["text"]
    listed = pd.read_csv(source / "sage_1996_2006" / "docs.csv.gz")
    words = pd.read_csv(source / "sage_1996_2006" / "vocab.csv", keep_default_na=False)["term"]
    counts = sp.load_npz(source / "sage_1996_2006" / "counts.npz").tocsr()
    is_fomc = np.flatnonzero(listed["source"] == "fomc")
    bags = [
        " ".join(np.repeat(words.to_numpy()[counts[[i]].indices], counts[[i]].data))
        for i in is_fomc
    ]
    fomc = pd.DataFrame({"date": listed["date"].iloc[is_fomc], "source": "fomc", "text": bags})
    whole = pd.concat([rows, fomc], ignore_index=True)
    whole.insert(0, "id", whole.index.astype(str))
    whole["states"] = None
    whole.to_parquet(place / "documents.parquet")
    pd.read_csv(source / "macro_yearly.csv").to_csv(place / "macro.csv", index=False)


@pytest.mark.usefixtures("short_report")
def test_federal_reserve_documents_end_to_end(real_data, tmp_path):
    if not (real_data / "beige_fomc").is_dir():
        pytest.skip("the documents of the Federal Reserve are not here")
    place = tmp_path / "panel"
    place.mkdir()
    federal_reserve_folder(real_data, place)
    done = run_command(
        *("text", "--corpus", place, "--out", tmp_path / "out", "--ranks", "501-510"),
        *("--years", "2001-2006", "--vocabulary", "training"),
    )
    assert done.exit_code == 0, done.output
    print(done.output)  # noqa: T201 (the table is what this test is to show)
    content = json.loads((tmp_path / "out" / "text.json").read_text())
    assert content["settings"]["test"] == [2004, 2005, 2006]
    figures = {
        f["model"]: f["figure"]
        for f in content["results"]["training"]["figures"]
        if (f["year"], f["whose"]) == ("overall", "ours")
    }
    assert set(figures) == set(CONTESTANTS)
    tokens = sum(content["results"]["training"]["sizes"].values())
    # Fewer nats a token than equal shares of the 10 words would have.
    assert max(figures.values()) * 1000 < tokens * np.log(10)


def test_sources_are_told_from_the_most_frequent_training_one(tmp_path):
    frame = pd.DataFrame(
        {
            "date": pd.to_datetime(["2001-01-01"] * 4 + ["2002-01-01"] * 4),
            "source": ["beige", "beige", "fomc", "10-k", "fomc", "fomc", "fomc", "fomc"],
        }
    )
    notes = []
    effects, _ = document_effects(frame, tmp_path, np.arange(8) < 4, notes)
    assert list(effects.columns[:2]) == ["source 10-k", "source fomc"]
    assert effects["source fomc"].tolist() == [0, 0, 1, 0, 1, 1, 1, 1]
    assert any("no macro variables" in note for note in notes)


def test_a_document_without_source_is_an_error(tmp_path):
    frame = pd.DataFrame({"date": pd.to_datetime(["2001-01-01"] * 2), "source": ["beige", None]})
    with pytest.raises(DataError, match="document 1 has no source"):
        document_effects(frame, tmp_path, np.array([True, True]), [])
