"""The guide tells what the commands have."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from driftglm.cli.main import app
from driftglm.experiments.macro import ALL_FILES

GUIDE = (Path(__file__).parents[2] / "docs" / "reproduce.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["forecasting", "text"])
def test_the_guide_names_every_option_and_no_other(name):
    help_page = CliRunner().invoke(app, ["reproduce", name, "--help"]).stdout
    offered = set(re.findall(r"(?<![\w-])--[a-z]+", help_page)) - {"--help"}
    assert set(re.findall(r"(?<![\w-])--[a-z]+", GUIDE)) == offered


def test_the_guide_names_every_file_that_is_read():
    assert all(name in GUIDE for name in ALL_FILES)


def test_the_guide_python_runs():
    for block in re.findall(r"```python\n(.*?)```", GUIDE, flags=re.DOTALL):
        exec(compile(block, "reproduce.md", "exec"), {})  # noqa: S102 (our own page)
