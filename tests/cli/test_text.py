"""The text model over documents with covariates."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import driftglm


@pytest.fixture
def reports(tmp_path):
    """Documents of two sources; the press writes of gold, more so every year."""
    rng = np.random.default_rng(3)
    lines = []
    for k in range(120):
        year, press = 2001 + k // 30, k % 2 == 0
        share = (year - 2000) * 0.1 if press else 0.05
        words = rng.choice(
            ["gold", "iron", "wheat"], 20, p=[share, (1 - share) / 2, (1 - share) / 2]
        )
        row = {
            "id": f"d{k}",
            "date": f"{year}-0{k % 9 + 1}-01",
            "source": "press" if press else "bank",
            "states": ["OH", "PA"] if k % 3 else [],
            "text": " ".join(words),
        }
        lines.append(json.dumps(row))
    path = tmp_path / "reports.jsonl"
    path.write_text("\n".join(lines))
    return path


def test_top_words_of_an_effect(run, reports):
    found = run("text", "fit", reports, "-o", "w.drift", "--json").json
    assert found["effects"] == ["source=press", "states=OH", "states=PA"]
    assert found["steps"] == ["2001", "2002", "2003", "2004"]
    assert found["words"] == 3
    top = run("text", "top-words", "w.drift", "--effect", "source=press", "--json").json["words"]
    assert top[0]["word"] == "gold"
    assert top[0]["coef"] > 0.1
    words = (
        "text",
        "top-words",
        "w.drift",
        "--effect",
        "source=press",
        "--time",
        "2003",
        "-k",
        "1",
    )
    ran = run(*words)
    assert "words of source=press" in ran.out
    assert "gold" in ran.out
    model = driftglm.load("w.drift")
    expected = model.top_words("source=press", k=10)["coef"].tolist()
    assert [row["coef"] for row in top] == expected


def test_effects_and_vocabulary_can_be_chosen(run, reports):
    words = ("--effects", "source", "--vocabulary", "2:3", "--prior", "exact")
    ran = run("text", "fit", reports, *words, "-o", "w.drift")
    assert "120 documents, 4 steps (2001 to 2004), 1 effects, 2 words." in ran.out
    run("report", "w.drift", "-o", "r.html")
    assert Path("r.html").exists()


def test_a_folder_of_text_files(run, reports, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    rows = [json.loads(line) for line in reports.read_text().splitlines()]
    for row in rows:
        (folder / f"{row['id']}.txt").write_text(row["text"])
    lines = [f"{row['id']},{row['date']},{row['source']}" for row in rows]
    (folder / "metadata.csv").write_text("\n".join(["id,date,source", *lines]))
    found = run("text", "fit", folder, "-o", "w.drift", "--json").json
    assert found["documents"] == 120


def test_dates_are_read_by_the_format_given(run, reports):
    rows = pd.DataFrame([json.loads(line) for line in reports.read_text().splitlines()])
    year, month, _ = rows["date"].str.split("-", expand=True).to_numpy().T
    rows.assign(date="01/" + month + "/" + year).to_csv("day.csv", index=False)
    words = ("fit", "day.csv", "--effects", "source", "--freq", "M", "-o", "w.drift")
    assert "--date-format '%d/%m/%Y' or '%m/%d/%Y'" in run("text", *words, code=None).error()
    found = run("text", *words, "--date-format", "%d/%m/%Y", "--json").json["steps"]
    assert (found[0], found[-1]) == ("2001-01", "2004-09")


def test_errors_name_the_repair(run, reports, fitted):
    def said(*words):
        return run("text", *words, code=None).error()

    assert "does not exist" in said("fit", "no.csv", "-o", "w.drift")
    assert "did you mean 'source'?" in said("fit", reports, "--effects", "sourse", "-o", "w.drift")
    assert "has no column 'body'" in said("fit", reports, "--text", "body", "-o", "w.drift")
    assert "a file of `driftglm text fit` is needed" in said("top-words", fitted, "--effect", "x")
    run("text", "fit", reports, "--effects", "source", "-o", "w.drift")
    assert "did you mean" in said("top-words", "w.drift", "--effect", "source=prss")
    words = ("top-words", "w.drift", "--effect", "source=press", "--time")
    assert "steps run from 2001 to 2004" in said(*words, "soon")
    assert (
        "a file of `driftglm fit` is needed"
        in run("predict", "w.drift", reports, code=None).error()
    )


def test_documents_left_out_are_counted(run):
    lines = [f"{k // 4},200{k % 3 + 1}-01-01,{k % 2},gold iron wheat" for k in range(24)]
    Path("docs.csv").write_text("\n".join(["id,date,kind,text", *lines]), encoding="utf-8")
    said = run("text", "fit", "docs.csv", "-o", "w.drift").err
    assert "warning: 18 repeated documents left out." in said


def test_words_that_rose_and_fell(run, reports):
    run("text", "fit", reports, "--effects", "source", "-o", "w.drift")
    words = ("text", "top-words", "w.drift", "--effect", "source=press")
    found = run(*words, "--from", "2001", "--to", "2004", "--json").json["words"]
    model = driftglm.load("w.drift")
    expected = model.word_changes("source=press", *model.timesteps_[[0, -1]], k=10)
    assert [each["word"] for each in found] == expected["word"].tolist()
    each = {w: k for k, w in enumerate(model.vocabulary_)}
    effect = list(model.feature_names_in_).index("source=press")
    paths = model.coef_path_[:, effect]
    for row in found:
        change = paths[-1, each[row["word"]]] - paths[0, each[row["word"]]]
        assert row["change"] == pytest.approx(change)
    changes = [row["change"] for row in found if row["change"] > 0]
    assert changes == sorted(changes, reverse=True)
    assert "go together" in run(*words, "--from", "2001", code=None).error()
    assert (
        "words of source=press, 2001 to 2004" in run(*words, "--from", "2001", "--to", "2004").out
    )


def test_a_year_inside_a_step_of_several_is_found(run, reports):
    run("text", "fit", reports, "--effects", "source", "--freq", "2Y", "-o", "w.drift")
    words = ("text", "top-words", "w.drift", "--effect", "source=press", "--json", "--time")
    first = driftglm.load("w.drift").timesteps_[0].year
    assert run(*words, first + 1).json["words"] == run(*words, first).json["words"]
    assert run(*words, first + 2).json["words"] != run(*words, first).json["words"]
