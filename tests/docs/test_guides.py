"""Every Python example of the pages on files, figures and findings runs."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize(("page", "made"), [("files", "model.drift"), ("figures", "paths.pdf")])
def test_python_blocks_run_one_after_the_other(page, made, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / f"{page}.md").read_text(), re.DOTALL)
    assert len(blocks) == 2
    names = {}
    for block in blocks:
        exec(block, names)  # noqa: S102
    assert [path.name for path in tmp_path.iterdir()] == [made]


def test_the_page_on_findings_shows_what_its_example_prints(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", (DOCS / "diagnose.md").read_text(), re.DOTALL)
    exec(block, {})  # noqa: S102
    printed = capsys.readouterr().out
    (shown,) = re.findall(r"```text\n(.*?)```", (DOCS / "diagnose.md").read_text(), re.DOTALL)
    assert printed.split() == shown.split()


@pytest.mark.parametrize("name", ["groups", "kinds", "single-series"])
def test_a_page_shows_what_its_example_prints(name, capsys):
    page = (DOCS / f"{name}.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(block, {})  # noqa: S102
    (shown,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    assert capsys.readouterr().out == shown


def test_the_page_on_results_shows_what_its_script_fits():
    pytest.importorskip("matplotlib")
    from result_pictures import NAMES, example

    from driftglm import DriftRegressor

    X, y, years, _ = example()
    table = DriftRegressor().fit(X, y, time=years).summary(feature_names=NAMES)
    (shown,) = re.findall(
        r"```text\n(.*?)```", (DOCS / "reading-a-result.md").read_text(), re.DOTALL
    )
    for line in shown.splitlines()[1:]:
        name, included, kind, *figures = line.split()
        row = table.set_index("feature").loc[name]
        assert row["kind"] == kind
        assert row["inclusion_probability"] == pytest.approx(float(included), abs=0.02)
        found = row[["coef_first", "coef_last", "coef_next", "lower", "upper"]].astype(float)
        assert found.tolist() == pytest.approx([float(each) for each in figures], abs=0.02)
