"""Formulas on the command line: the features they mean, saved without Python, refused in a line."""

import sys
import zipfile

import numpy as np
import pandas as pd
import pytest

import driftglm
from driftglm.tables import FormulaModel, from_formula

pytest.importorskip("formulaic")
TIME = ("--time", "year")
QUICK = ("--prior", "fixed")


@pytest.fixture
def sales(rows):
    out = rows.rename(columns={"noise": "floor area"})
    out["weight"] = np.exp(out["size"])
    out.to_csv("sales.csv", index=False)
    return out


@pytest.fixture
def fit(run, sales):
    del sales  # the file is written

    def call(formula, *words):
        return run("fit", "sales.csv", "--formula", formula, *TIME, *QUICK, *words, "-o", "m.drift")

    return call


def names():
    return driftglm.load("m.drift").encoder.feature_names


@pytest.mark.parametrize(
    ("formula", "features"),
    [
        ("price ~ size", ["size"]),
        ("price ~ size + C(colour)", ["size", "colour=blue", "colour=green"]),
        ("price ~ size + colour", ["size", "colour=blue", "colour=green"]),
        ("price ~ size:`floor area`", ["size:floor area"]),
        (
            "price ~ size*colour",
            ["size", "colour=blue", "colour=green", "size:colour=blue", "size:colour=green"],
        ),
        # Without the main effect every level has a slope of its own.
        ("price ~ size:colour", ["size:colour=red", "size:colour=blue", "size:colour=green"]),
        ("price ~ . - weight", ["size", "floor area", "colour=blue", "colour=green"]),
        ("price ~ log(weight) + I(size**2)", ["log(weight)", "I(size ** 2)"]),
        ("price ~ np.log1p(weight)", ["np.log1p(weight)"]),
        ("log(weight) ~ `floor area`", ["floor area"]),
    ],
)
def test_a_formula_names_the_features(fit, formula, features, run):
    fit(formula)
    assert sorted(names()) == sorted(features)
    run("predict", "m.drift", "sales.csv", "-o", "out.csv")
    assert pd.read_csv("out.csv")["prediction"].notna().all()


@pytest.mark.parametrize(
    "formula",
    [
        "price ~ size + C(colour) + size:`floor area`",
        "price ~ size:colour",
        "price ~ size*colour",
        "price ~ log(weight) + I(size**2)",
    ],
)
def test_predictions_are_those_of_formulaic(fit, formula, run, sales):
    # The reference differs: the most frequent level here, the first by name there.
    fit(formula, "--reference", "colour=blue") if "colour" in formula else fit(formula)
    run("predict", "m.drift", "sales.csv", "-o", "out.csv")
    model = driftglm.DriftRegressor(time="year", prior="fixed")
    expected: FormulaModel = from_formula(formula, sales, model)
    found = pd.read_csv("out.csv")["prediction"]
    np.testing.assert_allclose(found, expected.predict(sales), atol=1e-5)


def test_a_saved_formula_needs_neither_python_nor_formulaic(fit, run, monkeypatch):
    fit("price ~ log(weight)*colour", "--missing", "mean")
    with zipfile.ZipFile("m.drift") as archive:
        assert "log(weight)" in archive.read("model.json").decode()
    monkeypatch.setitem(sys.modules, "formulaic", None)
    run("predict", "m.drift", "sales.csv", "--next", "-o", "out.csv")
    run("report", "m.drift", "-o", "r.html")
    run("check", "m.drift", "sales.csv", "--shuffles", "1")
    said = run.fails("fit", "sales.csv", "--formula", "price ~ size", *TIME, "-o", "n.drift")
    assert "pip install formulaic" in said


def test_levels_are_shown_against_what_they_are_compared_with(fit):
    out = fit("price ~ size*colour").out
    assert "size:colour=blue against size:colour=red" in out
    assert "colour=blue against colour=red" in out
    assert "against" not in fit("price ~ size:colour").out


def test_a_formula_is_compared(run, sales):
    del sales
    words = ("--models", "ridge-all,learned", "--n-test", "1", "-o", "results")
    run("compare", "sales.csv", "--formula", "price ~ log(weight)*colour", *TIME, *words)
    found = pd.read_csv("results/table.csv")
    assert {"ridge-all", "learned"} <= set(found.columns)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("price", "one left and one right side"),
        ("price ~", "no feature"),
        ("price ~ 1", "no feature"),
        ("price ~ 0 + size", "no intercept"),
        ("price ~ size - 1", "no intercept"),
        ("price ~ sise", "did you mean 'size'"),
        ("cost ~ size", "(target)"),
        ("price + weight ~ size", "left side"),
        ("price ~ size | colour", "one left and one right side"),
        ("price ~ log(colour)", "C(name) is for categories"),
        ("price ~ log(size)", "has no finite value for"),
        ("price ~ C(colour, Treatment('red'))", "--reference name=LEVEL"),
        ("price ~ __import__('os').getcwd()", "cannot be read"),
        ("price ~ I(__import__('os'))", "are allowed"),
        ("price ~ size.mean()", "are allowed"),
        ("price ~ poly(size, 2)", "are allowed"),
        ("price ~ year", "is the time"),
        ("price ~ size + price", "is the target"),
        ("price ~ (size", "cannot be read"),
    ],
)
def test_a_bad_formula_is_one_line(run, sales, formula, message):
    del sales
    said = run.fails("fit", "sales.csv", "--formula", formula, *TIME, "-o", "m.drift")
    assert message in said
    assert "\x1b" not in said


def test_one_place_says_what_is_predicted(run, sales):
    del sales
    both = ("--formula", "price ~ size", "--features", "size", "-o", "m.drift")
    assert "pass one of them" in run.fails("fit", "sales.csv", *TIME, *both)
    both = ("--formula", "price ~ size", "--target", "weight", "-o", "m.drift")
    assert "leave --target out" in run.fails("fit", "sales.csv", *TIME, *both)
