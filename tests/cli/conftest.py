"""A small table and a way to run commands in this process."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from driftglm.cli.main import app


@dataclass
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)

    def error(self, code=2):
        """The one line on stderr of a command that failed."""
        assert self.code == code, (self.code, self.out, self.err)
        lines = [line for line in self.err.splitlines() if line.startswith("error: ")]
        assert len(lines) == 1, self.err
        assert "Traceback" not in self.err
        return lines[0]


@pytest.fixture(scope="module", autouse=True)
def commands_made_once():
    """Typer's runner makes all commands anew for every call, which costs more than most calls."""
    with pytest.MonkeyPatch.context() as patch:
        made_once = cache(typer.main.get_command)
        patch.setattr(typer.testing, "_get_command", made_once, raising=False)
        yield


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run `driftglm ...` in a temporary folder; `run.fails` gives the error's one line."""
    monkeypatch.chdir(tmp_path)

    def call(*words, code=0):
        result = CliRunner().invoke(app, [str(word) for word in words])
        ran = Ran(result.exit_code, result.stdout, result.stderr)
        if code is not None:
            assert ran.code == code, (ran.out, ran.err, result.exception)
        return ran

    call.fails = lambda *words: call(*words, code=None).error()
    return call


@pytest.fixture(scope="session")
def rows():
    """Rows of four years; `price` depends on `size`, more so every year, and on `colour`."""
    rng = np.random.default_rng(7)
    year = np.repeat(np.arange(2001, 2005), 40)
    frame = pd.DataFrame(
        {
            "year": year,
            "size": rng.normal(size=year.size),
            "noise": rng.normal(size=year.size),
            "colour": rng.choice(["red", "blue", "green"], year.size, p=[0.5, 0.3, 0.2]),
        }
    )
    frame["price"] = (
        (year - 2000) * frame["size"]
        + 2.0 * (frame["colour"] == "blue")
        + 0.3 * rng.normal(size=year.size)
    )
    return frame


@pytest.fixture
def spoil(rows):
    """The rows with other texts in some cells of a column; r3="x" is row 3."""

    def spoiled(name, **cells):
        texts = rows[name].map("{:.3f}".format)
        for row, text in cells.items():
            texts[int(row[1:])] = text
        return rows.assign(**{name: texts})

    return spoiled


@pytest.fixture
def table(rows, tmp_path):
    """The rows as a CSV file."""
    path = tmp_path / "sales.csv"
    rows.to_csv(path, index=False)
    return path


@pytest.fixture
def fitted(run, table):
    """A model file of the table."""
    path = Path("model.drift")
    run("fit", table, "--target", "price", "--time", "year", "-o", path)
    return path.absolute()
