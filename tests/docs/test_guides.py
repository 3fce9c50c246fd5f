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
