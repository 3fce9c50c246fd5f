"""`driftglm check`: what a model file would find by chance in its own rows."""

from pathlib import Path

import pytest

FIT = ("--target", "price", "--time", "year", "-o", "m.drift")


@pytest.fixture
def model(run, table):
    run("fit", table, *FIT)
    return "m.drift"


def test_it_says_what_is_found_in_shuffled_rows_and_in_residuals(run, table, model):
    ran = run("check", model, table, "--shuffles", "2")
    assert "of 4 features are included; with y shuffled inside steps" in ran.out
    assert "with the time labels shuffled" in ran.out
    assert "outcome" in ran.out
    assert "finding" in ran.out


def test_json_names_the_features_and_a_figure_is_written(run, table, model):
    pytest.importorskip("matplotlib")
    found = run("check", model, table, "--shuffles", "2", "--json", "--plot", "p.png").json
    assert {row["shuffle"] for row in found["shuffles"]} == {"none", "outcome", "time"}
    names = {row["feature"] for row in found["features"]}
    assert names == {"size", "noise", "colour=blue", "colour=green"}
    assert Path("p.png").stat().st_size > 1000
    real = next(row for row in found["shuffles"] if row["shuffle"] == "none")
    chance = next(row for row in found["shuffles"] if row["shuffle"] == "outcome")
    assert real["included"] >= 2 > chance["included"]


def test_a_column_of_groups_that_is_not_there_is_an_error(run, table, model):
    error = run("check", model, table, "--groups", "shop", code=2).error()
    assert "has no such column" in error


def test_whole_groups_may_be_shuffled(run, table, model):
    ran = run("check", model, table, "--groups", "colour", "--shuffles", "1")
    assert "features are included" in ran.out
