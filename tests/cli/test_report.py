"""`driftglm report`: what it says when there is nothing to show, or nothing to show it with."""

import sys
from pathlib import Path

import pytest

from driftglm.cli.console import report_optional


def test_a_folder_without_a_comparison(run):
    Path("nothing").mkdir()
    said = run.fails("report", "nothing")
    assert "nothing/comparison.drift does not exist; name a file" in said


def test_a_report_without_its_package_says_what_to_install(run, fitted, monkeypatch):
    from driftglm.report.write import bundle

    monkeypatch.setitem(sys.modules, "vl_convert", None)
    bundle.cache_clear()
    said = run("report", fitted, "-o", "r.html", code=None).error(code=1)
    assert "pip install 'driftglm[report]'" in said
    assert "ImportError" not in said


def test_a_broken_module_is_not_taken_for_a_missing_extra(run, fitted, monkeypatch):
    def broken(*_, **__):
        raise ModuleNotFoundError("No module named 'driftglm.report.gone'", name="gone")

    monkeypatch.setattr("driftglm.report.write_report", broken)
    said = run("report", fitted, "-o", "r.html", code=None).error(code=1)
    assert "the run failed: ModuleNotFoundError" in said
    with pytest.raises(ModuleNotFoundError), report_optional():
        broken()
