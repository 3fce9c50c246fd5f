"""Advice on the command line names options that the command has."""

import numpy as np
import pandas as pd
import pytest

from driftglm.cli.wording import in_options

FIT = frozenset({"--family", "--prior", "--seasonality", "--static", "--json", "--exposure"})


def test_findings_advise_options(run):
    rng = np.random.default_rng(0)
    step = np.repeat(np.arange(48), 20)
    x, far = rng.normal(size=(2, step.size))
    far = np.where(rng.random(step.size) < 0.02, 30.0 * far, 0.0)
    y = 3.0 * np.sin(2.0 * np.pi * step / 12) + x + rng.normal(size=step.size) + far
    pd.DataFrame({"step": step, "x": x, "y": y}).to_csv("y.csv", index=False)
    told = run("fit", "y.csv", "--target", "y", "--time", "step", "-o", "m.drift").out
    assert "pass --seasonality 12" in told
    assert "seasonality=" not in told
    assert "(in Python, DriftRegressor(errors='student'))" in told


def test_columns_that_hardly_vary_are_to_be_named_in_options(run, rows):
    frame = rows.assign(twin=rows["size"])
    frame.to_csv("twins.csv", index=False)
    words = ("fit", "twins.csv", "--target", "price", "--time", "year")
    told = run(*words, "-o", "m.drift")
    assert "are copies of others" in told.err
    assert "summary()" not in told.err


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("pass seasonality=12 (learned prior)", "pass --seasonality 12 (learned prior)"),
        ("name them in static=", "name them in --static"),
        ("Use prior='learned'.", "Use --prior learned."),
        ("raise max_iter or tol.", "in Python, raise max_iter or tol."),
    ],
)
def test_advice_in_python_becomes_options(message, said):
    assert in_options(message, FIT) == said


def test_a_command_without_the_option_does_not_advise_it():
    message = "for counts try family='poisson'; pass seasonality=4"
    assert in_options(message, frozenset()) == message
