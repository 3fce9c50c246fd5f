"""The demo runs from an installed package, and says what it found."""

# ruff: noqa: S603 (what is run is this package)

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from driftglm.demo import run as demo


def test_the_demo_prints_the_table_and_writes_the_report(run, monkeypatch):
    """Few years are as good as all for that; those are in the slow test below."""
    votes = demo.load_votes()
    late = votes[votes["year"].between(1990, 2011)]
    monkeypatch.setattr(demo, "load_votes", lambda: late)
    monkeypatch.setattr(demo, "TEST", (2010, 2011))
    ran = run("demo", "--out", "d", "--jobs", "1")
    lines = ran.out.splitlines()
    assert lines[0] == "log loss (* best)"
    models = ["ridge-one", "ridge-all", "ridge-ts", "lasso-one", "lasso-all"]
    assert lines[1].split() == ["step", *models, "exact", "learned"]
    assert [line.split()[0] for line in lines[2:5]] == ["2010", "2011", "overall"]
    overall = [float(cell.rstrip("*")) for cell in lines[4].split()[1:]]
    rank = 1 + sum(value < overall[-1] for value in overall)
    assert f"The default, learned, has rank {rank} of 7: {overall[-1]:.4f}" in ran.out
    assert "What the learned model found in all years: " in ran.out
    assert "\x1b" not in ran.out + ran.err
    for name in ("report.html", "table.csv", "comparison.drift"):
        assert os.path.getsize(f"d/{name}") > 0  # noqa: PTH202
    page = Path("d/report.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="report-data">(.*?)</script>', page, re.DOTALL)[1])
    assert data["story"]["names"] == ["United States", "Russia", "South Africa"]


@pytest.mark.slow
def test_the_first_demo_of_a_machine_compiles_and_ends(tmp_path):
    """Nothing of the kernels is on disk yet."""
    ran = subprocess.run(
        [sys.executable, "-m", "driftglm", "demo", "--out", str(tmp_path / "d"), "--json"],
        capture_output=True,
        text=True,
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "numba")},
        check=True,
    )
    found = json.loads(ran.stdout)
    assert found["models"][-1] == "learned"
    assert [row["step"] for row in found["table"]] == [*range(2010, 2020), "overall"]
    assert "has rank" in found["rank"]
