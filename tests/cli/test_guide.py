"""Every example of the guide to the command line runs, and every command is in it."""

import re
import shlex
from pathlib import Path

import pytest

from driftglm.cli.main import COMMANDS, GROUPS

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "command-line.md"
BLOCK = re.compile(r"```(python|console|text)\n(.*?)```", re.DOTALL)


def test_examples_run_one_after_the_other(run):
    pytest.importorskip("pyarrow")
    said, names = [], {}
    for kind, block in BLOCK.findall(GUIDE.read_text()):
        if kind == "python":
            exec(block, names)  # noqa: S102
        for line in block.splitlines() if kind == "console" else ():
            words = shlex.split(line)
            assert words[0] == "driftglm"
            said.append(run(*words[1:]).out)
    assert len(said) >= 12
    printed = re.search(r"The first prints\n\n```text\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert said[0].startswith(printed[1])


def test_every_command_has_its_place():
    text = GUIDE.read_text()
    for name in (*COMMANDS, *GROUPS):
        assert f"`{name}`" in text
        assert name == "reproduce" or f"\n## {name}\n" in text
